package playground_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/ui/playground"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is the page's server with a scripted model where the tap would be and a sink where the receivers would be.
type rig struct {
	url    string
	client *http.Client
	handle *playground.Handler

	mu   sync.Mutex
	got  map[string][]string // bodies by path at the ingest listener
	asks []*http.Request
}

func newRig(t *testing.T, change func(*playground.Options)) *rig {
	t.Helper()
	r := &rig{got: map[string][]string{}}
	model := demo.NewHandler(demo.Config{Scale: 0.2})
	tap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asks = append(r.asks, req.Clone(context.Background()))
		r.mu.Unlock()
		w.Header().Set("X-Request-Id", req.Header.Get("X-Request-Id"))
		req.URL.Path = strings.TrimPrefix(req.URL.Path, "/demo")
		model.ServeHTTP(w, req)
	}))
	t.Cleanup(tap.Close)
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got[req.URL.RequestURI()] = append(r.got[req.URL.RequestURI()], string(b))
		r.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(ingest.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	host := func(s *httptest.Server) func() string {
		return func() string { return strings.TrimPrefix(s.URL, "http://") }
	}
	opt := playground.Options{Upstreams: []string{"default", "demo"}, Tap: host(tap), Ingest: host(ingest), Transport: transport}
	if change != nil {
		change(&opt)
	}
	h, err := playground.New(opt)
	require.NoError(t, err)
	r.handle = h
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	r.url, r.client = srv.URL, srv.Client()
	return r
}

func (r *rig) do(t *testing.T, method, path, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := r.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, string(b)
}

func TestPageAndItsFiles(t *testing.T) {
	r := newRig(t, nil)
	for path, kind := range map[string]string{
		"/playground/": "text/html", "/playground": "text/html", "/playground/playground.js": "text/javascript", "/playground/markdown.js": "text/javascript",
		"/playground/playground.css": "text/css", "/playground/mark.svg": "image/svg+xml", "/playground/fermata.iife.js": "text/javascript",
	} {
		status, header, body := r.do(t, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, header.Get("Content-Type"), kind, path)
		require.NotEmpty(t, body)
		policy := header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		if kind == "text/html" {
			require.NotContains(t, body, "<script>", "no script in the page itself")
			require.NotContains(t, body, "style=")
			require.NotContains(t, body, "http://", "nothing from elsewhere")
			require.NotContains(t, body, "https://")
		}
	}
	for _, path := range []string{"/playground/nothing.js", "/playground/../playground.go", "/playground/assets/index.html", "/elsewhere"} {
		status, _, _ := r.do(t, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	_, _, body := r.do(t, http.MethodGet, "/playground/setup.json", "", nil)
	var setup struct {
		Upstreams, Faults []string
		Demo              string
	}
	require.NoError(t, json.Unmarshal([]byte(body), &setup))
	require.Equal(t, []string{"default", "demo"}, setup.Upstreams)
	require.Equal(t, demo.Faults(), setup.Faults)
	require.Equal(t, "demo", setup.Demo)
}

const ask = `{"model":"demo","stream":true,"max_tokens":30,"messages":[{"role":"user","content":"hello"}]}`

func TestAnswerPassesAndIsRecorded(t *testing.T) {
	r := newRig(t, nil)
	status, header, body := r.do(t, http.MethodPost, "/playground/tap/demo/v1/chat/completions?x=1", ask,
		map[string]string{"X-Request-Id": "id-1", "Cookie": "secret=1", "Authorization": "Bearer key", "Referer": "http://x/"})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "id-1", header.Get("X-Request-Id"))
	require.True(t, strings.HasSuffix(body, "data: [DONE]\n\n"), body)
	asked := r.asks[0]
	require.Equal(t, "Bearer key", asked.Header.Get("Authorization"), "the key is for the model")
	for _, name := range []string{"Cookie", "Origin", "Referer", "X-Forwarded-For"} {
		require.Empty(t, asked.Header.Get(name))
	}
	require.NoError(t, r.handle.Close())
	require.Len(t, r.got["/v1/gateway"], 1)
	var rec struct {
		RequestID      string `json:"request_id"`
		Emitter        string `json:"emitter"`
		ReceivedAt     int64  `json:"received_at"`
		UpstreamSentAt int64  `json:"upstream_sent_at"`
		FirstByteAt    int64  `json:"first_byte_at"`
		LastByteAt     int64  `json:"last_byte_at"`
		Status         int    `json:"status"`
		CancelledAt    *int64 `json:"cancelled_at"`
		Attempts       []struct{ Deployment string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.got["/v1/gateway"][0]), &rec))
	require.Equal(t, "id-1", rec.RequestID)
	require.Equal(t, "playground", rec.Emitter)
	require.Equal(t, http.StatusOK, rec.Status)
	require.Equal(t, "demo", rec.Attempts[0].Deployment)
	require.Nil(t, rec.CancelledAt)
	require.LessOrEqual(t, rec.ReceivedAt, rec.UpstreamSentAt)
	require.Less(t, rec.UpstreamSentAt, rec.FirstByteAt)
	require.Less(t, rec.FirstByteAt, rec.LastByteAt)
	require.NotContains(t, r.got["/v1/gateway"][0], "hello")
}

