package llmstream

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// gemini reads one GenerateContentResponse, of a stream or whole.
func (p *Parser) gemini(f *frame) bool {
	set(&p.info.ResponseID, f.responseID)
	set(&p.info.Model, f.modelVersion)
	counted := p.geminiUsage(f.usageMetadata)
	start := len(p.ev)
	finished := false
	e := list(f.candidates)
	for e.next() {
		fin, ok := p.candidate(e.val)
		if !ok {
			return false
		}
		finished = finished || fin
	}
	if e.bad {
		return false
	}
	if reason := member(f.promptFeedback, "blockReason"); reason.str() {
		p.choice(0)
		p.finish(0, reason)
		p.fail("prompt_blocked")
		return true
	}
	if len(p.ev) > start {
		p.geminiTokens(start, counted)
		return true
	}
	switch {
	case finished:
		p.info.Done = true
		p.emit(wire.KindDone)
	case f.usageMetadata.object():
		p.emit(wire.KindUsage)
	default:
		p.emit(wire.KindRole)
	}
	if p.continuous == yes {
		p.geminiTokens(start, counted)
	}
	return true
}

// geminiTokens gives the tokens that the running count grew by to the frame's first event. A server that
// counts only at the end says nothing of single frames.
func (p *Parser) geminiTokens(start int, counted wire.Opt[int64]) {
	if p.continuous == unknown {
		p.continuous = no
		if counted.OK {
			p.continuous = yes
		}
	}
	if p.continuous != yes || !counted.OK || p.info.Choices > 1 {
		return
	}
	total := max(p.prevTokens[0], clampU32(counted.V))
	p.ev[start].Tokens = total - p.prevTokens[0]
	p.prevTokens[0] = total
	for i := start; i < len(p.ev); i++ {
		p.ev[i].TokensKnown = true
	}
}

func (p *Parser) geminiUsage(u raw) (total wire.Opt[int64]) {
	i := &p.info
	var answer, thoughts wire.Opt[int64]
	w := walk(u)
	for w.next() {
		switch string(w.key) {
		case "promptTokenCount":
			putCount(&i.PromptTokens, w.val)
		case "candidatesTokenCount":
			putCount(&answer, w.val)
		case "thoughtsTokenCount":
			putCount(&thoughts, w.val)
		case "cachedContentTokenCount":
			putCount(&i.CachedTokens, w.val)
		}
	}
	if thoughts.OK {
		i.ReasoningTokens = thoughts
	}
	if answer.OK || thoughts.OK {
		total = wire.Some(answer.V + thoughts.V)
		i.OutputTokens = total
	}
	return total
}

// candidate stages what one candidate carries, one event for each kind.
func (p *Parser) candidate(c raw) (finished, ok bool) {
	var index, content, reason raw
	w := walk(c)
	for w.next() {
		switch string(w.key) {
		case "index":
			index = w.val
		case "content":
			content = w.val
		case "finishReason":
			reason = w.val
		}
	}
	if w.bad {
		return false, false
	}
	idx := uint16(0)
	if i, ok := index.count(); ok {
		idx = uint16(min(i, math.MaxUint16)) //nolint:gosec // bounded
	}
	p.choice(idx)
	if !reason.is("FINISH_REASON_UNSPECIFIED") {
		finished = p.finish(idx, reason)
	}
	parts := member(content, "parts")
	for _, k := range [...]wire.Kind{wire.KindReasoning, wire.KindContent, wire.KindTool} {
		n := 0
		e := list(parts)
		for e.next() {
			m, ok := p.part(e.val, k)
			if !ok {
				return false, false
			}
			n += m
		}
		if e.bad {
			return false, false
		}
		p.sized(k, idx, n)
	}
	return finished, true
}

// part adds the text of one part to scratch if it is of kind k.
func (p *Parser) part(r raw, k wire.Kind) (int, bool) {
	var text, thought, call, code raw
	w := walk(r)
	for w.next() {
		switch string(w.key) {
		case "text":
			text = w.val
		case "thought":
			thought = w.val
		case "functionCall":
			call = w.val
		case "executableCode":
			code = w.val
		}
	}
	if w.bad {
		return 0, false
	}
	switch {
	case k == wire.KindReasoning && thought.truth(), k == wire.KindContent && !thought.truth():
		return p.put(text), true
	case k == wire.KindTool && call.object():
		return p.put(member(call, "name")) + p.put(member(call, "args")), true
	case k == wire.KindTool && code.object():
		return p.put(member(code, "code")), true
	}
	return 0, true
}
