package tap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// steps is an upstream that sends one event for each word it is told, and ends when told nothing more.
type steps struct {
	say  chan string
	gone chan struct{} // closed when a request's context ends
	once sync.Once
	seen http.Header
}

func newSteps() *steps { return &steps{say: make(chan string), gone: make(chan struct{})} }

func (s *steps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.seen = r.Header.Clone()
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case word, ok := <-s.say:
			if !ok {
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				return
			}
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			s.once.Do(func() { close(s.gone) })
			return
		}
	}
}

func fast(c *tap.Config) { c.FlushInterval = 50 * time.Millisecond }

func TestRunningStreamIsSeenWhileItRuns(t *testing.T) {
	up := newSteps()
	b := start(t, up, fast)
	res := post(t, b.url+"/v1/chat/completions", "run", `{"model":"m"}`)
	// The first one from the nth on that is as wanted: others may have followed it by the time that it is looked for.
	segment := func(n int, cond func(wire.Stream) bool) wire.Stream {
		var found wire.Stream
		require.Eventually(t, func() bool {
			segs := b.of("run")
			segs = segs[min(n-1, len(segs)):]
			i := slices.IndexFunc(segs, cond)
			if i >= 0 {
				found = segs[i]
			}
			return i >= 0
		}, time.Minute, time.Millisecond)
		return found
	}
	first := segment(1, func(wire.Stream) bool { return true })
	require.False(t, first.Final)
	require.Empty(t, first.Chunks.T, "the wait for the first token is seen too")
	require.True(t, first.HeadersUS.OK)
	require.Equal(t, "m", first.Model)
	up.say <- "one"
	require.Equal(t, "run", segment(2, func(s wire.Stream) bool { return len(s.Chunks.T) == 1 }).RequestID)
	silent := segment(3, func(s wire.Stream) bool { return len(s.Chunks.T) == 0 && s.Seq > 1 })
	require.True(t, silent.ObservedUS.OK, "silence is known to go on")
	up.say <- "two"
	close(up.say)
	_, err := io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	rec := b.whole(t, "run")
	require.Equal(t, 2, count(rec, wire.KindContent))
	require.Equal(t, 1, count(rec, wire.KindDone))
	require.True(t, rec.EndUS.OK)
	require.False(t, rec.LostChunks.OK)
}

func TestClientGoesAway(t *testing.T) {
	up := newSteps()
	b := start(t, up)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/v1/chat/completions", strings.NewReader(`{}`))
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "gone")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	up.say <- "one"
	_, err = res.Body.Read(make([]byte, 10))
	require.NoError(t, err)
	cancel()
	_ = res.Body.Close()
	select {
	case <-up.gone:
	case <-time.After(5 * time.Second):
		t.Fatal("the upstream was not told")
	}
	rec := b.whole(t, "gone")
	require.Equal(t, "client_abort", rec.FinishReason)
	require.Equal(t, "client_abort", rec.ErrorType)
	require.EqualValues(t, 200, rec.Status)
	require.Equal(t, 1, count(rec, wire.KindContent))
}

func TestClientGoesAwayBeforeTheAnswer(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	b := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "early")
	req.Header.Set("Content-Type", "application/json")
	go func() { <-arrived; cancel() }()
	_, err = http.DefaultClient.Do(req) //nolint:bodyclose // fails
	require.ErrorIs(t, err, context.Canceled)
	<-gone
	rec := b.whole(t, "early")
	require.Equal(t, "client_abort", rec.FinishReason)
	require.Equal(t, "m", rec.Model)
	require.Empty(t, rec.Chunks.T)
	require.Zero(t, rec.Status)
}

// A client that closes after the last event did not abort.
func TestClosingAfterTheEndIsNoAbort(t *testing.T) {
	hold := make(chan struct{})
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+sayHi+"\n\ndata: [DONE]\n\n")
		_ = http.NewResponseController(w).Flush()
		<-hold
	}))
	defer close(hold)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/v1/chat/completions", strings.NewReader(`{}`))
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "after")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = io.ReadAtLeast(res.Body, make([]byte, 1000), len(sayHi)+22)
	require.NoError(t, err)
	cancel()
	_ = res.Body.Close()
	rec := b.whole(t, "after")
	require.Empty(t, rec.ErrorType)
	require.Empty(t, rec.FinishReason)
	require.Equal(t, 1, count(rec, wire.KindDone))
}

