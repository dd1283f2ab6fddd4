package ingestbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/engine"
)

// Options of a measurement. All are required.
type Options struct {
	Streams    int // of one run; 100 000 for workload W
	PerMessage int // streams in one OTLP request
	Runs       int // of each variant
	Dir        string
	Group      Grouping
	Log        io.Writer // a line for each run
}

// Cost of one run.
type Cost struct {
	Collector float64 // CPU seconds of this process for each million chunks
	Server    float64 // CPU seconds of ClickHouse for each million chunks, merges included
	Seconds   float64 // wall time until all is in
	Bytes     float64 // on disk for each chunk, once merged
	Gaps      float64 // of them the gaps
	Inserts   float64 // of which the run was made; smaller ones cost more
}

// Sum is the CPU of both processes.
func (c Cost) Sum() float64 { return c.Collector + c.Server }

// Report holds the medians of all runs and the median of the runs' ratios.
type Report struct {
	Floor, Ours Cost
	Ratio       float64 // CPU of ours ÷ floor
}

// Run measures. It starts an embedded engine in a folder of its own.
func Run(ctx context.Context, o Options) (rep Report, err error) {
	eng, err := engine.Start(ctx, engine.NewDefaultConfig(filepath.Join(o.Dir, "engine")), zap.NewNop())
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, eng.Stop(context.WithoutCancel(ctx))) }()
	w := newWorkload(o.Streams, 42)
	messages, err := w.messages(o.PerMessage)
	if err != nil {
		return rep, err
	}
	var floors, ours []Cost
	var ratios []float64
	for i := range o.Runs {
		f, err := measure(ctx, eng, w, "floor", i, func(conn driver.Conn, cfg clickhouse.Config) (variant, error) {
			return variant{
				run:   func() error { return runFloor(ctx, cfg, w) },
				close: func() error { return nil },
			}, conn.Exec(ctx, floorTable)
		})
		if err != nil {
			return rep, fmt.Errorf("floor: %w", err)
		}
		u, err := measure(ctx, eng, w, "streams", i, func(conn driver.Conn, cfg clickhouse.Config) (variant, error) {
			queue, err := os.MkdirTemp(o.Dir, "queue")
			if err != nil {
				return variant{}, err
			}
			p, err := newPipeline(ctx, cfg, queue, o.Group)
			if err != nil {
				return variant{}, err
			}
			return variant{
				run:   func() error { return p.send(ctx, conn, messages, w.len()) },
				close: func() error { return p.close(ctx) },
			}, nil
		})
		if err != nil {
			return rep, fmt.Errorf("ours: %w", err)
		}
		floors, ours, ratios = append(floors, f), append(ours, u), append(ratios, u.Sum()/f.Sum())
		_, _ = fmt.Fprintf(o.Log, "run %d\n  floor %s\n  ours  %s\n  ratio %.2f\n", i+1, f, u, u.Sum()/f.Sum())
	}
	return Report{Floor: medians(floors), Ours: medians(ours), Ratio: median(ratios)}, nil
}

// String shows a cost in one line.
func (c Cost) String() string {
	return fmt.Sprintf("%.3f CPU-s/M chunks (collector %.3f + ClickHouse %.3f), %.2f B/chunk (gaps %.2f), %.1f s, %.0f inserts",
		c.Sum(), c.Collector, c.Server, c.Bytes, c.Gaps, c.Seconds, c.Inserts)
}

// variant is what is measured, ready to run.
type variant struct{ run, close func() error }

