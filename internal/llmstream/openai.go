package llmstream

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// choice holds the members of one entry of choices.
type choice struct {
	index, delta, message, text, logprobs, finish, stop, tokenIDs raw
}

// openAI reads a frame of chat.completions or completions, streamed or whole.
func (p *Parser) openAI(f *frame) bool {
	set(&p.info.ResponseID, f.id)
	set(&p.info.Model, f.model)
	set(&p.info.Fingerprint, f.fingerprint)
	hasUsage := f.usage.object()
	completion, _ := p.openAIUsage(f)
	staged := len(p.ev)
	n := 0
	e := list(f.choices)
	for e.next() {
		var c choice
		w := walk(e.val)
		for w.next() {
			switch string(w.key) {
			case "index":
				c.index = w.val
			case "delta":
				c.delta = w.val
			case "message":
				c.message = w.val
			case "text":
				c.text = w.val
			case "logprobs":
				c.logprobs = w.val
			case "finish_reason":
				c.finish = w.val
			case "stop_reason":
				c.stop = w.val
			case "token_ids":
				c.tokenIDs = w.val
			}
		}
		if w.bad || !e.val.object() || !p.openAIChoice(&c, completion, hasUsage) {
			return false
		}
		n++
	}
	if e.bad {
		return false
	}
	if !f.err.null() {
		p.fail(errorClass(f.err, f.code))
	}
	if n == 0 && len(p.ev) == staged {
		if hasUsage {
			p.emit(wire.KindUsage)
		} else {
			p.emit(wire.KindRole) // Azure opens with what its filter says of the prompt
		}
	}
	return true
}

func (p *Parser) openAIChoice(c *choice, completion wire.Opt[int64], hasUsage bool) bool {
	idx := uint16(0)
	if i, ok := c.index.count(); ok {
		idx = uint16(min(i, math.MaxUint16)) //nolint:gosec // bounded
	}
	p.choice(idx)
	start := len(p.ev)
	whole := c.message.object()
	body := c.delta
	if whole {
		body = c.message
	}
	switch {
	case body.object():
		p.is(DialectOpenAIChat)
		if !p.chatBody(body, idx) {
			return false
		}
	case c.text.str():
		p.is(DialectOpenAICompletions)
		p.text(wire.KindContent, idx, c.text)
	}
	finished := p.finish(idx, c.finish)
	if c.stop.str() {
		p.info.StopReason = label(c.stop, "stop_string")
	}
	bearing := len(p.ev) > start
	if !bearing {
		k := wire.KindRole
		if finished && hasUsage && p.continuous != yes {
			k = wire.KindUsage
		}
		p.emit(k).Choice = idx
	}
	first := &p.ev[start]
	sum, logged, exact := logprobs(c.logprobs)
	if logged > 0 {
		first.Logprob, first.LogprobKnown = sum, true
	}
	if !exact {
		logged = 0
	}
	if whole {
		if p.info.Choices == 1 {
			p.wholeTokens(start)
		}
	} else if n, ok := p.chunkTokens(c, idx, completion, logged, bearing); ok {
		first.Tokens, first.TokensKnown = n, true
		for i := start + 1; i < len(p.ev); i++ {
			p.ev[i].TokensKnown = true
		}
	}
	return true
}

// chatBody stages what a delta or message carries.
func (p *Parser) chatBody(body raw, idx uint16) bool {
	var content, thinking, reasoning, refusal, tools, function, audio raw
	w := walk(body)
	for w.next() {
		switch string(w.key) {
		case "content":
			content = w.val
		case "reasoning_content":
			thinking = w.val
		case "reasoning":
			reasoning = w.val
		case "refusal":
			refusal = w.val
		case "tool_calls":
			tools = w.val
		case "function_call":
			function = w.val
		case "audio":
			audio = w.val
		}
	}
	if w.bad {
		return false
	}
	if p.text(wire.KindReasoning, idx, thinking) == nil { // some servers send both names with equal text
		p.text(wire.KindReasoning, idx, reasoning)
	}
	if content.array() {
		if !p.parts(content, idx) {
			return false
		}
	} else {
		p.text(wire.KindContent, idx, content)
	}
	p.text(wire.KindRefusal, idx, refusal)
	if audio.object() {
		p.text(wire.KindContent, idx, member(audio, "transcript"))
	}
	n := 0
	if function.object() {
		n += p.toolText(function)
	}
	t := list(tools)
	for t.next() {
		n += p.toolText(member(t.val, "function"))
	}
	p.sized(wire.KindTool, idx, n)
	return !t.bad
}

