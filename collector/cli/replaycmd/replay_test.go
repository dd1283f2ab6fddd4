package replaycmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/replaycmd"
	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := replaycmd.New()
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(p, []byte(content), 0o600))
	return p
}

// trace is an Azure trace with n rows of 3 output tokens.
func trace(n int) string {
	var b strings.Builder
	b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range n {
		fmt.Fprintf(&b, "2023-11-16 18:%02d:%02d.0000000,100,3\n", i/60%60, i%60)
	}
	return b.String()
}

// receiver starts the real chunk receiver and returns its URL and what reached the pipeline.
func receiver(t *testing.T) (string, *consumertest.LogsSink) {
	t.Helper()
	sink := &consumertest.LogsSink{}
	cfg := chunkreceiver.NewDefaultConfig()
	cfg.HTTP = configoptional.Some(ingest.NewDefaultHTTP("127.0.0.1:0"))
	r, err := chunkreceiver.NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(chunkreceiver.Type), cfg, sink)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, r.Shutdown(context.Background())) })
	return "http://" + r.(interface{ Addr() net.Addr }).Addr().String(), sink
}

func stored(t *testing.T, sink *consumertest.LogsSink) []wire.Stream {
	t.Helper()
	var out []wire.Stream
	for _, ld := range sink.AllLogs() {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, lr := range sl.LogRecords().All() {
					s, err := streamlog.Stream(lr, 1000)
					require.NoError(t, err)
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func TestReplayIntoTheReceiver(t *testing.T) {
	url, sink := receiver(t)
	path := file(t, "trace.csv", trace(2500))
	out, err := run(t, path, "--ingest", url, "--tenant", "acme", "--model", "m")
	require.NoError(t, err)
	require.Contains(t, out, "trace.csv: azure_trace, 2500 records, 7500 chunks")
	require.Contains(t, out, "2500 accepted, 0 rejected, 7500 chunks")
	require.Contains(t, out, "look one up: fermata request azure_trace-")
	first := stored(t, sink)
	require.Len(t, first, 2500)
	require.Equal(t, "acme", first[0].Tenant)
	require.Equal(t, "m", first[0].Model)
	require.True(t, first[0].Synthetic)
	require.Len(t, first[0].Chunks.T, 3)

	sink.Reset()
	_, err = run(t, path, "--ingest", url, "--tenant", "acme", "--model", "m")
	require.NoError(t, err)
	require.Equal(t, first, stored(t, sink), "the second replay sends the same records")
}

func TestReplayFindsUpByItsDataFolder(t *testing.T) {
	url, sink := receiver(t)
	dir := t.TempDir()
	ready, err := json.Marshal(client.Ready{Ingest: strings.TrimPrefix(url, "http://"), PID: 1})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, client.ReadyFileName), ready, 0o600))
	_, err = run(t, file(t, "trace.csv", trace(1)), "--data", dir)
	require.NoError(t, err)
	require.Len(t, stored(t, sink), 1)

	_, err = run(t, file(t, "otlp.json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`), "--data", dir)
	require.ErrorContains(t, err, "--otlp")

	_, err = run(t, file(t, "trace.csv", trace(1)), "--data", t.TempDir())
	require.ErrorIs(t, err, client.ErrNotRunning)
	require.Equal(t, cli.CodeFailed, cli.ExitCode(err))
}

func TestReplayTellsWhatWasRejected(t *testing.T) {
	url, sink := receiver(t)
	path := file(t, "bodies.ndjson", `{"request_id":"good","started_at":1795966385000000,"chunks":{"t":[1,2]}}
{"request_id":"bad","started_at":1795966385000000,"chunks":{"t":[2,1]}}
{"nothing":1}
`)
	out, err := run(t, path, "--ingest", url)
	require.ErrorContains(t, err, "1 of 2 records were rejected")
	require.Equal(t, cli.CodeFailed, cli.ExitCode(err))
	require.Contains(t, out, "1 accepted, 1 rejected")
	require.Contains(t, out, "rejected: bad: chunks.t[1]")
	require.Contains(t, out, "skipped: line 3")
	require.Len(t, stored(t, sink), 1)
}

// endpoint is a server whose answers a test scripts; after the script it accepts everything.
func endpoint(t *testing.T, script ...func(w http.ResponseWriter, items int)) (url string, sizes func() []int) {
	t.Helper()
	var mu sync.Mutex
	var got []int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		n := bytes.Count(body, []byte("\n"))
		got = append(got, n)
		if i := len(got) - 1; i < len(script) {
			script[i](w, n)
			return
		}
		_, _ = fmt.Fprintf(w, `{"accepted":%d,"rejected":0}`, n)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return append([]int(nil), got...)
	}
}

func status(code int, retryAfter string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
	}
}

