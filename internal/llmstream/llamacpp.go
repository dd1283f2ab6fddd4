package llmstream

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// llamaCpp reads an event of llama.cpp's own /completion, or a whole answer of it.
func (p *Parser) llamaCpp(f *frame) bool {
	set(&p.info.Model, f.model)
	set(&p.info.ResponseID, f.id)
	idx := uint16(0)
	if i, ok := f.index.count(); ok {
		idx = uint16(min(i, math.MaxUint16)) //nolint:gosec // bounded
	}
	p.choice(idx)
	e := p.text(wire.KindContent, idx, f.content)
	ended := f.stop.truth()
	if e == nil {
		k := wire.KindRole
		if ended {
			k = wire.KindDone
		}
		e = p.emit(k)
		e.Choice = idx
	}
	if n, ok := f.predicted.count(); ok && int(idx) < len(p.prevTokens) {
		total := max(p.prevTokens[idx], clampU32(n))
		e.Tokens, e.TokensKnown = total-p.prevTokens[idx], true
		p.prevTokens[idx] = total
		p.info.OutputTokens = wire.Some(n)
	}
	putCount(&p.info.PromptTokens, f.evaluated)
	if sum, n, _ := logprobList(f.probs); n > 0 {
		e.Logprob, e.LogprobKnown = float32(sum), true
	}
	if ended {
		p.info.Done = true
		p.finish(idx, f.stopType)
		if f.timings.object() {
			p.timings(f.timings)
		}
	}
	return true
}
