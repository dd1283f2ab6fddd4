package llmstream

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// put takes a count over if it is one.
func putCount(dst *wire.Opt[int64], r raw) {
	if n, ok := r.count(); ok {
		*dst = wire.Some(n)
	}
}

// putScaled takes a duration over; unit is how many µs one of its units has.
func putScaled(dst *wire.Opt[int64], r raw, unit float64) {
	if v, ok := r.num(); ok && v >= 0 && v*unit < math.MaxInt64/4 {
		*dst = wire.Some(int64(math.Round(v * unit)))
	}
}

// openAIUsage reads usage, llama.cpp's timings and Groq's and Cerebras' times, and returns completion_tokens
// of this frame.
func (p *Parser) openAIUsage(f *frame) (completion wire.Opt[int64], ok bool) {
	if f.timings.object() {
		p.timings(f.timings)
	}
	if f.usage.object() {
		completion = p.usageObject(f.usage)
	}
	if f.groq.object() {
		if u := member(f.groq, "usage"); u.object() {
			p.usageObject(u)
		}
	}
	if f.timeInfo.object() {
		p.usageObject(f.timeInfo)
	}
	return completion, completion.OK
}

// usageObject reads a usage object with OpenAI's names, those of chat.completions or of responses.
func (p *Parser) usageObject(u raw) (completion wire.Opt[int64]) {
	i := &p.info
	w := walk(u)
	for w.next() {
		switch string(w.key) {
		case "prompt_tokens", "input_tokens":
			putCount(&i.PromptTokens, w.val)
		case "completion_tokens", "output_tokens":
			putCount(&completion, w.val)
		case "prompt_tokens_details", "input_tokens_details", "input_token_details":
			putCount(&i.CachedTokens, member(w.val, "cached_tokens"))
		case "completion_tokens_details", "output_tokens_details", "output_token_details":
			putCount(&i.ReasoningTokens, member(w.val, "reasoning_tokens"))
		case "prompt_cache_hit_tokens": // DeepSeek
			if !i.CachedTokens.OK {
				putCount(&i.CachedTokens, w.val)
			}
		case "reasoning_tokens": // SGLang
			putCount(&i.ReasoningTokens, w.val)
		case "queue_time": // Groq, Cerebras: seconds
			putScaled(&i.QueueUS, w.val, 1e6)
		case "prompt_time":
			putScaled(&i.PrefillUS, w.val, 1e6)
		case "completion_time":
			putScaled(&i.DecodeUS, w.val, 1e6)
		}
	}
	if completion.OK {
		i.OutputTokens = completion
	}
	return completion
}

// timings reads llama.cpp's timings. Counts in a usage object go before them.
func (p *Parser) timings(t raw) {
	i := &p.info
	var prompt, cached, predicted wire.Opt[int64]
	w := walk(t)
	for w.next() {
		switch string(w.key) {
		case "prompt_n":
			putCount(&prompt, w.val)
		case "cache_n":
			putCount(&cached, w.val)
		case "predicted_n":
			putCount(&predicted, w.val)
		case "prompt_ms":
			putScaled(&i.PrefillUS, w.val, 1e3)
		case "predicted_ms":
			putScaled(&i.DecodeUS, w.val, 1e3)
		case "draft_n":
			putCount(&i.SpecDraft, w.val)
		case "draft_n_accepted":
			putCount(&i.SpecAccepted, w.val)
		}
	}
	if prompt.OK {
		i.PromptTokens = wire.Some(prompt.V + cached.V)
	}
	if cached.OK {
		i.CachedTokens = cached
	}
	if predicted.OK {
		i.OutputTokens = predicted
	}
}

// anthropicUsage keeps Anthropic's prompt counts apart: they come in two frames and add up.
type anthropicUsage struct {
	input, read, created wire.Opt[int64]
}

func (p *Parser) anthropicCounts(u raw) {
	a, i := &p.usage, &p.info
	w := walk(u)
	for w.next() {
		switch string(w.key) {
		case "input_tokens":
			putCount(&a.input, w.val)
		case "cache_read_input_tokens":
			putCount(&a.read, w.val)
		case "cache_creation_input_tokens":
			putCount(&a.created, w.val)
		case "output_tokens":
			putCount(&i.OutputTokens, w.val)
		}
	}
	if a.input.OK {
		i.PromptTokens = wire.Some(a.input.V + a.read.V + a.created.V)
	}
	if a.read.OK {
		i.CachedTokens = a.read
	}
}
