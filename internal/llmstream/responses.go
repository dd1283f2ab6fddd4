package llmstream

import "github.com/fermata-io/fermata/internal/wire"

// responseEvent reads one event of the responses or the realtime API; t is its type without "response.".
func (p *Parser) responseEvent(f *frame, t []byte) bool {
	if p.hint == DialectOpenAIRealtime {
		p.is(DialectOpenAIRealtime)
	}
	p.is(DialectOpenAIResponses)
	if f.timings.object() {
		p.timings(f.timings)
	}
	kind := wire.KindRole
	switch string(t) {
	case "output_text.delta", "text.delta", "audio_transcript.delta", "output_audio_transcript.delta":
		kind = wire.KindContent
	case "reasoning_text.delta", "reasoning.delta", "reasoning_summary_text.delta", "reasoning_summary.delta":
		kind = wire.KindReasoning
	case "refusal.delta":
		kind = wire.KindRefusal
	case "function_call_arguments.delta", "mcp_call_arguments.delta", "mcp_call.arguments.delta",
		"custom_tool_call_input.delta", "code_interpreter_call_code.delta":
		kind = wire.KindTool
	case "output_item.added":
		return p.itemAdded(f.item)
	case "created", "in_progress", "queued":
		p.choice(0)
		return p.responseMeta(f.response)
	case "completed", "done", "incomplete", "failed", "cancelled":
		return p.responseEnd(f.response, string(t))
	case "error":
		p.fail(errorClass(f.err, f.code))
		return true
	}
	if kind == wire.KindRole {
		p.emit(kind)
		return true
	}
	p.choice(0)
	e := p.text(kind, 0, f.delta)
	if e == nil {
		p.emit(wire.KindRole)
		return true
	}
	if sum, n, exact := logprobList(f.logprobs); n > 0 {
		e.Logprob, e.LogprobKnown = float32(sum), true
		if exact {
			e.Tokens, e.TokensKnown = n, true
		}
	}
	return true
}

// itemAdded stages the name that opens a tool call.
func (p *Parser) itemAdded(item raw) bool {
	p.choice(0)
	var typ, name raw
	w := walk(item)
	for w.next() {
		switch string(w.key) {
		case "type":
			typ = w.val
		case "name":
			name = w.val
		}
	}
	var e *Event
	switch string(typ.inner()) {
	case "function_call", "custom_tool_call", "mcp_call":
		e = p.text(wire.KindTool, 0, name)
	}
	if e == nil {
		p.emit(wire.KindRole)
	}
	return !w.bad
}

// responseMeta reads the response object that opens a stream.
func (p *Parser) responseMeta(r raw) bool {
	w := walk(r)
	for w.next() {
		switch string(w.key) {
		case "id":
			set(&p.info.ResponseID, w.val)
		case "model":
			set(&p.info.Model, w.val)
		}
	}
	p.emit(wire.KindRole)
	return !w.bad
}

// responseEnd reads the response object that ends a stream.
func (p *Parser) responseEnd(r raw, event string) bool {
	p.choice(0)
	var status, incomplete, errv, details raw
	w := walk(r)
	for w.next() {
		switch string(w.key) {
		case "id":
			set(&p.info.ResponseID, w.val)
		case "model":
			set(&p.info.Model, w.val)
		case "usage":
			p.usageObject(w.val)
		case "status":
			status = w.val
		case "incomplete_details":
			incomplete = w.val
		case "error":
			errv = w.val
		case "status_details":
			details = w.val
		}
	}
	if w.bad {
		return false
	}
	p.info.Done = true
	p.responseStatus(status, firstOf(incomplete, details), event)
	if event == "failed" || status.is("failed") {
		p.fail(errorClass(firstOf(errv, member(details, "error")), nil))
		return true
	}
	p.emit(wire.KindDone)
	return true
}

// responseStatus takes the reason why an answer is incomplete, else its status, as finish reason.
func (p *Parser) responseStatus(status, details raw, event string) {
	if r := member(details, "reason"); r.str() && !status.is("completed") {
		p.finish(0, r)
		return
	}
	if !p.finish(0, status) && event != "done" {
		p.finish(0, raw(`"`+event+`"`))
	}
}

// responseWhole reads an answer of the responses API that was not streamed.
func (p *Parser) responseWhole(f *frame) bool {
	p.choice(0)
	set(&p.info.ResponseID, f.id)
	set(&p.info.Model, f.model)
	if f.usage.object() {
		p.usageObject(f.usage)
	}
	start := len(p.ev)
	e := list(f.output)
	for e.next() {
		if !p.outputItem(e.val) {
			return false
		}
	}
	if e.bad {
		return false
	}
	p.responseStatus(f.status, f.incomplete, "completed")
	if !f.err.null() {
		p.fail(errorClass(f.err, nil))
		return true
	}
	p.wholeTokens(start)
	return true
}

// outputItem stages one entry of a whole answer's output.
func (p *Parser) outputItem(item raw) bool {
	var typ, content, summary, name, args raw
	w := walk(item)
	for w.next() {
		switch string(w.key) {
		case "type":
			typ = w.val
		case "content":
			content = w.val
		case "summary":
			summary = w.val
		case "name":
			name = w.val
		case "arguments", "input":
			args = w.val
		}
	}
	if w.bad {
		return false
	}
	switch string(typ.inner()) {
	case "message":
		for e := list(content); e.next(); {
			if t := member(e.val, "text"); t.str() {
				p.text(wire.KindContent, 0, t)
			}
			p.text(wire.KindRefusal, 0, member(e.val, "refusal"))
		}
	case "reasoning":
		for e := list(firstOf(content, summary)); e.next(); {
			p.text(wire.KindReasoning, 0, member(e.val, "text"))
		}
	case "function_call", "custom_tool_call", "mcp_call":
		p.sized(wire.KindTool, 0, p.put(name)+p.put(args))
	}
	return true
}
