package demo

import "net/http"

func (h *handler) messages(w http.ResponseWriter, r *http.Request) {
	a, ok := read(w, r, false)
	if !ok {
		return
	}
	s := write(a, 0, h.scale)
	finish := "end_turn"
	if s.finish == "length" {
		finish = "max_tokens"
	}
	msg := object{"id": id("msg_", a), "type": "message", "role": "assistant", "model": a.model, "stop_sequence": nil}
	if !a.stream {
		content := []object{{"type": "text", "text": s.joined(actText)}}
		if s.think > 0 {
			content = append([]object{{"type": "thinking", "thinking": s.joined(actReasoning), "signature": "demo"}}, content...)
		}
		msg["content"], msg["stop_reason"] = content, finish
		msg["usage"] = object{"input_tokens": s.prompt, "output_tokens": s.output}
		if h.rest(r, &s) {
			answer(w, http.StatusOK, msg)
		}
		return
	}
	f := newFrames(w, r, "text/event-stream")
	msg["content"], msg["stop_reason"] = []object{}, nil
	msg["usage"] = object{"input_tokens": s.prompt, "output_tokens": 1}
	f.sse("message_start", object{"type": "message_start", "message": msg})
	f.sse("ping", object{"type": "ping"})
	block := -1
	var kind act
	closeBlock := func() {
		if block >= 0 {
			f.sse("content_block_stop", object{"type": "content_block_stop", "index": block})
		}
	}
	if !f.play(&s, func(st step) {
		if block < 0 || st.act != kind {
			closeBlock()
			block++
			kind = st.act
			b := object{"type": "text", "text": ""}
			if kind == actReasoning {
				b = object{"type": "thinking", "thinking": ""}
			}
			f.sse("content_block_start", object{"type": "content_block_start", "index": block, "content_block": b})
		}
		d := object{"type": "text_delta", "text": st.text}
		if kind == actReasoning {
			d = object{"type": "thinking_delta", "thinking": st.text}
		}
		f.sse("content_block_delta", object{"type": "content_block_delta", "index": block, "delta": d})
	}, func() {
		f.sse("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "the model was asked to fail"}})
	}) {
		return
	}
	closeBlock()
	f.sse("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": object{"output_tokens": s.output}})
	f.sse("message_stop", object{"type": "message_stop"})
}
