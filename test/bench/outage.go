package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
	"github.com/fermata-io/fermata/storage/engine"
)

// outage measures a database that is away while streams go on coming: first it hangs (SIGSTOP), then it is killed, then it
// comes back. After that what happens once the queue is full, and under ten times the callers that are let in.
func (b *bench) outage(ctx context.Context) error {
	if err := b.away(ctx); err != nil {
		return err
	}
	if err := b.full(ctx); err != nil {
		return fmt.Errorf("full queue: %w", err)
	}
	if err := b.overload(ctx); err != nil {
		return fmt.Errorf("overload: %w", err)
	}
	return nil
}

// away runs `fermata up` on an engine of its own through an outage of opt.away.
func (b *bench) away(ctx context.Context) (err error) {
	eng, err := b.ownEngine(ctx, 0)
	if err != nil {
		return err
	}
	defer func() {
		if eng != nil { // it came back
			err = errors.Join(err, eng.Stop(context.WithoutCancel(ctx)))
		}
	}()
	dsn := eng.DSN("fermata")
	p, at, err := b.up(ctx, "--clickhouse", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	l := &steady{addr: at.OTLPGRPC, rate: b.opt.awayRate}
	running, end := context.WithCancel(ctx)
	defer end()
	sent := make(chan error, 1)
	go func() { sent <- l.run(running) }()

	watch := func(name string, d time.Duration) error {
		l.phase(name)
		for until := time.Now().Add(d); time.Now().Before(until); {
			l.see(ownMemoryOf(p.pid()), memoryOf(p.pid()))
			select {
			case err := <-sent:
				return fmt.Errorf("%s: sending ended: %w\n%s", name, err, p.out)
			case <-p.ended:
				return fmt.Errorf("%s: %w\n%s", name, p.err, p.out)
			case <-time.After(min(time.Second, d/4)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	const settle = 4 // parts of an outage that load runs before it
	if err := watch("before", b.opt.away/settle); err != nil {
		return err
	}
	begin := time.Now()
	if err := syscall.Kill(eng.PID(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the engine: %w", err)
	}
	if err := watch("ClickHouse hangs (SIGSTOP)", b.opt.away/2); err != nil {
		return err
	}
	kill, now := context.WithCancel(ctx)
	now() // at once, not in order
	if err := eng.Stop(kill); err != nil {
		return err
	}
	if err := watch("ClickHouse is gone (SIGKILL)", b.opt.away/2); err != nil {
		return err
	}
	queue := onDisk(filepath.Join(b.dir, "up", "queue"))
	_, port, err := net.SplitHostPort(eng.Addr())
	if err != nil {
		return err
	}
	tcp, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	if eng, err = b.ownEngine(ctx, tcp); err != nil {
		return err
	}
	away, back := time.Since(begin), time.Now()
	db, err := b.openDatabase("fermata", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	stored, joined, err := l.caughtUp(ctx, db.conn, func() error { return watch("catching up", time.Second) })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.out)
	}
	if err := watch("after", b.opt.away/settle); err != nil {
		return err
	}
	end()
	if err := <-sent; err != nil {
		return fmt.Errorf("%w\n%s", err, p.out)
	}
	lost, err := l.complete(ctx, db.conn)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.out)
	}
	b.print("\n### Outage\n\n%d streams of %d chunks a minute; ClickHouse away for %s: half of it hanging, half of it gone.\n\n", l.rate, ingestbench.ChunksPerStream, away.Round(time.Second))
	b.print("| phase | acknowledged | refused | acknowledged after, p50 / p99 / max | memory of `fermata up`, least / most; with the queue's mapped file |\n|---|---|---|---|---|\n")
	for _, ph := range l.phases {
		b.print("| %s | %d | %d | %.1f / %.1f / %.0f ms | %d / %d; %d MB |\n", ph.name, ph.streams, ph.busy,
			percentile(ph.took, 50), percentile(ph.took, 99), percentile(ph.took, 100), ph.least>>20, ph.most>>20, ph.withFiles>>20)
	}
	since := func(t time.Time) float64 { return t.Sub(back).Seconds() }
	b.print("\n| what | measured | wanted |\n|---|---|---|\n")
	b.print("| acknowledged streams that are not stored once with every chunk, of %d | **%d** | 0 |\n", l.acked(), lost)
	b.print("| queue on disk when ClickHouse came back | %.1f MB | – |\n", float64(queue)/1e6)
	b.print("| all stored that had come, after the return | **%.1f s** (%.0f s of outage a second; an hour: %.1f min) | an hour in ≤ 15 min |\n",
		since(stored), away.Seconds()/since(stored), 60*since(stored)/away.Seconds())
	b.print("| all joined that had come, after the return | **%.1f s** (%.0f s of outage a second; an hour: %.1f min) | the same |\n",
		since(joined), away.Seconds()/since(joined), 60*since(joined)/away.Seconds())
	if lost > 0 {
		return fmt.Errorf("%d of %d acknowledged streams are not stored once with every chunk\n%s", lost, l.acked(), p.out)
	}
	return nil
}

// ownEngine starts an engine that nobody takes for dead while it hangs.
func (b *bench) ownEngine(ctx context.Context, port int) (*engine.Engine, error) {
	cfg := engine.NewDefaultConfig(filepath.Join(b.dir, "outage"))
	cfg.TCPPort, cfg.HangTimeout = port, 24*time.Hour
	return engine.Start(ctx, cfg, zap.NewNop())
}

// onDisk is the size of the files of a folder, in bytes.
func onDisk(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what is gone meanwhile has no size
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}

// steady sends so many streams a minute, evenly, each request again until it is acknowledged.
type steady struct {
	addr string
	rate int

	mu     sync.Mutex
	phases []*phase
	log    []ack
}

// phase is what was seen between two events.
type phase struct {
	name        string
	streams     int       // acknowledged
	busy        int       // answers to come again
	took        []float64 // ms until a request was acknowledged
	least, most int64     // bytes of memory, without pages of files
	withFiles   int64     // most bytes with those of the queue's file
}

// ack says how many streams had been acknowledged at an instant.
type ack struct {
	at      time.Time
	streams int
}

func (l *steady) phase(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.phases); n == 0 || l.phases[n-1].name != name {
		l.phases = append(l.phases, &phase{name: name})
	}
}

func (l *steady) see(memory, withFiles int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.phases[len(l.phases)-1]
	if p.least == 0 || memory < p.least {
		p.least = memory
	}
	p.most = max(p.most, memory)
	p.withFiles = max(p.withFiles, withFiles)
}

// run sends until ctx ends.
func (l *steady) run(ctx context.Context) (err error) {
	s, err := newGRPCSender(l.addr, exportLogs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	per := max(1, l.rate/1200) // some twenty requests a second at most
	tick := time.Minute * time.Duration(per) / time.Duration(l.rate)
	next := time.Now()
	for round := 0; ; round++ {
		// A round's streams have just ended when they are sent.
		const lasts = 30 * time.Second
		w := ingestbench.NewWorkload(max(per, l.rate/6), uint64(1000+round), time.Now().Add(-lasts), 10*time.Second)
		bodies, err := w.Messages(per)
		if err != nil {
			return err
		}
		for i, body := range bodies {
			if pause(ctx, time.Until(next)) != nil {
				return nil
			}
			next = next.Add(tick)
			if err := l.send(ctx, s, body, min(per, w.Len()-i*per)); err != nil {
				return err
			}
		}
	}
}

// send hands one request on. The one that runs when ctx ends is finished, or it would be unknown whether it was taken.
func (l *steady) send(ctx context.Context, s sender, body []byte, streams int) error {
	for begin := time.Now(); ; {
		err := s.send(context.WithoutCancel(ctx), body)
		l.mu.Lock()
		p := l.phases[len(l.phases)-1]
		if err == nil {
			now := time.Now()
			p.streams += streams
			p.took = append(p.took, float64(now.Sub(begin).Microseconds())/1e3)
			l.log = append(l.log, ack{now, l.last() + streams})
		} else {
			p.busy++
		}
		l.mu.Unlock()
		if err == nil || !errors.Is(err, errBusy) {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil //nolint:nilerr // refused to the end: not taken
		}
	}
}

func (l *steady) last() int {
	if len(l.log) == 0 {
		return 0
	}
	return l.log[len(l.log)-1].streams
}

// ackedBefore returns how many streams had been acknowledged at an instant.
func (l *steady) ackedBefore(at time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.log, at, func(a ack, t time.Time) int { return a.at.Compare(t) })
	if i == 0 {
		return 0
	}
	return l.log[i-1].streams
}

func (l *steady) acked() int { return l.ackedBefore(time.Now().Add(time.Hour)) }

// fresh is how old a record may be that is not stored or joined yet in ordinary running.
const fresh = 3 * time.Second

// caughtUp returns when everything was stored, and when everything was joined, that had come but for the last moments.
func (l *steady) caughtUp(ctx context.Context, conn driver.Conn, wait func() error) (stored, joined time.Time, err error) {
	for deadline := time.Now().Add(time.Hour); stored.IsZero() || joined.IsZero(); {
		if time.Now().After(deadline) {
			return stored, joined, errors.New("not caught up an hour after the return")
		}
		want := uint64(l.ackedBefore(time.Now().Add(-fresh))) //nolint:gosec // a count
		for _, q := range []struct {
			table string
			at    *time.Time
		}{{"streams", &stored}, {"requests", &joined}} {
			if !q.at.IsZero() {
				continue
			}
			var n uint64
			if err := conn.QueryRow(ctx, "SELECT uniqExact(request_id) FROM "+q.table).Scan(&n); err != nil {
				return stored, joined, fmt.Errorf("count %s: %w", q.table, err)
			}
			if n >= want {
				*q.at = time.Now()
			}
		}
		if err := wait(); err != nil {
			return stored, joined, err
		}
	}
	return stored, joined, nil
}

// complete returns how many acknowledged streams are not there once with all their chunks.
func (l *steady) complete(ctx context.Context, conn driver.Conn) (int, error) {
	want := l.acked()
	// More than that would be as wrong, but for the one request that was refused or cut off at the end.
	if err := waitFor(ctx, conn, "SELECT uniqExact(request_id) FROM streams", want); err != nil {
		return 0, err
	}
	var whole uint64
	err := conn.QueryRow(ctx, `SELECT countIf(n = {n:UInt64} AND keys = 1) FROM (
		SELECT request_id, argMax(n_chunks, version) AS n, uniqExact(tenant, tier, attempt, emitter, started_at, seq) AS keys
		FROM streams GROUP BY request_id)`, named("n", uint64(ingestbench.ChunksPerStream))).Scan(&whole)
	if err != nil {
		return 0, fmt.Errorf("count whole streams: %w", err)
	}
	return want - int(whole), nil
}

// full sends to a collector without a database, whose queue is small, until it refuses; then the database comes and all that
// was acknowledged must arrive.
func (b *bench) full(ctx context.Context) (err error) {
	away, err := freeAddr()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "full-")
	if err != nil {
		return err
	}
	const room = 4 << 20
	small := fmt.Sprintf("BENCH_QUEUE_BYTES=%d", room)
	f, err := b.startFermata(ctx, "clickhouse://"+away+"/fermata", dir, small)
	if err != nil {
		return err
	}
	taken, refused, err := fill(ctx, f.ingest, room)
	before := memoryOf(f.pid())
	err = errors.Join(err, f.cmd.Process.Kill())
	<-f.ended
	if err != nil {
		return fmt.Errorf("%w\n%s", err, f.out)
	}
	db, err := b.newDatabase(ctx, "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	if f, err = b.startFermata(ctx, string(db.cfg.DSN), dir, small); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	if err := waitFor(ctx, db.conn, "SELECT uniqExact(request_id) FROM streams", taken); err != nil {
		return fmt.Errorf("after a kill: %w\n%s", err, f.out)
	}
	b.print("| a queue of %d MB fills, ClickHouse away | %d streams with 200, then %s; %d MB; killed, and all %d are stored | 503 with Retry-After |\n",
		room>>20, taken, refused, before>>20, taken)
	return nil
}

// fill posts streams until one is refused, and returns how many were taken and how it was refused. A queue that holds eight
// times its size in JSON has no end.
func fill(ctx context.Context, addr string, room int) (taken int, refused string, err error) {
	const streams = 50
	for round, sent := 0, 0; sent < 8*room; round++ {
		w := ingestbench.NewWorkload(streams, uint64(5000+round), time.Now().Add(-time.Minute), time.Second)
		bodies, err := jsonMessages(w)
		if err != nil {
			return taken, "", err
		}
		for _, body := range bodies {
			sent += len(body)
			a, err := post(ctx, http.DefaultClient, addr, body)
			switch {
			case err != nil:
				return taken, "", err
			case a.status == http.StatusOK:
				taken += streams
			case a.status == http.StatusServiceUnavailable && a.retryAfter != "":
				return taken, fmt.Sprintf("503 with Retry-After: %s", a.retryAfter), nil
			default:
				return taken, "", fmt.Errorf("answer %d with Retry-After %q; want 503 with it", a.status, a.retryAfter)
			}
		}
	}
	return taken, "", fmt.Errorf("%d streams were taken: the queue has no end", taken)
}
