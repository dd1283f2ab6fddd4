package simulatecmd_test

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
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/simulatecmd"
	"github.com/fermata-io/fermata/internal/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(args ...string) (stdout, stderr string, err error) {
	cmd := simulatecmd.New()
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return out.String(), errOut.String(), err
}

// fermata answers as an ingest endpoint and as the API, which has the findings given.
func fermata(t *testing.T, found []simulate.Found) (url string, posted func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			page := map[string]any{"findings": []simulate.Found{}, "next_cursor": ""}
			switch n := len(found); {
			case r.URL.Query().Get("cursor") == "" && n > 1: // two pages
				page["findings"], page["next_cursor"] = found[:1], "more"
			case n > 1:
				page["findings"] = found[1:]
			default:
				page["findings"] = found
			}
			_ = json.NewEncoder(w).Encode(page)
			return
		}
		body, _ := io.ReadAll(r.Body)
		n := bytes.Count(body, []byte("\n"))
		mu.Lock()
		got[r.URL.Path] += n
		mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"accepted":%d,"rejected":0}`, n)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestSendsToEveryEndpoint(t *testing.T) {
	url, posted := fermata(t, nil)
	out, _, err := run("--ingest", url, "--requests", "30", "--scenario", "client", "--start", "2026-01-02T03:04:05Z")
	require.NoError(t, err)
	require.Contains(t, out, "30 requests")
	require.Contains(t, out, "the same again: fermata simulate --seed 1 --start 2026-01-02T03:04:05Z --scenario client --requests 30 --rate 4")
	for _, p := range []string{"/v1/chunks", "/v1/gateway", "/v1/rum"} {
		require.Positive(t, posted()[p], p)
	}
}

func TestWritesFilesWithTheTruthBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traffic")
	out, _, err := run("--write", dir, "--requests", "40", "--scenario", "stalls", "--start", "2026-01-02T03:04:05Z")
	require.NoError(t, err)
	require.Contains(t, out, "truth.ndjson")
	lines := map[string]int{}
	for _, name := range []string{"chunks", "gateway", "rum", "truth"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".ndjson"))
		require.NoError(t, err)
		for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			require.True(t, json.Valid([]byte(l)), "%s: %s", name, l)
			lines[name]++
		}
	}
	require.GreaterOrEqual(t, lines["chunks"], 40)
	require.Positive(t, lines["truth"])
}

// Findings that are the truth score 1, those of which one is missing fail a bar.
func TestScore(t *testing.T) {
	cfg := simulate.NewDefaultConfig()
	cfg.Shares, _ = simulate.ScenarioShares("stalls")
	cfg.Requests = 60
	sim := simulate.New(cfg)
	for _, ok := sim.Next(); ok; _, ok = sim.Next() {
	}
	var found []simulate.Found
	for _, x := range sim.Truths() {
		found = append(found, simulate.Found{
			Kind: x.Kind, RequestID: x.RequestID, Tier: x.Tier, Attempt: x.Attempt, Channel: x.Channel, Chunk: &x.Chunk, StartUS: x.StartUS,
			DurationUS: x.DurationUS, Attribution: x.Attribution,
		})
	}
	require.Greater(t, len(found), 5)
	args := []string{"score", "--scenario", "stalls", "--requests", "60", "--start", "2026-01-01T00:00:00Z", "--min-recall", "1", "--min-precision", "1", "--wait", "1ms"}
	url, _ := fermata(t, found)
	out, _, err := run(append(args, "--json", "--api", url)...)
	require.NoError(t, err)
	var s simulate.Score
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, 1.0, s.Of("stall").Recall)
	require.Empty(t, s.Disagreements)

	url, _ = fermata(t, found[1:])
	out, _, err = run(append(args, "--api", url)...)
	require.ErrorContains(t, err, "--min-recall 1")
	require.Equal(t, cli.CodeFailed, cli.ExitCode(err))
	require.Contains(t, out, "missed: ")

	_, _, err = run(append(args, "--kinds", "retraction", "--api", url)...)
	require.ErrorContains(t, err, "retraction: the traffic has none")
}

func TestWrongUse(t *testing.T) {
	for want, args := range map[string][]string{
		"--scenario is":          {"--scenario", "x"},
		`"x" is no fault`:        {"--faults", "x=1"},
		"--start is":             {"--start", "yesterday"},
		"requests:":              {"--requests", "0"},
		"--write sends nothing":  {"--write", "x", "--score"},
		"--speed is":             {"--speed", "-1"},
		"--start is missing":     {"score"},
		"--min-precision and":    {"score", "--start", "2026-01-01T00:00:00Z", "--min-recall", "2"},
		"unknown command":        {"scor"},
		"unknown flag: --reques": {"--reques", "1"},
	} {
		_, _, err := run(args...)
		require.ErrorContains(t, err, want)
		require.Equal(t, cli.CodeUsage, cli.ExitCode(err), "%v: %v", args, err)
	}
}
