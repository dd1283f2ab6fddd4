package tap

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// Sizes of the buffers that bytes are copied through: a stream of events holds one as long as it runs and has
// little in it; anything else passes faster through a large one.
const (
	eventBuffer = 16 << 10
	bulkBuffer  = 64 << 10
)

var eventBuffers, bulkBuffers = sync.Pool{New: func() any { return new([eventBuffer]byte) }}, sync.Pool{New: func() any { return new([bulkBuffer]byte) }}

// Get gives the buffer for a request's answer, whose head has come.
func (s *stream) Get() []byte {
	if s.events {
		return eventBuffers.Get().(*[eventBuffer]byte)[:]
	}
	return bulkBuffers.Get().(*[bulkBuffer]byte)[:]
}

// Put takes it back.
func (s *stream) Put(p []byte) {
	if len(p) == eventBuffer {
		eventBuffers.Put((*[eventBuffer]byte)(p))
		return
	}
	bulkBuffers.Put((*[bulkBuffer]byte)(p))
}

type streamKey struct{}

func streamOf(ctx context.Context) *stream {
	s, _ := ctx.Value(streamKey{}).(*stream)
	return s
}

func (t *Tap) newProxy(u *upstream) httputil.ReverseProxy {
	return httputil.ReverseProxy{
		Transport:      u.transport,
		FlushInterval:  -1, // every read is written and flushed at once
		Rewrite:        rewrite,
		ModifyResponse: modifyResponse,
		ErrorHandler:   t.upstreamFailed,
		ErrorLog:       zap.NewStdLog(t.log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))),
	}
}

// ServeHTTP passes one request on.
func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u, path, rawPath := t.route(r.URL.Path, r.URL.RawPath)
	if u == nil {
		t.noUpstream(w)
		return
	}
	s := t.newStream(u, w, r, path)
	if !t.add(s) {
		answerError(w, http.StatusServiceUnavailable, classShutdown, "fermata tap: is stopping")
		return
	}
	// An answer may begin while the request's body is still on its way; the server must not eat the rest of it.
	_ = http.NewResponseController(w).EnableFullDuplex()
	defer s.close() // also when the proxy panics to cut the client's connection
	ctx := context.WithValue(r.Context(), streamKey{}, s)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { s.headersSent.Store(max(1, s.since())) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				s.requestSent.Store(max(1, s.since()))
			}
		},
	})
	r = r.WithContext(ctx)
	r.URL = u.target(r.URL, path, rawPath)
	proxy := u.proxy
	proxy.BufferPool = s
	proxy.ServeHTTP(w, r)
}

func (t *Tap) newStream(u *upstream, w http.ResponseWriter, r *http.Request, path string) *stream {
	s := &stream{tap: t, up: u, rw: w, ctx: r.Context(), t0: time.Now()}
	s.request.Reset(t.cfg.MaxRequestScan)
	h := r.Header
	rec := &s.rec
	rec.Tenant, rec.Tier, rec.Attempt, rec.Emitter = tenant(&t.cfg, h), wire.TierServer, 1, "tap"
	rec.Provider, rec.Deployment, rec.Region = u.cfg.Provider, u.deployment, u.cfg.Region
	rec.Route, rec.App, rec.QueryType = clean(path, 1024), clean(h.Get(headerApp), maxName), queryType(h)
	rec.Model = clean(modelOfURL(path, r.URL.RawQuery), maxName)
	given := h.Get(headerRequestID)
	if rec.RequestID = given; !wire.ValidID(given) {
		rec.RequestID = newRequestID()
		rec.Aliases = addAlias(rec.Aliases, rec.RequestID, given)
	} else {
		s.given = true
		if rec.Attempt = attempt(h, headerAttempt); rec.Attempt == 0 {
			// An Envoy counts its own tries only: those of whoever asks it again begin at 1.
			rec.Attempt = max(t.retries.next(rec.Tenant, rec.RequestID), attempt(h, headerEnvoy))
		}
	}
	rec.Aliases = addAlias(rec.Aliases, rec.RequestID, h.Get("X-Correlation-Id"))
	rec.TraceID, rec.SpanID, _ = traceIDs(h.Get(headerTraceparent))
	s.record = r.Method == http.MethodPost && llmstream.DialectOfPath(path) != llmstream.DialectUnknown
	return s
}

