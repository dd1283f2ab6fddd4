package llmstream

import (
	"bytes"

	"github.com/fermata-io/fermata/internal/wire"
)

// typed reads a frame that names itself by its type: Anthropic's messages, OpenAI's responses and realtime.
// known is false for a type of neither.
func (p *Parser) typed(f *frame) (ok, known bool) {
	t := f.typ.inner()
	switch string(t) {
	case "message_start":
		p.is(DialectAnthropic)
		return p.messageStart(f.message), true
	case "content_block_start":
		p.is(DialectAnthropic)
		return p.blockText(f.contentBlock), true
	case "content_block_delta":
		p.is(DialectAnthropic)
		return p.blockDelta(f.delta), true
	case "content_block_stop":
		p.is(DialectAnthropic)
		p.emit(wire.KindRole)
		return true, true
	case "message_delta":
		p.is(DialectAnthropic)
		p.choice(0)
		p.finish(0, member(f.delta, "stop_reason"))
		p.anthropicCounts(f.usage)
		p.emit(wire.KindUsage)
		return true, true
	case "message_stop":
		p.is(DialectAnthropic)
		p.info.Done = true
		p.emit(wire.KindDone)
		return true, true
	case "ping":
		p.emit(wire.KindKeepalive)
		return true, true
	case "message":
		if f.content.array() {
			p.is(DialectAnthropic)
			return p.messageWhole(f), true
		}
	case "error":
		p.fail(errorClass(f.err, f.code))
		return true, true
	}
	if bytes.HasPrefix(t, []byte("response.")) {
		return p.responseEvent(f, t[len("response."):]), true
	}
	if bytes.HasPrefix(t, []byte("session.")) || bytes.HasPrefix(t, []byte("conversation.")) ||
		bytes.HasPrefix(t, []byte("input_audio_buffer.")) || bytes.HasPrefix(t, []byte("rate_limits.")) {
		p.is(DialectOpenAIRealtime)
		p.emit(wire.KindRole)
		return true, true
	}
	return false, false
}

func (p *Parser) messageStart(m raw) bool {
	p.choice(0)
	w := walk(m)
	for w.next() {
		switch string(w.key) {
		case "id":
			set(&p.info.ResponseID, w.val)
		case "model":
			set(&p.info.Model, w.val)
		case "usage":
			p.anthropicCounts(w.val)
		}
	}
	p.emit(wire.KindRole)
	return !w.bad
}

// blockText stages what a whole content block holds: Anthropic opens a tool call's block with its name.
func (p *Parser) blockText(block raw) bool {
	var typ, text, thinking, name, input raw
	w := walk(block)
	for w.next() {
		switch string(w.key) {
		case "type":
			typ = w.val
		case "text":
			text = w.val
		case "thinking":
			thinking = w.val
		case "name":
			name = w.val
		case "input":
			input = w.val
		}
	}
	if w.bad {
		return false
	}
	before := len(p.ev)
	switch string(typ.inner()) {
	case "thinking":
		p.text(wire.KindReasoning, 0, thinking)
	case "tool_use", "server_tool_use", "mcp_tool_use":
		n := p.put(name)
		if len(input) > 2 { // {} while it is streamed
			n += p.put(input)
		}
		p.sized(wire.KindTool, 0, n)
	default:
		p.text(wire.KindContent, 0, text)
	}
	if len(p.ev) == before {
		p.emit(wire.KindRole)
	}
	return true
}

func (p *Parser) blockDelta(delta raw) bool {
	var typ, text, thinking, input raw
	w := walk(delta)
	for w.next() {
		switch string(w.key) {
		case "type":
			typ = w.val
		case "text":
			text = w.val
		case "thinking":
			thinking = w.val
		case "partial_json":
			input = w.val
		}
	}
	if w.bad || !delta.object() {
		return false
	}
	var e *Event
	switch string(typ.inner()) {
	case "text_delta":
		e = p.text(wire.KindContent, 0, text)
	case "thinking_delta":
		e = p.text(wire.KindReasoning, 0, thinking)
	case "input_json_delta":
		e = p.text(wire.KindTool, 0, input)
	}
	if e == nil { // signature_delta, citations_delta, or an empty one
		p.emit(wire.KindRole)
	}
	return true
}

// messageWhole reads an Anthropic answer that was not streamed.
func (p *Parser) messageWhole(f *frame) bool {
	p.choice(0)
	set(&p.info.ResponseID, f.id)
	set(&p.info.Model, f.model)
	p.anthropicCounts(f.usage)
	start := len(p.ev)
	e := list(f.content)
	for e.next() {
		if !p.blockText(e.val) {
			return false
		}
	}
	if e.bad {
		return false
	}
	p.finish(0, f.stopReason)
	p.wholeTokens(start)
	return true
}

// wholeTokens gives the answer's tokens to the events of a frame that is the whole answer, as far as the
// server tells how they divide, and stages an event where there is none.
func (p *Parser) wholeTokens(start int) {
	i := &p.info
	if len(p.ev) == start {
		p.emit(wire.KindRole)
	}
	if !i.OutputTokens.OK {
		return
	}
	ev := p.ev[start:]
	reasoning := i.ReasoningTokens.Or(0)
	switch {
	case len(ev) == 1:
		ev[0].Tokens, ev[0].TokensKnown = clampU32(i.OutputTokens.V), true
	case len(ev) == 2 && ev[0].Kind == wire.KindReasoning && ev[1].Kind != wire.KindReasoning && reasoning > 0:
		ev[0].Tokens, ev[0].TokensKnown = clampU32(reasoning), true
		ev[1].Tokens, ev[1].TokensKnown = clampU32(i.OutputTokens.V-reasoning), true
	}
}
