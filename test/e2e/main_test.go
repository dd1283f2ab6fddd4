package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// binary is bin/fermata, built once for the whole test run.
var binary string

// shared is the one `fermata up` that tests use unless they must kill it.
var shared struct {
	once sync.Once
	up   *up
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fermata-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "fermata")
	build := exec.Command("go", "build", "-o", binary, "github.com/fermata-io/fermata/collector/cmd/fermata")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	code := m.Run()
	if shared.up != nil {
		shared.up.interrupt()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// up is one running `fermata up`.
type up struct {
	API        string `json:"api"`
	Ingest     string `json:"ingest"`
	Tap        string `json:"tap"`
	OTLPgRPC   string `json:"otlp_grpc"`
	OTLPHTTP   string `json:"otlp_http"`
	ClickHouse string `json:"clickhouse"`
	PID        int    `json:"pid"`

	data  string
	cmd   *exec.Cmd
	log   *syncBuffer
	done  chan struct{} // closed when the process has ended
	ended error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs `fermata up` on data with every port chosen by the kernel and waits until it is ready.
func start(data string, args ...string) (*up, error) {
	ready := filepath.Join(data, "test-ready.json")
	_ = os.Remove(ready)
	all := append([]string{
		"up", "--data", data, "--ready-file", ready,
		"--listen-api", "127.0.0.1:0", "--listen-ingest", "127.0.0.1:0", "--listen-tap", "127.0.0.1:0",
		"--listen-otlp-grpc", "127.0.0.1:0", "--listen-otlp-http", "127.0.0.1:0",
	}, args...)
	u := &up{data: data, cmd: exec.Command(binary, all...), log: &syncBuffer{}, done: make(chan struct{})}
	u.cmd.Stdout, u.cmd.Stderr = u.log, u.log
	u.cmd.Env = append(os.Environ(), "FERMATA_DATA="+data)
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		u.ended = u.cmd.Wait()
		close(u.done)
	}()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-u.done:
			return nil, fmt.Errorf("fermata up ended: %w\n%s", u.ended, u.log)
		case <-deadline:
			_ = u.cmd.Process.Kill()
			return nil, fmt.Errorf("fermata up not ready after 3 min\n%s", u.log)
		case <-tick.C:
			b, err := os.ReadFile(ready)
			if errors.Is(err, os.ErrNotExist) || len(b) == 0 {
				continue
			}
			if err != nil {
				return nil, err
			}
			return u, json.Unmarshal(b, u)
		}
	}
}

// interrupt stops it as Ctrl-C does and waits.
func (u *up) interrupt() {
	_ = u.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-u.done:
	case <-time.After(2 * time.Minute):
		_ = u.cmd.Process.Kill()
		<-u.done
	}
}

// kill ends it without a chance to clean up.
func (u *up) kill() {
	_ = u.cmd.Process.Kill()
	<-u.done
}

// running returns the shared instance.
func running(t *testing.T) *up {
	t.Helper()
	shared.once.Do(func() {
		dir, err := os.MkdirTemp(filepath.Dir(binary), "data-")
		if err != nil {
			shared.err = err
			return
		}
		shared.up, shared.err = start(dir)
	})
	require.NoError(t, shared.err)
	return shared.up
}

func url(addr, path string) string {
	if strings.HasPrefix(addr, "http") {
		return addr + path
	}
	return "http://" + addr + path
}

func (u *up) post(t *testing.T, path, contentType string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(u.Ingest, path), bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", contentType)
	return do(t, req)
}

func (u *up) postJSON(t *testing.T, path string, v any) (int, []byte) {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return u.post(t, path, "application/json", b)
}

func (u *up) get(t *testing.T, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url(u.API, path), nil)
	require.NoError(t, err)
	return do(t, req)
}

func do(t *testing.T, req *http.Request) (int, []byte) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, b
}

// eventually asks for a request until ok says that the answer is complete.
func (u *up) eventually(t *testing.T, id string, ok func(map[string]any) bool) []byte {
	t.Helper()
	var last []byte
	require.Eventually(t, func() bool {
		code, b := u.get(t, "/v1/requests/"+id)
		last = b
		if code != http.StatusOK {
			return false
		}
		var m map[string]any
		return json.Unmarshal(b, &m) == nil && ok(m)
	}, 2*time.Minute, 50*time.Millisecond, "request %s never became what was waited for; last answer: %s", id, &last)
	return last
}

// fermata runs a command against u and returns its exit code and output.
func (u *up) fermata(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "FERMATA_DATA="+u.data, "NO_COLOR=1")
	var out, errb bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errb
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errb.String()
}
