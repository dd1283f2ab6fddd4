package requestpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/ui/requestpage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

func ptr[T any](v T) *T { return &v }

func get(t *testing.T, opt requestpage.Options, method, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	requestpage.New(opt).ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w.Code, w.Header(), w.Body.String()
}

func options(r *requests.Request, err error) requestpage.Options {
	return requestpage.Options{
		Request: func(context.Context, string, string) (*requests.Request, error) { return r, err },
		Draw: func(w io.Writer, r *requests.Request, columns int) error {
			_, err := fmt.Fprintf(w, "drawn for %d columns: %s", columns, r.RequestID)
			return err
		},
		Explain:    func(kind string, _ json.RawMessage) string { return "said of " + kind },
		Playground: "/playground/",
		Now:        func() time.Time { return time.Unix(2_000_000_000, 0) },
	}
}

func TestEverythingOfARecordIsEscaped(t *testing.T) {
	finding, err := json.Marshal(map[string]any{
		"kind": hostile, "grade": hostile, "tier": hostile, "attribution": hostile, "severity": hostile, "chunk": 3,
		"start_us": 1500, "duration_us": 2_000_000, "open": true, "confidence": 0.95,
		"evidence": map[string]any{
			hostile: hostile, "longest_us": 1_234_000, "event": map[string]any{"from_us": 3}, "list": []any{hostile, 1},
			"parts": []any{map[string]any{"part": hostile, "us": 1}, map[string]any{"part": "uplink", "us": 2_500, "uncertainty_us": 1_250}},
		},
	})
	require.NoError(t, err)
	r := &requests.Request{
		RequestID: hostile, State: hostile, Perceived: requests.Perceived{TTFTUS: ptr(int64(231_000)), GapUS: ptr(int64(-500))},
		Findings: []json.RawMessage{finding},
	}
	status, header, body := get(t, options(r, nil), http.MethodGet, requestpage.Path+url.PathEscape(hostile))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, body, "<script")
	require.NotContains(t, body, "<img")
	require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
	for _, want := range []string{
		"drawn for 116 columns", "drawn for 60 columns", "submit to first meaningful paint", "231 ms", "−500 µs", "at least 2.00 s", "95 % sure",
		"longest", "1.23 s", "event from", "3 µs", "uplink", "2.5 ms ± 1.2 ms", `href="/playground/"`,
		"said of &#34;",
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "http-equiv", "it has ended: nothing more comes")
}

func TestItLooksAgainWhileMoreIsToCome(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	ended := func(ago time.Duration) requests.Attempt {
		return requests.Attempt{Server: &requests.Stream{StartedAt: now.Add(-time.Minute - ago).UnixMicro(), EndUS: ptr(time.Minute.Microseconds())}}
	}
	for name, c := range map[string]struct {
		r     *requests.Request
		again bool
	}{
		"running":              {&requests.Request{State: requests.StateRunning}, true},
		"the page still tells": {&requests.Request{State: requests.StateCompleted, Client: &requests.Client{State: requests.StateRunning}}, true},
		"just ended":           {&requests.Request{State: requests.StateCompleted, Attempts: []requests.Attempt{ended(time.Second)}}, true},
		"long over":            {&requests.Request{State: requests.StateCompleted, Attempts: []requests.Attempt{ended(time.Minute)}}, false},
	} {
		status, _, body := get(t, options(c.r, nil), http.MethodGet, "/requests/x")
		require.Equal(t, http.StatusOK, status, name)
		if c.again {
			require.Contains(t, body, `http-equiv="refresh" content="2"`, name)
		} else {
			require.NotContains(t, body, "http-equiv", name)
		}
	}
}

func TestWhatGoesWrong(t *testing.T) {
	status, _, body := get(t, options(nil, requests.ErrNotFound), http.MethodGet, "/requests/"+url.PathEscape(hostile))
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "known yet")
	require.Contains(t, body, `http-equiv="refresh"`)
	require.NotContains(t, body, "<script")

	status, _, body = get(t, options(nil, errors.New("dial tcp 10.1.2.3: refused")), http.MethodGet, "/requests/x")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, body, "10.1.2.3")
	require.Contains(t, body, "/readyz")

	for _, path := range []string{"/requests/", "/requests/x?tenant=%3Cb%3E"} {
		status, _, body = get(t, options(nil, nil), http.MethodGet, path)
		require.Equal(t, http.StatusBadRequest, status, path)
		require.NotContains(t, body, "<b>")
	}
	status, header, _ := get(t, options(nil, nil), http.MethodPost, "/requests/x")
	require.Equal(t, http.StatusMethodNotAllowed, status)
	require.Equal(t, "GET, HEAD", header.Get("Allow"))

	opt := options(&requests.Request{}, nil)
	opt.Draw = func(io.Writer, *requests.Request, int) error { return errors.New("no ink") }
	status, _, body = get(t, opt, http.MethodGet, "/requests/x")
	require.Equal(t, http.StatusInternalServerError, status)
	require.NotContains(t, body, "no ink")
}

func TestTenantGoesWithTheQuestion(t *testing.T) {
	var asked []string
	opt := options(nil, nil)
	opt.Request = func(_ context.Context, tenant, id string) (*requests.Request, error) {
		asked = append(asked, tenant+" "+id)
		return nil, requests.ErrNotFound
	}
	_, _, body := get(t, opt, http.MethodGet, "/requests/a%2Fb?tenant=acme")
	require.Equal(t, []string{"acme a/b"}, asked)
	require.Contains(t, body, `href="/v1/requests/a%2Fb?tenant=acme"`)
}
