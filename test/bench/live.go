package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// watch runs `fermata up` and looks at its memory, idle and under load, and at how soon chunks of running streams are
// seen.
func (b *bench) watch(ctx context.Context) (err error) {
	p, at, err := b.up(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := pause(ctx, b.opt.live/2); err != nil { // what is only needed to start is given back
		return err
	}
	idle := b.memory(p.pid())
	b.print("\n### Running streams and memory\n\n| what | measured | wanted |\n|---|---|---|\n")
	b.print("| memory of `fermata up`, idle (engine included) | **%s** | ≤ 400 MB |\n", idle)

	seen, err := b.visible(ctx, at)
	if err != nil {
		return err
	}
	b.print("| chunk at the client → counted by a query, stream still running (%d chunks), p50 / p99 / max | %.2f / **%.2f** / %.2f s | ≤ 3 s |\n",
		len(seen), percentile(seen, 50), percentile(seen, 99), percentile(seen, 100))

	rate, loaded, err := b.load(ctx, at, p.pid())
	if err != nil {
		return err
	}
	b.print("| most memory at %.2f M chunks/s for %s | **%s** | ≤ 1.2 GB at 1 M chunks/s |\n", rate, b.opt.live, loaded)
	return nil
}

// up runs `fermata up` with more flags and waits until it is ready.
func (b *bench) up(ctx context.Context, flags ...string) (*process, client.Ready, error) {
	var at client.Ready
	data := filepath.Join(b.dir, "up")
	ready := filepath.Join(b.dir, "ready.json")
	args := []string{
		b.opt.fermata, "up", "--data", data, "--ready-file", ready,
		"--listen-api", "127.0.0.1:0", "--listen-ingest", "127.0.0.1:0", "--listen-tap", "127.0.0.1:0",
		"--listen-otlp-grpc", "127.0.0.1:0", "--listen-otlp-http", "127.0.0.1:0",
	}
	p, err := launch("fermata up", nil, append(args, flags...)...)
	if err != nil {
		return nil, at, err
	}
	if err := p.until(ctx, func() bool {
		raw, err := os.ReadFile(ready) //nolint:gosec // our own
		return err == nil && json.Unmarshal(raw, &at) == nil
	}); err != nil {
		return nil, at, errors.Join(err, p.stop())
	}
	return p, at, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// held is the resident memory of `fermata up`: its own and the engine's, in bytes.
type held struct{ own, engine int64 }

func (h held) sum() int64 { return h.own + h.engine }

func (h held) String() string {
	return fmt.Sprintf("%d MB (%d + engine %d)", h.sum()>>20, h.own>>20, h.engine>>20)
}

func (b *bench) memory(pid int) held {
	h := held{own: memoryOf(pid)}
	for _, c := range children(pid) {
		h.engine += memoryOf(c)
	}
	return h
}

// watched are streams at a time; more would load the machine and not tell more.
const watched = 8

// visible streams the built-in model through the tap and returns, for each chunk, the seconds from when the client had it
// until a query counted it.
func (b *bench) visible(ctx context.Context, at client.Ready) (_ []float64, err error) {
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(at.ClickHouse)
	conn, err := clickhouse.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	w := watcher{conn: conn, open: map[string][]time.Time{}, counted: map[string]int{}}
	until := time.Now().Add(b.opt.live)
	streams, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for i := range watched {
		wg.Go(func() {
			for n := 0; time.Now().Before(until) && streams.Err() == nil; n++ {
				if err := w.stream(streams, at.Tap, fmt.Sprintf("bench-%d-%d", i, n)); err != nil {
					stop(err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	var quiet <-chan time.Time
	for done := false; !done; {
		if err := w.look(ctx); err != nil {
			stop(err)
		}
		select {
		case <-over:
			over, quiet = nil, time.After(5*time.Second) // for the last segments
		case <-quiet:
			done = true
		case <-time.After(20 * time.Millisecond):
			done = quiet != nil && w.complete()
		}
	}
	wg.Wait()
	if err := context.Cause(streams); err != nil {
		return nil, err
	}
	if !w.complete() {
		return nil, errors.New("not every chunk was counted 5 s after its stream's end")
	}
	return w.took, nil
}

// watcher remembers when chunks reached the client and when they were counted.
type watcher struct {
	conn driver.Conn

	mu      sync.Mutex
	open    map[string][]time.Time // of each stream, when its chunks came
	counted map[string]int         // how many of them a query has counted
	took    []float64              // seconds
}

// stream reads one answer of the built-in model.
func (w *watcher) stream(ctx context.Context, tap, id string) error {
	body := `{"model":"demo","stream":true,"messages":[{"role":"user","content":"Tell me about pauses. ` + id + `"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+tap+"/demo/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the tap answers %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("data:")) {
			w.mu.Lock()
			w.open[id] = append(w.open[id], time.Now())
			w.mu.Unlock()
		}
	}
	return lines.Err()
}

// look counts what a query sees of the streams that are not complete.
func (w *watcher) look(ctx context.Context) error {
	w.mu.Lock()
	var ids []string
	for id, at := range w.open {
		if w.counted[id] < len(at) {
			ids = append(ids, id)
		}
	}
	w.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	rows, err := w.conn.Query(ctx, `SELECT request_id, sum(n) FROM (
		SELECT request_id, seq, argMax(n_chunks, version) AS n FROM streams WHERE request_id IN {ids:Array(String)} GROUP BY request_id, seq
	) GROUP BY request_id`, named("ids", ids))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	var seen []struct {
		id string
		n  uint64
	}
	for rows.Next() {
		var id string
		var n uint64
		if err := rows.Scan(&id, &n); err != nil {
			return err
		}
		seen = append(seen, struct {
			id string
			n  uint64
		}{id, n})
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range seen {
		at := w.open[s.id]
		for w.counted[s.id] < min(int(s.n), len(at)) { //nolint:gosec // a count
			w.took = append(w.took, now.Sub(at[w.counted[s.id]]).Seconds())
			w.counted[s.id]++
		}
	}
	return rows.Err()
}

func (w *watcher) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.open {
		if w.counted[id] < len(at) {
			return false
		}
	}
	return true
}

// streamsPerSecond make a million chunks a second.
const streamsPerSecond = 1_000_000 / ingestbench.ChunksPerStream

// load sends a million chunks a second and returns what was taken, in millions a second, and the most memory held.
func (b *bench) load(ctx context.Context, at client.Ready, pid int) (rate float64, most held, err error) {
	streams := int(b.opt.live.Seconds() * streamsPerSecond)
	w := ingestbench.NewWorkload(streams, 77, time.Now().Add(-b.opt.live), b.opt.live)
	bodies, err := w.Messages(perMessage)
	if err != nil {
		return 0, most, err
	}
	s, err := newGRPCSender(at.OTLPGRPC, exportLogs)
	if err != nil {
		return 0, most, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	const tick = 100 * time.Millisecond
	perTick := streamsPerSecond / perMessage / int(time.Second/tick)
	begin := time.Now()
	sent := 0
	for next := begin; sent < len(bodies); next = next.Add(tick) {
		if err := pause(ctx, time.Until(next)); err != nil {
			return 0, most, err
		}
		to := min(sent+perTick, len(bodies))
		if _, err := sendAll(ctx, s, bodies[sent:to], b.opt.conns); err != nil {
			return 0, most, err
		}
		sent = to
		if h := b.memory(pid); h.sum() > most.sum() {
			most = h
		}
	}
	return float64(streams*ingestbench.ChunksPerStream) / 1e6 / time.Since(begin).Seconds(), most, nil
}