// modelOfURL finds the model that Gemini has in the path and OpenAI's realtime API in the query.
func modelOfURL(path, query string) string {
	if i := strings.LastIndex(path, "/models/"); i >= 0 {
		if name, _, ok := strings.Cut(path[i+len("/models/"):], ":"); ok {
			return name
		}
	}
	if strings.HasSuffix(path, "/realtime") {
		if q, err := url.ParseQuery(query); err == nil {
			return q.Get("model")
		}
	}
	return ""
}

// rewrite prepares the request to the upstream. What httputil takes away or tidies is put back: the upstream gets
// what the client sent, but for hop-by-hop headers.
func rewrite(pr *httputil.ProxyRequest) {
	in, out := pr.In, pr.Out
	s := streamOf(in.Context())
	out.URL = in.URL
	out.Host = "" // the URL's
	for _, k := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := in.Header[k]; ok {
			out.Header[k] = v
		}
	}
	for _, k := range [...]string{headerQueryType, headerTenant, headerApp, headerAttempt} {
		delete(out.Header, k)
	}
	if _, ok := in.Header[headerRequestID]; !ok {
		out.Header[headerRequestID] = []string{s.rec.RequestID}
	}
	if _, ok := in.Header[headerTraceparent]; !ok {
		var header string
		header, s.rec.TraceID, s.rec.SpanID = newTraceparent()
		out.Header[headerTraceparent] = []string{header}
	}
	if out.Body != nil {
		// The content type says little: curl -d calls JSON a form. What is no JSON is told by its first byte.
		out.Body = &requestBody{ReadCloser: out.Body, s: s, scan: out.Header.Get("Content-Encoding") == ""}
	}
}

// requestBody is a request's body on its way to the upstream. It looks for the model's name, and it stays at its
// end: the transport reads once more behind the end, and if the answer has begun by then the server's own body is
// closed, the read fails, and the transport would cut the answer off.
type requestBody struct {
	io.ReadCloser
	s    *stream
	scan bool
	eof  bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.eof {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	b.eof = errors.Is(err, io.EOF)
	if n > 0 && b.scan {
		b.s.mu.Lock()
		_, _ = b.s.request.Write(p[:n])
		b.s.mu.Unlock()
	}
	return n, err
}

// modifyResponse starts the recording when the answer's head has come.
func modifyResponse(res *http.Response) error {
	s := streamOf(res.Request.Context())
	at := s.since()
	s.answered(res, at)
	s.dress(res, at)
	return nil
}

// answered notes the head and decides how the body is followed.
func (s *stream) answered(res *http.Response, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = res.StatusCode
	s.settleStart(true)
	s.rec.HeadersUS = wire.Some(s.offset(at))
	s.touched = true
	contentType := res.Header.Get("Content-Type")
	framing := llmstream.FramingOfContentType(contentType)
	upgraded := res.StatusCode == http.StatusSwitchingProtocols
	s.record = s.record || framing == llmstream.FramingSSE || framing == llmstream.FramingNDJSON ||
		upgraded && strings.EqualFold(res.Header.Get("Upgrade"), "websocket")
	if !s.record {
		return
	}
	s.events = framing != llmstream.FramingUnknown
	if res.StatusCode >= http.StatusBadRequest {
		s.tell(true)
	}
	s.tap.stats.Streams.Add(1)
	for _, k := range aliasHeaders {
		s.rec.Aliases = addAlias(s.rec.Aliases, s.rec.RequestID, res.Header.Get(k))
	}
	p, _ := s.tap.parsers.Get().(*llmstream.Parser)
	p.Reset(llmstream.Options{
		Path: s.rec.Route, ContentType: contentType, MaxEventBytes: s.tap.cfg.MaxEventBytes, Text: s.tap.cfg.ForwardText,
	}, s.add)
	s.parser = p
	if upgraded {
		s.watchSocket(res)
		return
	}
	if e := res.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		open := decoderFor(e)
		if open == nil { // times of the bytes are not times of events: record head and end only
			res.Body = &plainBody{ReadCloser: res.Body, s: s}
			return
		}
		s.aside = newAside(open, false, func(b []byte, _ bool, at int64) { s.parse(b, at) }, s.markNow)
	}
	res.Body = &body{ReadCloser: res.Body, s: s}
}

