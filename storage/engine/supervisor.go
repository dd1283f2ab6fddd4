package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/freeport"
)

// Engine is a running, supervised ClickHouse. Its methods may be called from any goroutine.
type Engine struct {
	cfg   Config
	log   *zap.Logger
	lib   string
	lock  *os.File
	creds credentials
	tcp   int
	http  int // NoPort: none
	probe driver.Conn

	stop     context.CancelFunc // asks run to end
	stopOnce sync.Once
	done     chan struct{} // closed when run has ended

	mu       sync.Mutex
	child    *child // nil between two children
	healthy  bool
	restarts uint64
	stopErr  error
}

const firstBackoff = 100 * time.Millisecond

// Start runs the engine and returns when it answers queries, or with the reason why it doesn't. ctx bounds the
// start only; the engine runs until [Engine.Stop]. Errors: ErrNoLibrary, ErrLocked, a port in use, a damaged or too
// new data folder (with the engine's own words), ctx's.
func Start(ctx context.Context, cfg Config, log *zap.Logger) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("engine: data folder: %w", err)
	}
	cfg.DataDir = dir
	lib, err := FindLibrary(cfg.Library)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: make data folder: %w", err)
	}
	lock, err := lockDir(ctx, cfg.path("lock"), cfg.LockTimeout, log)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{cfg: cfg, log: log, lib: lib, lock: lock}
	if e.creds, err = prepareDir(&cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: %w", err), lock.Close())
	}
	// A chosen port can be taken by another program before the engine binds it.
	for range 3 {
		if err = e.startOnce(ctx); err == nil || !errors.Is(err, errPortTaken) || cfg.TCPPort != 0 {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("engine: %w", err), lock.Close())
	}
	return e, nil
}

// startOnce chooses the ports, runs the supervisor and waits for the first answer.
func (e *Engine) startOnce(ctx context.Context) (err error) {
	if e.tcp, err = pickPort("tcp_port", e.cfg.TCPPort); err != nil {
		return err
	}
	if e.http, err = pickPort("http_port", e.cfg.HTTPPort); err != nil {
		return err
	}
	if e.probe, err = e.openProbe(); err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(context.Background())
	e.stop, e.done = stop, make(chan struct{})
	first := make(chan error, 1)
	go e.run(runCtx, first)

	select {
	case err = <-first:
	case <-ctx.Done():
		err = fmt.Errorf("start cancelled: %w", ctx.Err())
	}
	if err != nil {
		stop()
		<-e.done
		return errors.Join(err, e.probe.Close())
	}
	e.log.Info("engine started", zap.String("address", e.Addr()), zap.Int("pid", e.PID()),
		zap.String("data_dir", e.cfg.DataDir), zap.String("library", e.lib))
	return nil
}

var errPortTaken = errors.New("the port was taken")

// pickPort checks that a given port is free, or chooses one.
func pickPort(key string, port int) (int, error) {
	switch port {
	case NoPort:
		return NoPort, nil
	case 0:
		return freeport.Pick()
	}
	l, err := net.Listen("tcp", loopback(port)) //nolint:noctx // returns at once
	if err != nil {
		return 0, fmt.Errorf("%s: %s can't be listened on (%w); choose another or 0", key, loopback(port), err)
	}
	return port, l.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// run keeps one child after another alive until ctx ends. The first one's fate goes to first.
func (e *Engine) run(ctx context.Context, first chan<- error) {
	defer close(e.done)
	// The kernel sends a child its parent-death signal when the *thread* that made it ends; this one lives as
	// long as the supervisor does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	backoff := firstBackoff
	started := false
	for {
		up, err := e.runChildOnce(ctx, func() {
			if !started {
				started = true
				first <- nil
			}
		})
		e.setChild(nil)
		if ctx.Err() != nil || !started {
			if !started {
				if err == nil {
					err = ctx.Err()
				}
				first <- err
			}
			e.stopErr = err
			return
		}
		if up > time.Minute {
			backoff = firstBackoff
		}
		e.mu.Lock()
		e.restarts++
		e.mu.Unlock()
		e.log.Error("engine died; restarting", zap.Error(err), zap.Duration("after", up), zap.Duration("pause", backoff))
		if sleep(ctx, backoff) != nil {
			return
		}
		backoff = min(2*backoff, e.cfg.RestartBackoffMax)
	}
}

// runChildOnce starts one child and returns when it has ended, with the time it was up. Its error says why.
func (e *Engine) runChildOnce(ctx context.Context, ready func()) (time.Duration, error) {
	c, err := e.spawn()
	if err != nil {
		return 0, err
	}
	e.setChild(c)
	begin := time.Now()
	wasReady := false
	lastOK := begin
	pause := 10 * time.Millisecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-c.exited:
			err := c.err()
			if !wasReady && portTaken(e.tcp) {
				err = fmt.Errorf("%w: %w", errPortTaken, err)
			}
			return time.Since(begin), err
		case <-ctx.Done():
			return time.Since(begin), e.end(c, wasReady)
		case <-timer.C:
		}
		err := e.ping(ctx)
		switch {
		case err == nil:
			lastOK = time.Now()
			e.setHealthy(true) // before anyone is told that it is ready
			if !wasReady {
				wasReady = true
				ready()
			}
			pause = e.cfg.ProbeInterval
		case !wasReady:
			pause = min(pause*3/2, 200*time.Millisecond)
			if time.Since(begin) > e.cfg.StartTimeout {
				c.kill()
				return time.Since(begin), fmt.Errorf("not ready after %s (start_timeout): %w; %w", e.cfg.StartTimeout, err, c.err())
			}
		default:
			e.setHealthy(false)
			pause = min(time.Second, e.cfg.ProbeInterval)
			if silent := time.Since(lastOK); silent > e.cfg.HangTimeout {
				c.kill()
				return time.Since(begin), fmt.Errorf("no answer for %s (hang_timeout): %w", silent.Round(time.Second), err)
			}
		}
		timer.Reset(pause)
	}
}

