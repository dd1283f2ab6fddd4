package requestcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/requestcmd"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func body(t *testing.T, state requests.State) []byte {
	t.Helper()
	end := int64(500_000)
	s := &requests.Stream{Tier: "server", StartedAt: 1_795_966_385_000_000, State: state, Chunks: &requests.Chunks{TUS: []int64{100_000, 200_000}}}
	if state != requests.StateRunning {
		s.EndUS = &end
	}
	raw, err := json.Marshal(&requests.Request{
		RequestID: "r-1", Tenant: "default", State: state, QueryType: "other", Attempts: []requests.Attempt{{Attempt: 1, Served: true, State: state, Server: s}},
	})
	require.NoError(t, err)
	return append(raw, '\n')
}

// server is an API at the edge: what it answers is checked against openapi.yaml in package api.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func problem(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func TestRequest(t *testing.T) {
	want := body(t, requests.StateCompleted)
	var asked string
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write(want)
	})
	out, err := run(t, requestcmd.New(), "a b/c", "--api", url, "--json", "--tenant", "acme")
	require.NoError(t, err)
	require.Equal(t, string(want), out, "exactly the API's answer")
	require.Equal(t, "/v1/requests/a%20b%2Fc?tenant=acme", asked)

	out, err = run(t, requestcmd.New(), "r-1", "--api", url, "--width", "80")
	require.NoError(t, err)
	require.Contains(t, out, "r-1  completed")
	require.NotContains(t, out, "\x1b", "no terminal, no colour")
}

func TestRequestFindsUpByItsDataFolder(t *testing.T) {
	want := body(t, requests.StateCompleted)
	url := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(want) })
	dir := t.TempDir()
	raw, err := json.Marshal(client.Ready{API: strings.TrimPrefix(url, "http://")})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, client.ReadyFileName), raw, 0o600))
	t.Setenv("FERMATA_DATA", dir)
	out, err := run(t, requestcmd.New(), "r-1", "--json")
	require.NoError(t, err)
	require.Equal(t, string(want), out)

	t.Setenv("FERMATA_DATA", t.TempDir())
	_, err = run(t, requestcmd.New(), "r-1")
	require.ErrorIs(t, err, client.ErrNotRunning)
	require.ErrorContains(t, err, "--data DIR or --api URL")
	require.Equal(t, cli.CodeFailed, cli.ExitCode(err))
}

func TestRequestExitCodes(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/gone"):
			problem(w, 404, `{"title":"Not Found","status":404,"detail":"no request with this id"}`)
		case strings.HasSuffix(r.URL.Path, "/wrong"):
			problem(w, 400, `{"title":"Bad Request","status":400,"errors":[{"parameter":"tenant","reason":"is odd"}]}`)
		case strings.HasSuffix(r.URL.Path, "/busy"):
			problem(w, 503, `{"title":"Service Unavailable","status":503,"detail":"ClickHouse can't be reached"}`)
		case strings.HasSuffix(r.URL.Path, "/html"):
			_, _ = io.WriteString(w, "<html>")
		default:
			http.Error(w, "some proxy", http.StatusBadGateway)
		}
	})
	for _, tc := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"gone", "--api", url}, cli.CodeNotFound, "no request with this id"},
		{[]string{"wrong", "--api", url}, cli.CodeUsage, "tenant is odd"},
		{[]string{"busy", "--api", url}, cli.CodeFailed, "ClickHouse can't be reached"},
		{[]string{"html", "--api", url}, cli.CodeFailed, "read the API's answer"},
		{[]string{"other", "--api", url}, cli.CodeFailed, "502 Bad Gateway"},
		{[]string{}, cli.CodeUsage, "want one ID"},
		{[]string{"a", "b"}, cli.CodeUsage, "want one ID"},
		{[]string{"a", "--nonsense"}, cli.CodeUsage, "unknown flag"},
		{[]string{"a", "--json", "--watch"}, cli.CodeUsage, "can't be used together"},
		{[]string{"a", "--api", "ftp://x"}, cli.CodeUsage, "not an http or https URL"},
		{[]string{"a", "--tenant", "x y"}, cli.CodeUsage, "--tenant"},
		{[]string{"a", "--width", "-1"}, cli.CodeUsage, "--width"},
		{[]string{strings.Repeat("a", 300)}, cli.CodeUsage, "ID has 300 bytes"},
		{[]string{"a", "--api", "127.0.0.1:1"}, cli.CodeFailed, "is `fermata up` running there?"},
	} {
		_, err := run(t, requestcmd.New(), tc.args...)
		require.ErrorContains(t, err, tc.text)
		require.Equal(t, tc.code, cli.ExitCode(err), "%v", tc.args)
	}
}

