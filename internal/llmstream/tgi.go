package llmstream

import "github.com/fermata-io/fermata/internal/wire"

// tgi reads an event of generate_stream, or a whole answer of generate.
func (p *Parser) tgi(f *frame) bool {
	p.choice(0)
	start := len(p.ev)
	if f.token.object() {
		if !p.tgiToken(f.token) {
			return false
		}
	} else {
		p.text(wire.KindContent, 0, f.generatedText)
	}
	if f.details.object() {
		w := walk(f.details)
		for w.next() {
			switch string(w.key) {
			case "finish_reason":
				p.finish(0, w.val)
			case "generated_tokens":
				putCount(&p.info.OutputTokens, w.val)
			case "input_length":
				putCount(&p.info.PromptTokens, w.val)
			}
		}
		if w.bad {
			return false
		}
	}
	if f.generatedText.str() {
		p.info.Done = true
	}
	if !f.token.object() {
		p.wholeTokens(start)
	}
	return true
}

func (p *Parser) tgiToken(token raw) bool {
	var text, special, logprob raw
	w := walk(token)
	for w.next() {
		switch string(w.key) {
		case "text":
			text = w.val
		case "special":
			special = w.val
		case "logprob":
			logprob = w.val
		}
	}
	var e *Event
	if !special.truth() { // an end-of-text token is no text
		e = p.text(wire.KindContent, 0, text)
	}
	if e == nil {
		e = p.emit(wire.KindRole)
	}
	e.Tokens, e.TokensKnown = 1, true
	if v, ok := logprob.num(); ok {
		e.Logprob, e.LogprobKnown = float32(v), true
	}
	return !w.bad
}