func TestDefaultUpstreamStandsAtTheRoot(t *testing.T) {
	r := newRig(t, nil)
	status, _, _ := r.do(t, http.MethodGet, "/playground/tap/default/v1/models", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "/v1/models", r.asks[0].URL.Path)
	require.NoError(t, r.handle.Close())
	require.Empty(t, r.got["/v1/gateway"], "a list of models is no question")
}

// Held back, the same bytes come in few releases.
func TestHold(t *testing.T) {
	r := newRig(t, nil)
	read := func(query string) (string, int) {
		resp, err := r.client.Post(r.url+"/playground/tap/demo/v1/chat/completions"+query, "application/json", strings.NewReader(ask))
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		var all strings.Builder
		buf := make([]byte, 1<<20)
		reads := 0
		for {
			n, err := resp.Body.Read(buf)
			all.Write(buf[:n])
			if n > 0 {
				reads++
			}
			if err == io.EOF {
				return all.String(), reads
			}
			require.NoError(t, err)
		}
	}
	text := func(s string) string { // without the ids and times that no two answers share
		var out strings.Builder
		for _, line := range strings.Split(s, "\n") {
			if _, rest, ok := strings.Cut(line, `"content":`); ok {
				out.WriteString(strings.SplitN(rest, "}", 2)[0])
			}
		}
		return out.String()
	}
	free, many := read("")
	held, few := read("?hold=10s")
	require.Equal(t, text(free), text(held))
	require.Greater(t, many, 5)
	require.LessOrEqual(t, few, 2)
	for _, bad := range []string{"x", "-1s", "0", "31s"} {
		status, _, body := r.do(t, http.MethodPost, "/playground/tap/demo/v1/chat/completions?hold="+bad, ask, nil)
		require.Equal(t, http.StatusBadRequest, status, bad)
		require.Contains(t, body, "hold: want a time up to 30s")
	}
}

func TestAClientThatLeavesEndsTheAnswer(t *testing.T) {
	for _, query := range []string{"", "?hold=100ms"} {
		r := newRig(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/playground/tap/demo/v1/chat/completions"+query, strings.NewReader(`{"model":"demo-silent","stream":true}`))
		require.NoError(t, err)
		req.Header.Set("X-Request-Id", "left")
		resp, err := r.client.Do(req)
		require.NoError(t, err)
		_, err = resp.Body.Read(make([]byte, 10))
		require.NoError(t, err)
		before := time.Now().UnixMicro()
		cancel()
		_ = resp.Body.Close()
		require.Eventually(t, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.got["/v1/gateway"]) == 1
		}, time.Minute, 10*time.Millisecond)
		var rec struct {
			CancelledAt int64 `json:"cancelled_at"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.got["/v1/gateway"][0]), &rec))
		require.GreaterOrEqual(t, rec.CancelledAt, before)
	}
}

func TestBeacon(t *testing.T) {
	r := newRig(t, nil)
	status, _, _ := r.do(t, http.MethodPost, "/playground/rum?key=k", `{"streams":[]}`, map[string]string{"Content-Type": "text/plain"})
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, []string{`{"streams":[]}`}, r.got["/v1/rum?key=k"])
}

func TestWhatIsRefused(t *testing.T) {
	r := newRig(t, nil)
	elsewhere := []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"},
	}
	for _, path := range []string{"/playground/tap/demo/v1/chat/completions", "/playground/rum"} {
		for _, h := range elsewhere {
			status, _, _ := r.do(t, http.MethodPost, path, ask, h)
			require.Equal(t, http.StatusForbidden, status, "%s %v", path, h)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPost, "/playground/tap/other/v1/chat/completions", http.StatusNotFound},
		{http.MethodPost, "/playground/tap/demo/v1/embeddings", http.StatusNotFound},
		{http.MethodGet, "/playground/tap/demo/v1/chat/completions", http.StatusMethodNotAllowed},
		{http.MethodPost, "/playground/", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/playground/rum", http.StatusMethodNotAllowed},
	} {
		status, _, _ := r.do(t, c.method, c.path, ask, nil)
		require.Equal(t, c.status, status, c.path)
	}
	status, _, body := r.do(t, http.MethodPost, "/playground/rum", strings.Repeat("x", 1<<20+1), nil)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, body, "1048576")
	require.Empty(t, r.asks)
	require.Empty(t, r.got)
}

func TestNothingBehindIt(t *testing.T) {
	r := newRig(t, func(o *playground.Options) {
		o.Tap, o.Ingest = func() string { return "" }, func() string { return "127.0.0.1:1" }
	})
	status, _, body := r.do(t, http.MethodPost, "/playground/tap/demo/v1/chat/completions", ask, nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "fermata up")
	status, _, _ = r.do(t, http.MethodPost, "/playground/rum", "{}", nil)
	require.Equal(t, http.StatusBadGateway, status)
}