// plainBody notes only how a body ends.
type plainBody struct {
	io.ReadCloser
	s *stream
}

func (b *plainBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.s.bodyEnd(err, b.s.since())
	}
	return n, err
}

// dress adds what the tap tells the client to the answer's headers, and keeps the HTTP server from adding
// anything that the upstream did not send.
func (s *stream) dress(res *http.Response, at int64) {
	h := res.Header
	if id := h.Get(headerRequestID); id != "" && id != s.rec.RequestID {
		h[headerUpstreamID] = h[headerRequestID]
	}
	h[headerRequestID] = []string{s.rec.RequestID}
	timing := "upstream;desc=ttfb;dur=" + strconv.FormatFloat(float64(s.offset(at))/1000, 'f', 3, 64)
	if s.rec.TraceID != "" {
		timing += `, traceparent;desc="00-` + s.rec.TraceID + "-" + s.rec.SpanID + `-01"`
	}
	h.Add(headerTiming, timing)
	if h.Get("Access-Control-Allow-Origin") != "" && h.Get(headerExpose) != "*" {
		h.Add(headerExpose, headerRequestID+", "+headerTiming)
	}
	for _, k := range [...]string{"Content-Type", "Date"} {
		if _, ok := h[k]; !ok {
			s.rw.Header()[k] = nil
		}
	}
}

// upstreamFailed answers for an upstream that gave no answer.
func (t *Tap) upstreamFailed(w http.ResponseWriter, r *http.Request, err error) {
	s := streamOf(r.Context())
	class := failureClass(err)
	status := http.StatusBadGateway
	switch {
	case s.ctx.Err() != nil && !t.stopping.Load(), errors.Is(err, context.Canceled) && s.ctx.Err() != nil && !t.stopping.Load():
		s.fail(classClientAbort, 0)
		w.WriteHeader(499) // nobody is there to read it
		return
	case t.stopping.Load():
		class = classShutdown
	case class == classTimeout:
		status = http.StatusGatewayTimeout
	}
	t.stats.UpstreamErrors.Add(1)
	s.mu.Lock()
	s.record = s.record || r.Method == http.MethodPost
	s.mu.Unlock()
	s.fail(class, status)
	w.Header().Set(headerRequestID, s.rec.RequestID)
	answerError(w, status, class, "fermata tap: upstream "+strconv.Quote(s.up.name)+" at "+s.up.base.Scheme+"://"+s.up.base.Host+" "+
		failureText[class]+"; is it running? Upstreams are set with --upstream or receivers::fermata_chunks::tap::upstreams")
}

var failureText = map[string]string{
	classUnreachable: "can't be reached",
	classReset:       "closed the connection without an answer",
	classTimeout:     "gave no answer in time",
	classTLS:         "could not be verified by TLS",
	classShutdown:    "was cut off because the tap is stopping",
}

// noUpstream answers for a path that leads nowhere.
func (t *Tap) noUpstream(w http.ResponseWriter) {
	names := t.Names()
	msg := "fermata tap: no upstream is set for this path; start with --upstream http://HOST:PORT to serve it at /"
	if len(names) > 0 {
		msg += ", or use one of /" + strings.Join(names, "/, /") + "/"
	}
	answerError(w, http.StatusNotFound, "no_upstream", msg)
}

// answerError writes an error in the form that OpenAI's and Anthropic's clients understand.
func answerError(w http.ResponseWriter, status int, class, message string) {
	body := `{"error":{"type":` + strconv.Quote(class) + `,"code":` + strconv.Quote(class) + `,"message":` + strconv.Quote(message) + "}}\n"
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