func TestUpstreamBreaksOff(t *testing.T) {
	url := rawUpstream(t, func(c net.Conn, _ *http.Request) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		_, _ = fmt.Fprintf(c, "%x\r\ndata: %s\n\n\r\n", len(sayHi)+8, sayHi)
	})
	b := start(t, nil, to(url))
	res := post(t, b.url+"/v1/chat/completions", "cut", `{}`)
	_, err := io.ReadAll(res.Body)
	require.Error(t, err, "the client sees it too")
	rec := b.whole(t, "cut")
	require.Equal(t, "upstream_reset", rec.ErrorType)
	require.Empty(t, rec.FinishReason)
	require.Equal(t, 1, count(rec, wire.KindContent))
}

// An answer that breaks off without a broken connection is told from one that came to its end, whatever its protocol.
func TestAnswerEndsBeforeItsEnd(t *testing.T) {
	const (
		chat   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
		ollama = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"hi\"},\"done\":false}\n"
		gemini = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}],\"role\":\"model\"},\"index\":0}]}\n\n"
	)
	for name, c := range map[string]struct {
		path, contentType, body, want string
	}{
		"chat":           {"/v1/chat/completions", "text/event-stream", chat + chat, "upstream_incomplete"},
		"chat, done":     {"/v1/chat/completions", "text/event-stream", chat + "data: [DONE]\n\n", ""},
		"chat, finished": {"/v1/chat/completions", "text/event-stream", chat + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", ""},
		"chat, mid":      {"/v1/chat/completions", "text/event-stream", chat + chat[:30], "upstream_incomplete"},
		"nothing":        {"/v1/chat/completions", "text/event-stream", ": ping\n\n", ""},
		"ollama":         {"/api/chat", "application/x-ndjson", ollama + ollama, "upstream_incomplete"},
		"ollama, mid":    {"/api/chat", "application/x-ndjson", ollama + ollama[:40], "upstream_incomplete"},
		"ollama, done":   {"/api/chat", "application/x-ndjson", ollama + "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n", ""},
		"gemini":         {"/v1beta/models/m:streamGenerateContent", "text/event-stream", gemini + gemini, "upstream_incomplete"},
		"gemini, done":   {"/v1beta/models/m:streamGenerateContent", "text/event-stream", gemini + strings.Replace(gemini, "\"index\":0", "\"finishReason\":\"STOP\",\"index\":0", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				_, _ = io.WriteString(w, c.body)
			}))
			res := post(t, b.url+c.path, "r", `{"stream":true}`)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, c.body, string(got))
			require.Equal(t, c.want, b.whole(t, "r").ErrorType)
		})
	}
}

func TestUpstreamDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	b := start(t, nil, to("http://"+l.Addr().String()))
	res := post(t, b.url+"/v1/chat/completions", "down", `{"model":"m"}`)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Contains(t, string(body), "upstream_unreachable")
	require.Contains(t, string(body), "--upstream")
	require.Equal(t, "down", res.Header.Get("X-Request-Id"))
	rec := b.whole(t, "down")
	require.EqualValues(t, 502, rec.Status)
	require.Equal(t, "upstream_unreachable", rec.ErrorType)
}

func TestErrorStatusIsRecorded(t *testing.T) {
	b := start(t, demo.NewHandler(demo.Config{}))
	for fault, want := range map[string]struct {
		status int
		class  string
	}{"http-500": {500, "server_error"}, "overload": {429, "rate_limit_exceeded"}} {
		res := post(t, b.url+"/v1/chat/completions", fault, `{"model":"demo-`+fault+`"}`)
		require.Equal(t, want.status, res.StatusCode)
		rec := b.whole(t, fault)
		require.EqualValues(t, want.status, rec.Status)
		require.Equal(t, want.class, rec.ErrorType)
		require.Equal(t, "demo-"+fault, rec.Model)
	}
}

