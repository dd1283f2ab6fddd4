package demo

import (
	"net/http"
	"strings"
	"time"
)

// ollama serves /api/chat and /api/generate.
func (h *handler) ollama(w http.ResponseWriter, r *http.Request) {
	a, ok := read(w, r, true)
	if !ok {
		return
	}
	chat := strings.HasSuffix(r.URL.Path, "/chat")
	s := write(a, 0, h.scale)
	line := func(text, thinking string) object {
		o := object{"model": a.model, "created_at": time.Now().UTC().Format(time.RFC3339Nano), "done": false}
		if !chat {
			o["response"] = text
			if thinking != "" {
				o["thinking"] = thinking
			}
			return o
		}
		m := object{"role": "assistant", "content": text}
		if thinking != "" {
			m["thinking"] = thinking
		}
		o["message"] = m
		return o
	}
	began := time.Now()
	end := func(o object, first time.Duration) object {
		total := time.Since(began)
		o["done"], o["done_reason"] = true, s.finish
		o["total_duration"], o["load_duration"] = total.Nanoseconds(), 0
		o["prompt_eval_count"], o["prompt_eval_duration"] = s.prompt, first.Nanoseconds()
		o["eval_count"], o["eval_duration"] = s.output, (total - first).Nanoseconds()
		return o
	}
	if !a.stream {
		if h.rest(r, &s) {
			answer(w, http.StatusOK, end(line(s.joined(actText), s.joined(actReasoning)), s.steps[0].wait))
		}
		return
	}
	f := newFrames(w, r, "application/x-ndjson")
	var first time.Duration
	if f.play(&s, func(st step) {
		if first == 0 {
			first = time.Since(began)
		}
		if st.act == actReasoning {
			f.line(line("", st.text))
		} else {
			f.line(line(st.text, ""))
		}
	}, func() { f.line(object{"error": "the model was asked to fail"}) }) {
		f.line(end(line("", ""), first))
	}
}