func portTaken(port int) bool {
	_, err := pickPort("", port)
	return err != nil
}

// end asks the child to end and kills it when it doesn't.
func (e *Engine) end(c *child, wasReady bool) error {
	if wasReady {
		ctx, cancel := context.WithTimeout(context.Background(), e.cfg.StopTimeout)
		defer cancel()
		// The start-up query is what keeps the engine there; it alone has no user's name.
		if err := e.probe.Exec(ctx, "KILL QUERY WHERE user = '' ASYNC"); err == nil {
			_ = e.probe.Close()               // it would be waited for
			_, _ = c.stdin.Write([]byte{'q'}) // fails only when the child is gone already
			select {
			case <-c.exited:
				return nil
			case <-ctx.Done():
				e.log.Warn("engine did not stop in time; killing it", zap.Duration("stop_timeout", e.cfg.StopTimeout))
			}
		}
	}
	c.kill()
	return nil
}

// Stop ends the engine and frees the data folder. It returns when the child is gone: cleanly, or killed after
// StopTimeout or when ctx ends. Later calls do nothing.
func (e *Engine) Stop(ctx context.Context) error {
	var err error
	e.stopOnce.Do(func() {
		e.stop()
		select {
		case <-e.done:
		case <-ctx.Done():
			e.mu.Lock()
			c := e.child
			e.mu.Unlock()
			if c != nil {
				c.kill()
			}
			<-e.done
		}
		err = errors.Join(e.probe.Close(), e.lock.Close())
		e.log.Info("engine stopped")
	})
	return err
}

// Addr returns the native protocol's address, host:port. It stays the same over restarts.
func (e *Engine) Addr() string { return loopback(e.tcp) }

// HTTPAddr returns the HTTP interface's address, or "" when it is off.
func (e *Engine) HTTPAddr() string {
	if e.http == NoPort {
		return ""
	}
	return loopback(e.http)
}

// DSN returns the data source name of a database for the user fermata. It holds the password.
func (e *Engine) DSN(database string) string { return e.dsn(UserFermata, e.creds.Fermata, database) }

// ReaderDSN returns the data source name of a database for the read-only user. It holds the password.
func (e *Engine) ReaderDSN(database string) string {
	return e.dsn(UserReader, e.creds.Reader, database)
}

func (e *Engine) dsn(user, password, database string) string {
	u := url.URL{Scheme: "clickhouse", User: url.UserPassword(user, password), Host: e.Addr(), Path: "/" + database}
	return u.String()
}

// PID returns the child's process id, or 0 while there is none.
func (e *Engine) PID() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.child == nil {
		return 0
	}
	return e.child.cmd.Process.Pid
}

// Healthy reports whether the last probe was answered. It is false while the engine restarts.
func (e *Engine) Healthy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.healthy
}

// Restarts returns how often the engine was restarted since Start.
func (e *Engine) Restarts() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.restarts
}

func (e *Engine) setChild(c *child) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.child = c
	e.healthy = false
}

func (e *Engine) setHealthy(ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.healthy = ok
}