func TestReplayTriesAgain(t *testing.T) {
	url, sizes := endpoint(t, status(503, "0"), status(429, "0"))
	out, err := run(t, file(t, "trace.csv", trace(3)), "--ingest", url)
	require.NoError(t, err)
	require.Contains(t, out, "3 accepted, 0 rejected")
	require.Equal(t, []int{3, 3, 3}, sizes())
}

func TestReplayGivesUp(t *testing.T) {
	url, _ := endpoint(t, status(503, "60"))
	_, err := run(t, file(t, "trace.csv", trace(3)), "--ingest", url, "--retry-for", "1s")
	require.ErrorContains(t, err, "503")
	require.Equal(t, cli.CodeFailed, cli.ExitCode(err))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = run(t, file(t, "trace.csv", trace(3)), "--ingest", "http://"+l.Addr().String(), "--retry-for", "1ms")
	require.ErrorContains(t, err, "is `fermata up` running there?")
}

func TestReplayHalvesWhatIsTooLarge(t *testing.T) {
	url, sizes := endpoint(t, status(413, ""), status(413, ""))
	out, err := run(t, file(t, "trace.csv", trace(8)), "--ingest", url)
	require.NoError(t, err)
	require.Contains(t, out, "8 accepted, 0 rejected")
	require.Equal(t, []int{8, 4, 2, 2, 4}, sizes())
}

func TestReplayStopsAtRefusals(t *testing.T) {
	for code, want := range map[int]string{401: "401 Unauthorized", 404: "404 Not Found", 500: "500"} {
		url, _ := endpoint(t, status(code, ""))
		_, err := run(t, file(t, "trace.csv", trace(1)), "--ingest", url)
		require.ErrorContains(t, err, want)
	}
	url, _ := endpoint(t, func(w http.ResponseWriter, _ int) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"accepted":0,"rejected":0,"errors":[{"field":"(body)","reason":"is no JSON"}]}`)
	})
	_, err := run(t, file(t, "trace.csv", trace(1)), "--ingest", url)
	require.ErrorContains(t, err, "(body) is no JSON")
}

func TestReplayOTLP(t *testing.T) {
	var paths []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path+" "+r.Header.Get("Content-Type"))
		if strings.HasSuffix(r.URL.Path, "traces") {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no request id"}}`)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	defer srv.Close()
	path := file(t, "otlp.jsonl", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{},{},{}]}]}]}
`)
	out, err := run(t, path, "--otlp", srv.URL)
	require.ErrorContains(t, err, "1 of 5")
	require.Equal(t, []string{"/v1/logs application/json", "/v1/traces application/json"}, paths)
	require.Contains(t, out, "4 accepted, 1 rejected")
	require.Contains(t, out, "no request id")
}

func TestReplayPrint(t *testing.T) {
	out, err := run(t, file(t, "trace.csv", trace(4)), "--print")
	require.NoError(t, err)
	n := 0
	wire.EachStream([]byte(out), wire.NewDefaultDecodeOptions(), func(_ int, s *wire.Stream, e *wire.ItemError) {
		require.Nil(t, e)
		require.Len(t, s.Chunks.T, 3)
		n++
	})
	require.Equal(t, 4, n)
}

func TestReplayBrokenFileSendsNothing(t *testing.T) {
	url, sizes := endpoint(t)
	_, err := run(t, file(t, "trace.csv", trace(4)), file(t, "broken.json", `{"ttfts": [`), "--ingest", url)
	require.ErrorContains(t, err, "broken.json")
	require.Empty(t, sizes())
}

func TestReplayUsage(t *testing.T) {
	path := file(t, "trace.csv", trace(1))
	for name, args := range map[string][]string{
		"no file":      {},
		"flag":         {path, "--nonsense"},
		"format":       {path, "--format", "nonsense"},
		"start":        {path, "--start", "yesterday"},
		"tenant":       {path, "--tenant", "a b"},
		"rate":         {path, "--rate", "-1"},
		"jitter":       {path, "--jitter", "9"},
		"url":          {path, "--ingest", "ftp://x"},
		"print+ingest": {path, "--print", "--ingest", "http://x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, args...)
			require.Error(t, err)
			require.Equal(t, cli.CodeUsage, cli.ExitCode(err), err)
		})
	}
}