func TestWatchEndsWithTheStream(t *testing.T) {
	var n atomic.Int32
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) {
		case 1:
			problem(w, 404, `{"title":"Not Found","status":404}`)
		case 2, 3:
			_, _ = w.Write(body(t, requests.StateRunning))
		default:
			_, _ = w.Write(body(t, requests.StateCompleted))
		}
	})
	out, err := run(t, requestcmd.New(), "r-1", "--api", url, "--watch")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "r-1  running"), "an unchanged answer is drawn once")
	require.Equal(t, 1, strings.Count(out, "r-1  completed"))
	require.Equal(t, int32(4), n.Load())
}

func TestRequests(t *testing.T) {
	var asked string
	ttft := int64(412_000)
	page := &requests.Page{Requests: []requests.Summary{{RequestID: "r-1", StartedAt: 1_795_966_385_000_000, State: requests.StateFailed, TTFTUS: &ttft}}, NextCursor: "next"}
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		_ = json.NewEncoder(w).Encode(page)
	})
	out, err := run(t, requestcmd.NewList(), "--api", url)
	require.NoError(t, err)
	require.Equal(t, "limit=20", asked, "nothing the user didn't say")
	require.Contains(t, out, "r-1")
	require.Contains(t, out, "412 ms")
	require.Contains(t, out, "--cursor next")

	out, err = run(t, requestcmd.NewList(), "--api", url, "--json", "--since", "15m", "--state", "failed", "--query-type", "short_qa", "--limit", "3")
	require.NoError(t, err)
	require.Equal(t, "limit=3&query_type=short_qa&since=15m&state=failed", asked)
	want, err := json.Marshal(page)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintln(string(want)), out)

	_, err = run(t, requestcmd.NewList(), "extra")
	require.Equal(t, cli.CodeUsage, cli.ExitCode(err))
}

func TestFindings(t *testing.T) {
	page := findings.Page{NextCursor: "abc", Findings: []findings.Finding{
		{
			Kind: "stall", Grade: ptr("freeze"), RequestID: "r-1\x1b[31m", Tier: "server", Chunk: ptr(int64(381)), StartUS: 4_000_000, DurationUS: 7_400_000,
			Severity: "critical", Attribution: "engine", Confidence: 0.97, StartedAt: 1_795_966_385_000_000,
		},
		{Kind: "loop", RequestID: "r-2", Tier: "server", DurationUS: 900_000, Open: true, Severity: "warning", Attribution: "engine", Confidence: 0.9},
	}}
	want, err := json.Marshal(&page)
	require.NoError(t, err)
	var asked string
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write(want)
	})
	out, err := run(t, requestcmd.NewFindings(), "--api", url, "--json", "--request", "r-1", "--kind", "stall", "--since", "2h")
	require.NoError(t, err)
	require.Equal(t, string(want), out, "exactly the API's answer")
	require.Equal(t, "/v1/findings?kind=stall&limit=50&request_id=r-1&since=2h", asked)

	out, err = run(t, requestcmd.NewFindings(), "--api", url, "--width", "100")
	require.NoError(t, err)
	require.Contains(t, out, "stall freeze")
	require.Contains(t, out, "7.40 s")
	require.Contains(t, out, "> 900 ms")
	require.Contains(t, out, "--cursor abc")
	require.NotContains(t, out, "\x1b")

	want = []byte(`{"findings":[],"next_cursor":""}`)
	out, err = run(t, requestcmd.NewFindings(), "--api", url)
	require.NoError(t, err)
	require.Equal(t, "no findings\n", out)
}

func ptr[T any](v T) *T { return &v }
