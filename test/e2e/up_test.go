package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadyFileAndHealth(t *testing.T) {
	u := running(t)
	for name, v := range map[string]string{
		"api": u.API, "ingest": u.Ingest, "tap": u.Tap, "otlp_grpc": u.OTLPgRPC, "otlp_http": u.OTLPHTTP, "clickhouse": u.ClickHouse,
	} {
		require.NotEmpty(t, v, name)
	}
	require.Equal(t, u.cmd.Process.Pid, u.PID)
	info, err := os.Stat(filepath.Join(u.data, "ready.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "the ready file holds a password")

	code, body := u.get(t, "/healthz")
	require.Equal(t, http.StatusOK, code, "%s", body)
	u.isReady(t)
	code, body = u.get(t, "/metrics")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, string(body), "otelcol_process_uptime", "the collector's own metrics are on the API port")
}

// isReady asks /readyz: once more where a busy machine kept a check from its answer in time.
func (u *up) isReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { code, _ := u.get(t, "/readyz"); return code == http.StatusOK }, time.Minute, 50*time.Millisecond)
}

func TestDefaultOutputIsForPeople(t *testing.T) {
	u := running(t)
	log := u.log.String()
	require.Contains(t, log, "Fermata is ready.")
	require.NotContains(t, log, "\tinfo\t", "a quiet start shows warnings and errors only")
}

// A request through the tap is visible while it runs and complete soon after its end.
func TestTapShowsRunningStream(t *testing.T) {
	u := running(t)
	body := `{"model":"demo-stall","fault_ms":8000,"stream":true,"max_tokens":120,"messages":[{"role":"user","content":"pauses"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.Tap, "/demo/v1/chat/completions"), strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "live-1")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "live-1", resp.Header.Get("X-Request-Id"))

	type end struct {
		at     time.Time
		chunks int
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		buf, n := make([]byte, 32<<10), 0
		for {
			k, err := resp.Body.Read(buf)
			n += strings.Count(string(buf[:k]), "data: {")
			if err != nil {
				ended <- end{time.Now(), n, err}
				return
			}
		}
	}()
	sawRunning := false
	got := u.eventually(t, "live-1", func(m map[string]any) bool {
		s := served(m)
		if s == nil {
			return false
		}
		if s["state"] == "running" {
			sawRunning = true
		}
		return s["state"] == "completed"
	})
	visible := time.Now()
	e := <-ended
	require.True(t, sawRunning, "the request was never seen while it ran")
	t.Logf("complete %s after its end", visible.Sub(e.at).Round(time.Millisecond))

	var m map[string]any
	require.NoError(t, json.Unmarshal(got, &m))
	s := served(m)
	require.Equal(t, "length", s["finish_reason"])
	times := s["chunks"].(map[string]any)["t_us"].([]any)
	require.GreaterOrEqual(t, len(times), 120, "every chunk is there")

	code, out, errOut := u.fermata(t, "request", "live-1")
	require.Equal(t, 0, code, errOut)
	for _, want := range []string{"live-1", "demo-stall", "TTFT", "tap"} {
		require.Contains(t, out, want)
	}
	code, out, errOut = u.fermata(t, "request", "live-1", "--json")
	require.Equal(t, 0, code, errOut)
	require.Equal(t, strings.TrimSpace(string(got)), strings.TrimSpace(out), "--json prints the API's body")
}

func served(m map[string]any) map[string]any {
	attempts, _ := m["attempts"].([]any)
	if len(attempts) == 0 {
		return nil
	}
	s, _ := attempts[0].(map[string]any)["server"].(map[string]any)
	return s
}

func TestExitCodes(t *testing.T) {
	u := running(t)
	// Not at the usual ports, where somebody's own may run.
	elsewhere := []string{"up", "--listen-ingest", "127.0.0.1:0", "--listen-tap", "127.0.0.1:0", "--listen-otlp-grpc", "127.0.0.1:0", "--listen-otlp-http", "127.0.0.1:0"}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"request", "no-such-request"}, 3, "no-such-request"},
		{[]string{"request"}, 2, "want one ID"},
		{[]string{"request", "x", "--no-such-flag"}, 2, "no-such-flag"},
		{[]string{"no-such-command"}, 2, "no-such-command"},
		{[]string{"request", "x", "--api", "http://127.0.0.1:1"}, 1, "127.0.0.1:1"},
		{[]string{"request", "x", "--data", "/no/such/folder"}, 1, "fermata up"},
		{[]string{"replay", "/no/such/file"}, 1, "/no/such/file"},
		{[]string{"findings", "--kind", "nonsense"}, 2, "want one of stall, "},
		{[]string{"up", "--upstream", "not a url"}, 2, "--upstream"},
		{append(elsewhere, "--listen-api", u.API, "--data", t.TempDir()), 1, "--listen-api " + u.API},
		{[]string{"up", "--upstream", "demo=http://127.0.0.1:1"}, 2, "demo"},
		{[]string{"migrate", "--clickhouse", "nonsense"}, 2, "--clickhouse"},
	} {
		code, out, errOut := u.fermata(t, c.args...)
		require.Equal(t, c.code, code, "%v\n%s%s", c.args, out, errOut)
		require.Contains(t, errOut, c.says, "%v", c.args)
		require.Less(t, strings.Count(errOut, "\n"), 6, "%v: an error is a line or two, not a page:\n%s", c.args, errOut)
	}
}

// A second `up` on the same folder is refused and says why; the first goes on.
func TestSecondUpIsRefused(t *testing.T) {
	u := running(t)
	code, _, errOut := u.fermata(t, "up", "--data", u.data, "--listen-api", "127.0.0.1:0", "--listen-ingest", "127.0.0.1:0", "--listen-tap", "127.0.0.1:0",
		"--listen-otlp-grpc", "127.0.0.1:0", "--listen-otlp-http", "127.0.0.1:0")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, fmt.Sprint(u.PID))
	require.FileExists(t, filepath.Join(u.data, "ready.json"), "it belongs to the first")
	u.isReady(t)
}

// Bad records of a batch are refused one by one, by field and reason; their neighbours are stored.
func TestBadRecordCostsNoGoodOne(t *testing.T) {
	u := running(t)
	now := time.Now().Add(-time.Minute).UnixMicro()
	good := func(id string) map[string]any {
		return map[string]any{"request_id": id, "started_at": now, "chunks": map[string]any{"t": []int{1000, 2000}}}
	}
	bad := good("bad-1")
	bad["chunks"] = map[string]any{"t": []int{2000, 1000}}
	code, body := u.postJSON(t, "/v1/chunks", []any{good("nb-1"), bad, good("nb-2")})
	require.Equal(t, http.StatusBadRequest, code, "%s", body)
	var answer struct {
		Accepted, Rejected int
		Errors             []struct {
			Index         int
			Field, Reason string
		}
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	require.Equal(t, 2, answer.Accepted)
	require.Equal(t, 1, answer.Rejected)
	require.Equal(t, 1, answer.Errors[0].Index)
	require.Equal(t, "chunks.t[1]", answer.Errors[0].Field)
	for _, id := range []string{"nb-1", "nb-2"} {
		u.eventually(t, id, func(m map[string]any) bool { return served(m) != nil })
	}
}
