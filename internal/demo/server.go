package demo

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Name is the upstream's name under which the tap serves the model: /demo/.
const Name = "demo"

// Config of the model.
type Config struct {
	// Scale stretches all waits. Default 1; 0: no waits.
	Scale float64
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config { return Config{Scale: 1} }

// maxBody bounds a request.
const maxBody = 1 << 20

// NewHandler answers the protocols' paths.
func NewHandler(c Config) http.Handler {
	h := &handler{scale: max(0, c.Scale)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.help)
	mux.HandleFunc("GET /v1/models", h.models)
	mux.HandleFunc("GET /api/tags", h.tags)
	mux.HandleFunc("POST /v1/chat/completions", h.chat)
	mux.HandleFunc("POST /v1/messages", h.messages)
	mux.HandleFunc("POST /api/chat", h.ollama)
	mux.HandleFunc("POST /api/generate", h.ollama)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "not_found", "the scripted model serves GET /v1/models and POST /v1/chat/completions, /v1/messages, /api/chat, /api/generate; not "+r.Method+" "+strconv.Quote(r.URL.Path))
	})
	return mux
}

type handler struct{ scale float64 }

func (h *handler) help(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, `Scripted model: answers like an LLM server, with faults on request.

  curl -N localhost:4382/demo/v1/chat/completions -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Tell me something"}]}'

Models: demo, and demo-FAULT with FAULT one of `+strings.Join(Faults(), ", ")+`.
Also: POST /v1/messages (Anthropic), /api/chat and /api/generate (Ollama), GET /v1/models.
JSON fields beside the protocol's own: fault, fault_ms, seed. Header: X-Demo-Fault.
`)
}

func (h *handler) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := []model{{"demo", "model", 1767225600, "fermata"}}
	for _, f := range Faults() {
		list = append(list, model{"demo-" + f, "model", 1767225600, "fermata"})
	}
	answer(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (h *handler) tags(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{{"name": "demo", "model": "demo"}}
	for _, f := range Faults() {
		list = append(list, map[string]any{"name": "demo-" + f, "model": "demo-" + f})
	}
	answer(w, http.StatusOK, map[string]any{"models": list})
}

// request holds the fields of all protocols that the model heeds.
type request struct {
	Model               string          `json:"model"`
	Stream              *bool           `json:"stream"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	N                   int             `json:"n"`
	Seed                int64           `json:"seed"`
	Prompt              string          `json:"prompt"`
	Messages            json.RawMessage `json:"messages"`
	Fault               string          `json:"fault"`
	FaultMS             int             `json:"fault_ms"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Options struct { // Ollama
		NumPredict int   `json:"num_predict"`
		Seed       int64 `json:"seed"`
	} `json:"options"`
}

// read takes a request apart; it has answered when ok is false. streams is what an absent "stream" means.
func read(w http.ResponseWriter, r *http.Request, streams bool) (a *ask, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		fail(w, http.StatusRequestEntityTooLarge, "request_too_large", "the body is larger than 1 MiB")
		return nil, false
	}
	if err != nil {
		return nil, false // the client went away
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", "the body is not the JSON that was expected: "+err.Error())
		return nil, false
	}
	a = &ask{
		model: q.Model, fault: q.Fault, faultMS: q.FaultMS, seed: q.Seed + q.Options.Seed, prompt: q.Prompt + string(q.Messages),
		maxTokens: max(q.MaxTokens, q.MaxCompletionTokens, q.Options.NumPredict), usage: q.StreamOptions.IncludeUsage,
		n: max(1, min(q.N, 8)), stream: streams,
	}
	if q.Stream != nil {
		a.stream = *q.Stream
	}
	if a.model == "" {
		a.model = "demo"
	}
	if v := r.Header.Get("X-Demo-Fault"); v != "" {
		a.fault = v
	}
	if a.fault == FaultNone {
		a.fault = faultOf(a.model)
	}
	switch {
	case !known(a.fault):
		fail(w, http.StatusBadRequest, "invalid_request_error", "fault: "+strconv.Quote(a.fault)+" is not known; want one of "+strings.Join(Faults(), ", "))
		return nil, false
	case a.fault == FaultHTTP500:
		fail(w, http.StatusInternalServerError, "server_error", "the model was asked to fail")
		return nil, false
	case a.fault == FaultOverload:
		w.Header().Set("Retry-After", "2")
		fail(w, http.StatusTooManyRequests, "rate_limit_exceeded", "the model was asked to be busy")
		return nil, false
	}
	return a, true
}

func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

func fail(w http.ResponseWriter, status int, class, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"type": class, "code": class, "message": message}})
}

// frames writes the frames of one stream.
type frames struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	r   *http.Request
	buf []byte
}

func newFrames(w http.ResponseWriter, r *http.Request, contentType string) *frames {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	f := &frames{w: w, ctl: http.NewResponseController(w), r: r}
	w.WriteHeader(http.StatusOK)
	_ = f.ctl.Flush()
	return f
}

// sse writes one event; an empty name leaves the event field out.
func (f *frames) sse(name string, v any) {
	f.buf = f.buf[:0]
	if name != "" {
		f.buf = append(append(append(f.buf, "event: "...), name...), '\n')
	}
	f.buf = append(f.buf, "data: "...)
	f.json(v)
	f.buf = append(f.buf, "\n\n"...)
	f.flush()
}

// line writes one line of NDJSON.
func (f *frames) line(v any) {
	f.buf = f.buf[:0]
	f.json(v)
	f.buf = append(f.buf, '\n')
	f.flush()
}

func (f *frames) json(v any) {
	if s, ok := v.(string); ok {
		f.buf = append(f.buf, s...)
		return
	}
	b, _ := json.Marshal(v) // maps of strings and numbers: can't fail
	f.buf = append(f.buf, b...)
}

func (f *frames) flush() {
	_, _ = f.w.Write(f.buf) //nolint:gosec // JSON, not a page; a client that has gone is seen by wait
	_ = f.ctl.Flush()
}

// wait waits and reports false when the client has gone.
func (f *frames) wait(d time.Duration) bool {
	if d <= 0 {
		return f.r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.r.Context().Done():
		return false
	}
}

// play runs a script: each text goes to emit. It reports false when the stream must not be ended properly.
func (f *frames) play(s *script, emit func(st step), broken func()) bool {
	for _, st := range s.steps {
		if !f.wait(st.wait) {
			return false
		}
		switch st.act {
		case actText, actReasoning:
			emit(st)
		case actError:
			broken()
			return false
		case actCut:
			panic(http.ErrAbortHandler)
		case actSilence:
			return false
		}
	}
	return true
}

// rest waits as long as a whole answer would have taken to be made.
func (h *handler) rest(r *http.Request, s *script) bool {
	f := &frames{r: r}
	total := time.Duration(0)
	for _, st := range s.steps {
		total += st.wait
	}
	return f.wait(total)
}
