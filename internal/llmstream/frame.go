package llmstream

import (
	"sync"

	"github.com/fermata-io/fermata/internal/wire"
)

// frame holds the members of a frame's object that any dialect uses.
type frame struct {
	err, typ, object, id, model, usage, timings, fingerprint raw // several dialects

	choices, groq, timeInfo raw // OpenAI chat, completions

	delta, item, logprobs, code, response, output, status, incomplete raw // OpenAI responses, Anthropic

	message, contentBlock, content, stopReason raw // Anthropic

	candidates, usageMetadata, promptFeedback, responseID, modelVersion raw // Gemini

	done, doneReason, thinking, createdAt, evalCount, promptEvalCount, loadNS, promptEvalNS, evalNS raw // Ollama

	token, generatedText, details, errorType raw // TGI

	stop, stopType, predicted, evaluated, cached, probs, index, tokens raw // llama.cpp
}

// frames are kept apart from parsers and stacks: they are a kilobyte, and a process has many streams.
var frames = sync.Pool{New: func() any { return new(frame) }}

// object reads one frame and stages its events. It reports false when the frame is broken.
func (p *Parser) object(b []byte) bool {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	*f = frame{}
	w := walk(b)
	for w.next() {
		if dst := f.member(w.key); dst != nil {
			*dst = w.val
		}
	}
	if w.bad || skipSpace(b, w.end) != len(b) {
		return false
	}
	return p.dispatchFrame(f)
}

// member returns where the value of a key belongs, nil for a key that no dialect uses.
//
//nolint:gocyclo // one flat table
func (f *frame) member(key []byte) *raw {
	switch string(key) {
	case "error":
		return &f.err
	case "type":
		return &f.typ
	case "object":
		return &f.object
	case "id":
		return &f.id
	case "model":
		return &f.model
	case "usage":
		return &f.usage
	case "timings":
		return &f.timings
	case "system_fingerprint":
		return &f.fingerprint
	case "choices":
		return &f.choices
	case "x_groq":
		return &f.groq
	case "time_info":
		return &f.timeInfo
	case "delta":
		return &f.delta
	case "item":
		return &f.item
	case "logprobs":
		return &f.logprobs
	case "code":
		return &f.code
	case "response":
		return &f.response
	case "output":
		return &f.output
	case "status":
		return &f.status
	case "incomplete_details":
		return &f.incomplete
	case "message":
		return &f.message
	case "content_block":
		return &f.contentBlock
	case "content":
		return &f.content
	case "stop_reason":
		return &f.stopReason
	case "candidates":
		return &f.candidates
	case "usageMetadata":
		return &f.usageMetadata
	case "promptFeedback":
		return &f.promptFeedback
	case "responseId":
		return &f.responseID
	case "modelVersion":
		return &f.modelVersion
	case "done":
		return &f.done
	case "done_reason":
		return &f.doneReason
	case "thinking":
		return &f.thinking
	case "created_at":
		return &f.createdAt
	case "eval_count":
		return &f.evalCount
	case "prompt_eval_count":
		return &f.promptEvalCount
	case "load_duration":
		return &f.loadNS
	case "prompt_eval_duration":
		return &f.promptEvalNS
	case "eval_duration":
		return &f.evalNS
	case "token":
		return &f.token
	case "generated_text":
		return &f.generatedText
	case "details":
		return &f.details
	case "error_type":
		return &f.errorType
	case "stop":
		return &f.stop
	case "stop_type":
		return &f.stopType
	case "tokens_predicted":
		return &f.predicted
	case "tokens_evaluated":
		return &f.evaluated
	case "tokens_cached":
		return &f.cached
	case "completion_probabilities":
		return &f.probs
	case "index":
		return &f.index
	case "tokens":
		return &f.tokens
	}
	return nil
}

// dispatchFrame tells the dialect of a frame by its shape and reads it.
func (p *Parser) dispatchFrame(f *frame) bool {
	switch {
	case f.choices.array():
		return p.openAI(f)
	case f.typ.str():
		if ok, known := p.typed(f); known {
			return ok
		}
	case f.candidates.array(), f.promptFeedback.object(), f.usageMetadata.object():
		p.is(DialectGemini)
		return p.gemini(f)
	case len(f.done) > 0 && (f.message.object() || f.response.str()):
		p.is(DialectOllama)
		return p.ollama(f)
	case f.token.object(), len(f.generatedText) > 0:
		p.is(DialectTGI)
		return p.tgi(f)
	case len(f.stop) > 0 && f.content.str():
		p.is(DialectLlamaCpp)
		return p.llamaCpp(f)
	case f.object.is("response") && f.output.array():
		p.is(DialectOpenAIResponses)
		return p.responseWhole(f)
	}
	if !f.err.null() {
		p.fail(errorClass(f.err, firstOf(f.errorType, f.code)))
		return true
	}
	p.emit(wire.KindRole)
	return true
}

func firstOf(rs ...raw) raw {
	for _, r := range rs {
		if !r.null() {
			return r
		}
	}
	return nil
}

// is notes the dialect of the answer, told by the first frame that shows it.
func (p *Parser) is(d Dialect) {
	if p.info.Dialect == DialectUnknown {
		p.info.Dialect = d
	}
}
