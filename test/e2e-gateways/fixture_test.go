//go:build e2e

package e2egateways

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/internal/freeport"
)

// masterKey is a made-up key of the test's own proxy.
const masterKey = "sk-of-the-end-to-end-test-of-gateways"

func program(t *testing.T, name string) string {
	dir := os.Getenv("FERMATA_GATEWAYS_CACHE")
	if dir == "" {
		dir = "../../.cache/e2e-gateways"
	}
	found, err := filepath.Glob(filepath.Join(dir, "venv", name))
	require.NoError(t, err)
	require.Len(t, found, 1, "run test/e2e-gateways/setup.sh first")
	p, err := filepath.Abs(found[0])
	require.NoError(t, err)
	return p
}

// launch starts a program until the test ends; its output goes to a file that a failing test prints the end of.
func launch(t *testing.T, env []string, args ...string) {
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(args[0])+".log"))
	require.NoError(t, err)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		_ = log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("the end of %s:\n%s", filepath.Base(log.Name()), b[max(0, len(b)-4000):])
		}
	})
}

func port(t *testing.T) string {
	n, err := freeport.Pick()
	require.NoError(t, err)
	_, p, err := net.SplitHostPort((&net.TCPAddr{Port: n}).String())
	require.NoError(t, err)
	return p
}

// up starts Fermata and waits for its ready file.
func up(t *testing.T) (client.Ready, string) {
	bin := os.Getenv("FERMATA_BIN")
	if bin == "" {
		bin = "../../bin/fermata"
	}
	dir := t.TempDir()
	ready, data := filepath.Join(dir, "ready.json"), filepath.Join(dir, "data")
	args := []string{bin, "up", "--data", data, "--ready-file", ready}
	for _, l := range []string{"api", "ingest", "tap", "otlp-grpc", "otlp-http"} {
		args = append(args, "--listen-"+l, "127.0.0.1:0")
	}
	launch(t, nil, args...)
	var at client.Ready
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(b, &at) == nil
	}, 2*time.Minute, 50*time.Millisecond, "fermata up did not get ready")
	return at, data
}

// snippets returns the blocks of a language in an adapter's README, in their order: what a user pastes is what is tested.
func snippets(t *testing.T, adapter, language string) []string {
	b, err := os.ReadFile("../../receivers/adapters/" + adapter + "/README.md")
	require.NoError(t, err)
	var out []string
	for _, block := range strings.Split(string(b), "```"+language+"\n")[1:] {
		text, _, ok := strings.Cut(block, "```")
		require.True(t, ok)
		out = append(out, text)
	}
	return out
}

// place replaces one text, which must be there.
func place(t *testing.T, in, old, with string) string {
	require.Contains(t, in, old)
	return strings.ReplaceAll(in, old, with)
}

func indent(s string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+pad)
}

// answered waits until a server answers a GET.
func answered(t *testing.T, url string) {
	require.Eventually(t, func() bool {
		res, err := http.Get(url)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Body.Close() == nil && res.StatusCode < http.StatusInternalServerError
	}, 3*time.Minute, 100*time.Millisecond, "%s does not answer", url)
}

// told is what the client saw of an answer.
type told struct {
	Pieces       int
	Error        int
	Cut          bool
	ResponseID   string `json:"response_id"`
	FinishReason string `json:"finish_reason"`
	Tokens       int64
	FirstUS      int64 `json:"first_us"`
	EndUS        int64 `json:"end_us"`
}

// stream asks by the real openai client.
func stream(t *testing.T, base, model, id, abort string) told {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, "bin/python"), "client.py", base, model, id, abort)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY="+masterKey)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	var a told
	require.NoError(t, json.Unmarshal(out, &a))
	return a
}

// broken answers every request with 503.
func broken(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(s.Close)
	_, p, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	return p
}

// request is what the API says of a request.
type request struct {
	RequestID     string `json:"request_id"`
	State         string
	ServedAttempt *int `json:"served_attempt"`
	Aliases       []string
	Attempts      []struct {
		Attempt int
		State   string
		Served  bool
		Server  *tier
		Gateway *tier
	}
	Gateway *struct {
		Emitter     string
		StartedAt   int64  `json:"started_at"`
		FirstByteUS *int64 `json:"first_byte_us"`
		LastByteUS  *int64 `json:"last_byte_us"`
		CancelledUS *int64 `json:"cancelled_us"`
		SentUS      *int64 `json:"upstream_sent_us"`
		Retries     *int64
		Status      *int
		Error       *string
		Tokens      *int64 `json:"output_tokens"`
	}
	Conflicts []json.RawMessage
	Findings  []struct{ Kind, Tier string }
}

type tier struct {
	StartedAt    int64   `json:"started_at"`
	TTFTUS       *int64  `json:"ttft_us"`
	EndUS        *int64  `json:"end_us"`
	Status       *int    `json:"status"`
	Error        *string `json:"error"`
	FinishReason *string `json:"finish_reason"`
	Tokens       *int64
	Target       struct{ Deployment, Model *string }
}

// clean fails on any finding but those of the fault that was asked for. A stall of a loaded machine is one of the model.
func (r *request) clean(t *testing.T, fault ...string) {
	for _, f := range r.Findings {
		require.Contains(t, append(fault, "stall", "slow_episode"), f.Kind)
		require.Equal(t, "server", f.Tier)
	}
	require.Empty(t, r.Conflicts)
}

// joined waits until a request is as complete as wanted and returns it.
func joined(t *testing.T, at client.Ready, id string, complete func(*request) bool) (r *request) {
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		res, err := http.Get("http://" + at.API + "/v1/requests/" + id)
		require.NoError(c, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(c, err)
		r = new(request)
		require.Equal(c, http.StatusOK, res.StatusCode, "%s: %s", id, body)
		require.NoError(c, json.Unmarshal(body, r), "%s: %s", id, body)
		require.True(c, complete(r), "%s is not joined: %s", id, body)
	}, time.Minute, 200*time.Millisecond)
	return r
}
