package llmstream

import (
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// ollama reads a line of /api/chat or /api/generate.
func (p *Parser) ollama(f *frame) bool {
	p.choice(0)
	set(&p.info.Model, f.model)
	start := len(p.ev)
	thinking, content, tools := f.thinking, f.response, raw(nil)
	if f.message.object() {
		w := walk(f.message)
		for w.next() {
			switch string(w.key) {
			case "content":
				content = w.val
			case "thinking":
				thinking = w.val
			case "tool_calls":
				tools = w.val
			}
		}
		if w.bad {
			return false
		}
	}
	p.text(wire.KindReasoning, 0, thinking)
	p.text(wire.KindContent, 0, content)
	n := 0
	t := list(tools)
	for t.next() {
		n += p.toolText(member(t.val, "function"))
	}
	if t.bad {
		return false
	}
	p.sized(wire.KindTool, 0, n)
	if f.done.truth() {
		p.ollamaEnd(f)
		if p.info.Frames == 1 && len(p.ev) > start {
			p.wholeTokens(start)
		}
	}
	if len(p.ev) == start {
		k := wire.KindRole
		if f.done.truth() {
			k = wire.KindDone
		}
		p.emit(k)
	}
	if p.opt.CreatedAt {
		if us := stampUS(f.createdAt); us != 0 {
			for i := start; i < len(p.ev); i++ {
				p.ev[i].CreatedUS = us
			}
		}
	}
	return true
}

func (p *Parser) ollamaEnd(f *frame) {
	i := &p.info
	i.Done = true
	p.finish(0, f.doneReason)
	putCount(&i.OutputTokens, f.evalCount)
	putCount(&i.PromptTokens, f.promptEvalCount)
	putScaled(&i.LoadUS, f.loadNS, 1e-3)
	putScaled(&i.PrefillUS, f.promptEvalNS, 1e-3)
	putScaled(&i.DecodeUS, f.evalNS, 1e-3)
}

// stampUS reads an RFC 3339 time.
func stampUS(r raw) int64 {
	s := r.inner()
	if len(s) < 20 || len(s) > 40 {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return 0
	}
	return t.UnixMicro()
}
