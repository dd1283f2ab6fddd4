package demo

import (
	"fmt"
	"net/http"
	"time"
)

type object = map[string]any

// id makes the answer's id, which no other answer has.
func id(prefix string, a *ask) string {
	return fmt.Sprintf("%s%016x%016x", prefix, newRand(a, 1000).Uint64(), time.Now().UnixNano())
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	a, ok := read(w, r, false)
	if !ok {
		return
	}
	if !a.stream {
		h.chatWhole(w, r, a)
		return
	}
	f := newFrames(w, r, "text/event-stream")
	head := object{"id": id("chatcmpl-", a), "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": a.model, "system_fingerprint": "demo-1"}
	send := func(choice int, delta object, finish any) {
		head["choices"] = []object{{"index": choice, "delta": delta, "finish_reason": finish}}
		f.sse("", head)
	}
	scripts := make([]script, a.n)
	for c := range scripts {
		scripts[c] = write(a, c, h.scale)
		send(c, object{"role": "assistant", "content": ""}, nil)
	}
	for c := range interleave(scripts, func(c int, st step) bool {
		return f.play(&script{steps: []step{st}}, func(st step) {
			key := "content"
			if st.act == actReasoning {
				key = "reasoning_content"
			}
			send(c, object{key: st.text}, nil)
		}, func() {
			f.sse("", object{"error": object{"type": "server_error", "code": "server_error", "message": "the model was asked to fail"}})
		})
	}) {
		if c < 0 {
			return
		}
		send(c, object{}, scripts[c].finish)
	}
	if a.usage {
		delete(head, "choices")
		head["choices"], head["usage"] = []object{}, usage(scripts)
		f.sse("", head)
	}
	f.sse("", "[DONE]")
}

// interleave plays the scripts step by step in turn. It yields the number of each script as it comes to its
// end, and -1 when one was broken off.
func interleave(scripts []script, play func(c int, st step) bool) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i, left := 0, len(scripts); left > 0; i++ {
			for c := range scripts {
				s := &scripts[c]
				switch {
				case i > len(s.steps):
				case i == len(s.steps):
					left--
					if !yield(c) {
						return
					}
				case !play(c, s.steps[i]):
					yield(-1)
					return
				}
			}
		}
	}
}

func usage(scripts []script) object {
	out, think := 0, 0
	for i := range scripts {
		out += scripts[i].output
		think += scripts[i].think
	}
	p := scripts[0].prompt
	return object{
		"prompt_tokens": p, "completion_tokens": out, "total_tokens": p + out,
		"prompt_tokens_details": object{"cached_tokens": 0}, "completion_tokens_details": object{"reasoning_tokens": think},
	}
}

func (h *handler) chatWhole(w http.ResponseWriter, r *http.Request, a *ask) {
	scripts := make([]script, a.n)
	choices := make([]object, a.n)
	for c := range scripts {
		s := write(a, c, h.scale)
		scripts[c] = s
		m := object{"role": "assistant", "content": s.joined(actText)}
		if s.think > 0 {
			m["reasoning_content"] = s.joined(actReasoning)
		}
		choices[c] = object{"index": c, "message": m, "finish_reason": s.finish}
	}
	if h.rest(r, &scripts[0]) {
		answer(w, http.StatusOK, object{
			"id": id("chatcmpl-", a), "object": "chat.completion", "created": time.Now().Unix(), "model": a.model,
			"choices": choices, "usage": usage(scripts), "system_fingerprint": "demo-1",
		})
	}
}