func TestNoUpstreamForPath(t *testing.T) {
	b := start(t, nil, func(c *tap.Config) { c.Upstreams = map[string]tap.Upstream{"demo": {URL: tap.BuiltinDemo}} })
	res := post(t, b.url+"/v1/chat/completions", "", `{}`)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.Contains(t, string(body), "/demo/")
	require.Contains(t, string(body), "--upstream")
}

func TestNamedUpstreamsAndFields(t *testing.T) {
	up := newSteps()
	b := start(t, up, func(c *tap.Config) {
		c.Upstreams["fast"] = tap.Upstream{URL: c.Upstreams[tap.DefaultUpstream].URL + "/base", Provider: "prov", Region: "eu-1"}
	})
	close(up.say)
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	res := post(t, b.url+"/fast/v1/chat/completions", "named", `{"messages":[],"model":"m1"}`,
		"X-Fermata-Query-Type", "long_form", "X-Fermata-Tenant", "team-a", "X-Fermata-App", "shop", "X-Fermata-Attempt", "3",
		"Traceparent", traceparent, "X-Correlation-Id", "corr-1", "Origin", "http://x")
	_, err := io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	rec := b.whole(t, "named")
	require.Equal(t, "team-a", rec.Tenant)
	require.Equal(t, "long_form", rec.QueryType)
	require.Equal(t, "shop", rec.App)
	require.EqualValues(t, 3, rec.Attempt)
	require.Equal(t, wire.Target{Provider: "prov", Deployment: "fast", Model: "m1"}, rec.Target)
	require.Equal(t, "eu-1", rec.Region)
	require.Equal(t, "/v1/chat/completions", rec.Route)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", rec.TraceID)
	require.Equal(t, "b7ad6b7169203331", rec.SpanID)
	require.Equal(t, []string{"corr-1"}, rec.Aliases)
	require.Equal(t, traceparent, up.seen.Get("Traceparent"))
	require.Equal(t, "named", up.seen.Get("X-Request-Id"))
	for k := range up.seen {
		require.NotContains(t, k, "Fermata")
	}
}

