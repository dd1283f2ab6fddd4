// Package enginetest gives tests a real ClickHouse: one engine for each test binary, started at its first use, and a
// fresh database for each test. A missing engine fails the test and says what to run; nothing is ever skipped.
//
//	func TestMain(m *testing.M) { enginetest.Main(m) }
//
//	func TestX(t *testing.T) {
//		eng := enginetest.Start(t)
//		dsn := eng.DSN(eng.NewDatabase(t))
//		…
//	}
package enginetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/engine"
)

// Engine is the test binary's running engine.
type Engine struct {
	*engine.Engine
}

const startTimeout = 90 * time.Second

// shared is the one engine of this process: a test binary's resource, ended by Main.
var shared struct {
	once sync.Once
	dir  string
	eng  *engine.Engine
	err  error
}

var databases atomic.Uint64

// Main runs the tests of a package, stops the engine when one was started, and checks that no goroutine is left. opts
// go to goleak. It does not return.
func Main(m *testing.M, opts ...goleak.Option) {
	engine.MaybeRunChild()
	goleak.VerifyTestMain(runner{m}, opts...)
}

// MaybeRunChild is for a TestMain that does more than Main: call it first, and Stop last.
func MaybeRunChild() { engine.MaybeRunChild() }

type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop engine:", err)
		return max(code, 1)
	}
	return code
}

// Stop ends the engine, if one runs, and removes its folder.
func Stop() error {
	if shared.eng == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := shared.eng.Stop(ctx)
	shared.eng = nil
	if rm := os.RemoveAll(shared.dir); err == nil {
		err = rm
	}
	return err
}

// Start returns the test binary's engine, starting it when it is the first to ask.
func Start(t testing.TB) *Engine {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "fermata-engine-"); shared.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		shared.eng, shared.err = engine.Start(ctx, Config(shared.dir), zap.NewNop())
		if shared.err != nil {
			_ = os.RemoveAll(shared.dir)
		}
	})
	if shared.err != nil {
		t.Fatalf("this test needs the real engine: %v", shared.err)
	}
	return &Engine{shared.eng}
}

// Config returns the settings tests run the engine with.
func Config(dir string) engine.Config {
	cfg := engine.NewDefaultConfig(dir)
	cfg.MaxMemoryBytes = 1536 << 20
	cfg.ProbeInterval = time.Second
	cfg.StopTimeout = 5 * time.Second
	return cfg
}

// NewDatabase creates an empty database for this test alone and drops it when the test ends.
func (e *Engine) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("fermata_test_%d", databases.Add(1))
	conn := e.Open(t, "")
	exec := func(query string) error {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return conn.Exec(ctx, query)
	}
	if err := exec("CREATE DATABASE `" + name + "`"); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		// The test may have killed the engine; it is back in a moment.
		var err error
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if err = exec("DROP DATABASE IF EXISTS `" + name + "` SYNC"); err == nil {
				return
			}
		}
		t.Errorf("drop test database: %v", err)
	})
	return name
}

// Open returns a connection to a database, closed when the test ends.
func (e *Engine) Open(t testing.TB, database string) driver.Conn {
	t.Helper()
	opts, err := clickhouse.ParseDSN(e.DSN(database))
	if err != nil {
		t.Fatalf("engine's DSN: %v", err)
	}
	conn, err := clickhouse.Open(opts)
	if err != nil {
		t.Fatalf("open engine: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