func measure(ctx context.Context, eng *engine.Engine, w *workload, table string, run int,
	prepare func(driver.Conn, clickhouse.Config) (variant, error),
) (Cost, error) {
	name := fmt.Sprintf("fermata_bench_%s_%d", table, run)
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(eng.DSN(""))
	admin, err := clickhouse.Open(cfg)
	if err != nil {
		return Cost{}, err
	}
	defer func() { _ = admin.Close() }() // nothing is in flight
	if err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return Cost{}, err
	}
	cfg.DSN = configopaque.String(eng.DSN(name))
	conn, err := clickhouse.Open(cfg)
	if err != nil {
		return Cost{}, err
	}
	defer func() { _ = conn.Close() }() // nothing is in flight
	if err := clickhouse.Ping(ctx, conn); err != nil {
		return Cost{}, err
	}
	v, err := prepare(conn, cfg)
	if err != nil {
		return Cost{}, err
	}
	before, err := inserts(ctx, conn)
	if err != nil {
		return Cost{}, err
	}
	runtime.GC()
	self, server, begin := cpu(os.Getpid()), cpu(eng.PID()), time.Now()
	if err := v.run(); err != nil {
		return Cost{}, errors.Join(err, v.close())
	}
	took := time.Since(begin)
	selfAfter := cpu(os.Getpid())
	if err := errors.Join(v.close(), settle(ctx, conn)); err != nil {
		return Cost{}, err
	}
	serverAfter := cpu(eng.PID())
	after, err := inserts(ctx, conn)
	if err != nil {
		return Cost{}, err
	}
	bytes, gaps, err := disk(ctx, conn, table)
	if err != nil {
		return Cost{}, err
	}
	if err := admin.Exec(ctx, "DROP DATABASE "+name+" SYNC"); err != nil {
		return Cost{}, err
	}
	chunks := float64(w.len() * ChunksPerStream)
	return Cost{
		Collector: (selfAfter - self) / chunks * 1e6, Server: (serverAfter - server) / chunks * 1e6,
		Seconds: took.Seconds(), Bytes: bytes / chunks, Gaps: gaps / chunks,
		Inserts: float64(after - before),
	}, nil
}

// inserts counts the inserts of data since the engine started.
func inserts(ctx context.Context, conn driver.Conn) (n uint64, err error) {
	if err := conn.QueryRow(ctx, "SELECT sum(value) FROM system.events WHERE event = 'InsertQuery'").Scan(&n); err != nil {
		return 0, fmt.Errorf("inserts: %w", err)
	}
	return n, nil
}

// settle waits until merges have nothing to do.
func settle(ctx context.Context, conn driver.Conn) error {
	for quiet := 0; quiet < 5; quiet++ {
		var n uint64
		if err := conn.QueryRow(ctx, "SELECT count() FROM system.merges").Scan(&n); err != nil {
			return fmt.Errorf("merges: %w", err)
		}
		if n > 0 {
			quiet = 0
		}
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

func disk(ctx context.Context, conn driver.Conn, table string) (all, gaps float64, err error) {
	if err := conn.Exec(ctx, "OPTIMIZE TABLE "+table+" FINAL"); err != nil {
		return 0, 0, fmt.Errorf("optimize: %w", err)
	}
	var a, g uint64
	if err := conn.QueryRow(ctx, `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()
		AND table = {table:String}`, named("table", table)).Scan(&a); err != nil {
		return 0, 0, fmt.Errorf("parts: %w", err)
	}
	if err := conn.QueryRow(ctx, `SELECT sum(data_compressed_bytes) FROM system.columns WHERE database = currentDatabase()
		AND table = {table:String} AND name IN ('gaps', 'gaps_us')`, named("table", table)).Scan(&g); err != nil {
		return 0, 0, fmt.Errorf("columns: %w", err)
	}
	return float64(a), float64(g), nil
}

func medians(c []Cost) Cost {
	pick := func(f func(Cost) float64) float64 {
		v := make([]float64, len(c))
		for i := range c {
			v[i] = f(c[i])
		}
		return median(v)
	}
	return Cost{
		Collector: pick(func(c Cost) float64 { return c.Collector }), Server: pick(func(c Cost) float64 { return c.Server }),
		Seconds: pick(func(c Cost) float64 { return c.Seconds }),
		Bytes:   pick(func(c Cost) float64 { return c.Bytes }), Gaps: pick(func(c Cost) float64 { return c.Gaps }),
		Inserts: pick(func(c Cost) float64 { return c.Inserts }),
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}
