package clickhouseexporter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/processors/groupcommitprocessor"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/engine"
	"github.com/fermata-io/fermata/storage/migrations"
)

// collectorEnv makes the test binary a small collector in the folder it names: embedded engine, file storage with fsync,
// group commit and exporter, with an HTTP endpoint that makes streams. It is there to be killed.
const collectorEnv = "FERMATA_TEST_COLLECTOR"

// collectorReady is what it prints once it serves.
type collectorReady struct {
	Addr, DSN string
	EnginePID int
}

var collectorEpoch = time.Now().UTC().Truncate(24 * time.Hour)

func runTestCollector(dir string) {
	if err := serveTestCollector(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveTestCollector(dir string) (err error) {
	ctx := context.Background()
	eng, err := engine.Start(ctx, engine.NewDefaultConfig(filepath.Join(dir, "engine")), zap.NewNop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Stop(ctx)) }()
	cfg := NewDefaultConfig()
	cfg.ClickHouse.DSN = configopaque.String(eng.DSN("fermata"))
	cfg.Queue.Get().StorageID = &storageID
	opts, err := cfg.ClickHouse.Options()
	if err != nil {
		return err
	}
	if _, err := migrations.Up(ctx, opts, nil); err != nil {
		return err
	}
	queueDir := filepath.Join(dir, "queue")
	if err := os.MkdirAll(queueDir, 0o700); err != nil {
		return err
	}
	store, err := openStorage(ctx, queueDir, nil)
	if err != nil {
		return err
	}
	exp, err := NewFactory().CreateLogs(ctx, settings(), cfg)
	if err != nil {
		return err
	}
	if err := exp.Start(ctx, host{storageID: store}); err != nil {
		return err
	}
	gc := groupcommitprocessor.NewFactory()
	proc, err := gc.CreateLogs(ctx, processortest.NewNopSettings(gc.Type()), gc.CreateDefaultConfig(), exp)
	if err != nil {
		return err
	}
	if err := proc.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/engine" {
			pid := 0
			if eng.Healthy() {
				pid = eng.PID()
			}
			_, _ = fmt.Fprint(w, pid)
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		if err := proc.ConsumeLogs(r.Context(), streamLogs(from, from+n, 200, collectorEpoch)); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = srv.Serve(ln) }()
	if err := json.NewEncoder(os.Stdout).Encode(collectorReady{ln.Addr().String(), eng.DSN("fermata"), eng.PID()}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
	return errors.Join(srv.Close(), proc.Shutdown(ctx), exp.Shutdown(ctx), store.Shutdown(ctx))
}

// testCollector is that process as the test sees it.
type testCollector struct {
	collectorReady
	cmd   *exec.Cmd
	stdin io.Closer
	out   io.Closer
}

func startCollector(t *testing.T, dir string) *testCollector {
	t.Helper()
	c := &testCollector{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), collectorEnv+"="+dir)
	c.cmd.Stderr = os.Stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err, "the collector did not start")
	require.NoError(t, json.Unmarshal(line, &c.collectorReady))
	c.out = out
	return c
}

// enginePID returns the process of the engine, or 0 while it restarts.
func (c *testCollector) enginePID(t *testing.T) int {
	t.Helper()
	resp, err := http.Get("http://" + c.Addr + "/engine")
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	pid, err := strconv.Atoi(string(b))
	require.NoError(t, err)
	return pid
}

// kill ends it as the kernel's out-of-memory killer would.
func (c *testCollector) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *testCollector) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, c.stdin.Close())
	require.NoError(t, c.cmd.Wait())
}

func connect(t *testing.T, dsn string) clickhouseConn {
	t.Helper()
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(dsn)
	conn, err := clickhouse.Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