// parts reads content that comes as a list of typed parts, as Mistral sends it.
func (p *Parser) parts(content raw, idx uint16) bool {
	e := list(content)
	for e.next() {
		var typ, text, thinking raw
		w := walk(e.val)
		for w.next() {
			switch string(w.key) {
			case "type":
				typ = w.val
			case "text":
				text = w.val
			case "thinking":
				thinking = w.val
			}
		}
		if w.bad {
			return false
		}
		if !typ.is("thinking") {
			p.text(wire.KindContent, idx, text)
			continue
		}
		p.text(wire.KindReasoning, idx, thinking)
		for l := list(thinking); l.next(); {
			p.text(wire.KindReasoning, idx, member(l.val, "text"))
		}
	}
	return !e.bad
}

// toolText adds a function's name and arguments to scratch and returns their bytes.
func (p *Parser) toolText(function raw) int {
	n := 0
	w := walk(function)
	for w.next() {
		if k := string(w.key); k == "name" || k == "arguments" {
			n += p.put(w.val)
		}
	}
	return n
}

// put adds a string, or an object as it is written, to scratch if texts are asked for, and returns its bytes.
func (p *Parser) put(r raw) int {
	switch {
	case r.object() || r.array():
		if p.opt.Text {
			p.scratch = append(p.scratch, r...)
		}
		return len(r)
	case p.opt.Text:
		at := len(p.scratch)
		p.scratch = appendText(p.scratch, r)
		return len(p.scratch) - at
	}
	return textLen(r)
}

// member returns one member of an object.
func member(r raw, key string) raw {
	w := walk(r)
	for w.next() {
		if string(w.key) == key {
			return w.val
		}
	}
	return nil
}

// chunkTokens tells how many tokens one choice of a frame brings: by token ids, by the difference of
// continuous usage, by the number of log-probabilities (logged).
func (p *Parser) chunkTokens(c *choice, idx uint16, completion wire.Opt[int64], logged uint32, bearing bool) (uint32, bool) {
	if c.tokenIDs.array() {
		n := uint32(0)
		for e := list(c.tokenIDs); e.next(); {
			n++
		}
		return n, true
	}
	if bearing && p.continuous == unknown {
		p.continuous = no
		if completion.OK {
			p.continuous = yes
		}
	}
	if p.continuous == yes && completion.OK && int(idx) < len(p.prevTokens) {
		total := clampU32(completion.V)
		prev := p.prevTokens[idx]
		p.prevTokens[idx] = max(prev, total)
		return max(prev, total) - prev, true
	}
	return logged, logged > 0
}

func clampU32(n int64) uint32 {
	return uint32(min(max(n, 0), math.MaxUint32))
}

// logprobs sums the log-probabilities of the tokens sent with a choice and counts them. The count is exact
// unless it is llama.cpp's (entries with an id), which names only the last token of a character.
func logprobs(r raw) (sum float32, n uint32, exact bool) {
	if !r.object() {
		return 0, 0, false
	}
	exact = true
	total := 0.0
	w := walk(r)
	for w.next() {
		switch string(w.key) {
		case "content", "refusal":
			s, m, x := logprobList(w.val)
			total, n, exact = total+s, n+m, exact && x
		case "token_logprobs":
			for e := list(w.val); e.next(); {
				if v, ok := e.val.num(); ok {
					total += v
				}
				n++
			}
		}
	}
	return float32(total), n, exact
}

func logprobList(r raw) (total float64, n uint32, exact bool) {
	exact = true
	for e := list(r); e.next(); {
		n++
		w := walk(e.val)
		for w.next() {
			switch string(w.key) {
			case "logprob":
				if v, ok := w.val.num(); ok {
					total += v
				}
			case "id":
				exact = false
			}
		}
	}
	return total, n, exact
}