func TestIdsAreMadeAndCarriedBack(t *testing.T) {
	var seen http.Header
	answer := http.Header{}
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen = r.Header.Clone()
		for k, v := range answer {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	ask := func(id string) (reply, wire.Stream) {
		res := post(t, b.url+"/v1/chat/completions", id, `{}`)
		_, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		got := res.Header.Get("X-Request-Id")
		require.True(t, wire.ValidID(got))
		return res, b.whole(t, got)
	}

	res, rec := ask("")
	require.Equal(t, rec.RequestID, seen.Get("X-Request-Id"))
	require.Len(t, rec.TraceID, 32)
	require.Contains(t, seen.Get("Traceparent"), rec.TraceID)
	require.Contains(t, res.Header.Get("Server-Timing"), "upstream;desc=ttfb;dur=")
	require.Contains(t, res.Header.Get("Server-Timing"), rec.TraceID)
	require.Empty(t, res.Header.Get("Access-Control-Expose-Headers"))

	bad := strings.Repeat("x", 200)
	res, rec = ask(bad)
	require.Equal(t, bad, seen.Get("X-Request-Id"), "passed as it is")
	require.NotEqual(t, bad, rec.RequestID)
	require.Equal(t, []string{bad}, rec.Aliases)
	require.Equal(t, rec.RequestID, res.Header.Get("X-Request-Id"))

	answer = http.Header{
		"X-Request-Id": {"req_up"}, "X-Litellm-Call-Id": {"call-1"}, "Access-Control-Allow-Origin": {"*"}, "Server-Timing": {"own;dur=1"},
	}
	res, rec = ask("mine")
	require.Equal(t, "mine", res.Header.Get("X-Request-Id"))
	require.Equal(t, "req_up", res.Header.Get("X-Upstream-Request-Id"))
	require.Equal(t, []string{"call-1", "req_up"}, rec.Aliases)
	require.Contains(t, res.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id")
	require.Equal(t, "own;dur=1", res.Header.Values("Server-Timing")[0])
	require.Len(t, res.Header.Values("Server-Timing"), 2)
}

func TestChoicesStayApart(t *testing.T) {
	b := start(t, demo.NewHandler(demo.Config{}))
	res := post(t, b.url+"/v1/chat/completions", "two", `{"model":"demo","stream":true,"n":2,"max_tokens":4}`)
	_, err := io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	rec := b.whole(t, "two")
	content := map[uint16]int{}
	for i, k := range rec.Chunks.Kind {
		if k == wire.KindContent {
			content[rec.Chunks.Choice[i]]++
		}
	}
	require.Equal(t, map[uint16]int{0: 4, 1: 4}, content)
}

// The sink's failures never reach the stream; what is lost is counted and told.
func TestSinkFails(t *testing.T) {
	up := newSteps()
	b := start(t, up, fast, func(c *tap.Config) { c.RetryFor = 0 })
	broken := true
	b.fail = func(int) error {
		if broken {
			return consumererror.NewPermanent(errors.New("full"))
		}
		return nil
	}
	res := post(t, b.url+"/v1/chat/completions", "lossy", `{}`)
	up.say <- "one"
	buf := make([]byte, 1000)
	_, err := res.Body.Read(buf)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.tap.Stats().ChunksDropped.Load() == 1 }, time.Minute, time.Millisecond)
	b.mu.Lock()
	broken = false
	b.mu.Unlock()
	up.say <- "two"
	close(up.say)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	var segs []wire.Stream
	require.Eventually(t, func() bool { segs = b.of("lossy"); return len(segs) > 0 && segs[len(segs)-1].Final }, time.Minute, time.Millisecond)
	require.Equal(t, wire.Some[int64](1), segs[len(segs)-1].LostChunks)
	require.Positive(t, b.tap.Stats().SinkErrors.Load())
}

// While the sink hangs, chunks are merged: bytes stay right and memory bounded.
func TestSinkLags(t *testing.T) {
	up := newSteps()
	b := start(t, up, fast, func(c *tap.Config) { c.MaxPendingChunks = 10 })
	release := make(chan struct{})
	hang := make(chan struct{})
	b.fail = func(call int) error {
		if call == 1 {
			close(hang)
			<-release
		}
		return nil
	}
	res := post(t, b.url+"/v1/chat/completions", "lag", `{}`)
	<-hang
	for range 50 {
		up.say <- "abc"
	}
	close(up.say)
	_, err := io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	close(release)
	rec := b.whole(t, "lag")
	sum := uint32(0)
	for _, n := range rec.Chunks.Bytes {
		sum += n
	}
	require.EqualValues(t, 150, sum)
	require.LessOrEqual(t, len(rec.Chunks.T), 12)
	require.Greater(t, rec.LostChunks.V, int64(35))
}

func TestShutdownEndsRunningStreams(t *testing.T) {
	up := newSteps()
	b := start(t, up, func(c *tap.Config) { c.DrainTimeout = time.Millisecond })
	res := post(t, b.url+"/v1/chat/completions", "stop", `{}`)
	up.say <- "one"
	_, err := res.Body.Read(make([]byte, 1000))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, b.tap.Shutdown(ctx))
	<-up.gone
	rec := b.whole(t, "stop")
	require.Equal(t, "tap_shutdown", rec.ErrorType)
	require.Equal(t, 1, count(rec, wire.KindContent))
}

// Unknown paths are recorded when they stream.
func TestStreamOnUnknownPath(t *testing.T) {
	b := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"response":"a","done":false}`+"\n"+`{"response":"","done":true,"done_reason":"stop"}`+"\n")
	}))
	req, err := http.NewRequest(http.MethodGet, b.url+"/my/stream", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "get")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	rec := b.whole(t, "get")
	require.Equal(t, "stop", rec.FinishReason)
	require.Equal(t, "ollama", rec.Provider)
}
