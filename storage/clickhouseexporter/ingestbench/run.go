package ingestbench

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	Collector float64 // CPU seconds of the collecting process for each million chunks
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
	w := NewWorkload(o.Streams, 42, Yesterday(), time.Hour)
	messages, err := w.Messages(o.PerMessage)
	if err != nil {
		return rep, err
	}
	var floors, ours []Cost
	var ratios []float64
	for i := range o.Runs {
		f, err := Measure(ctx, eng, Floor(w))
		if err != nil {
			return rep, err
		}
		u, err := Measure(ctx, eng, inProcess(w, messages, o.Dir, o.Group))
		if err != nil {
			return rep, err
		}
		floors, ours, ratios = append(floors, f), append(ours, u), append(ratios, u.Sum()/f.Sum())
		_, _ = fmt.Fprintf(o.Log, "run %d\n  floor %s\n  ours  %s\n  ratio %.2f\n", i+1, f, u, u.Sum()/f.Sum())
	}
	return Report{Floor: Medians(floors), Ours: Medians(ours), Ratio: Median(ratios)}, nil
}

// String shows a cost in one line.
func (c Cost) String() string {
	return fmt.Sprintf("%.3f CPU-s/M chunks (collector %.3f + ClickHouse %.3f), %.2f B/chunk (gaps %.2f), %.1f s, %.0f inserts",
		c.Sum(), c.Collector, c.Server, c.Bytes, c.Gaps, c.Seconds, c.Inserts)
}

// Variant is one way to bring chunks into ClickHouse.
type Variant struct {
	Name   string // also of the database that it gets for itself
	Table  string // whose bytes are counted
	Chunks int    // of one run
	// Prepare makes everything ready in an empty database; what it costs is not counted.
	Prepare func(ctx context.Context, conn driver.Conn, cfg clickhouse.Config) (*Prepared, error)
}

// Prepared is a variant that is ready to run. Run returns when everything can be queried.
type Prepared struct {
	PID        int // of the process whose CPU counts beside ClickHouse's
	Run, Close func() error
}

// Measure runs a variant once in a database of its own, which it drops afterwards.
func Measure(ctx context.Context, eng *engine.Engine, v Variant) (Cost, error) {
	c, err := measure(ctx, eng, v)
	if err != nil {
		return Cost{}, fmt.Errorf("%s: %w", v.Name, err)
	}
	return c, nil
}

func measure(ctx context.Context, eng *engine.Engine, variant Variant) (Cost, error) {
	name := "fermata_bench_" + variant.Name
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
	v, err := variant.Prepare(ctx, conn, cfg)
	if err != nil {
		return Cost{}, err
	}
	before, err := inserts(ctx, conn)
	if err != nil {
		return Cost{}, err
	}
	runtime.GC()
	self, server, begin := CPU(v.PID), CPU(eng.PID()), time.Now()
	if err := v.Run(); err != nil {
		return Cost{}, errors.Join(err, v.Close())
	}
	took := time.Since(begin)
	selfAfter := CPU(v.PID)
	if err := errors.Join(v.Close(), Settle(ctx, conn)); err != nil {
		return Cost{}, err
	}
	serverAfter := CPU(eng.PID())
	after, err := inserts(ctx, conn)
	if err != nil {
		return Cost{}, err
	}
	bytes, gaps, err := disk(ctx, conn, variant.Table)
	if err != nil {
		return Cost{}, err
	}
	if err := admin.Exec(ctx, "DROP DATABASE "+name+" SYNC"); err != nil {
		return Cost{}, err
	}
	chunks := float64(variant.Chunks)
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

// Settle waits until merges have nothing to do.
func Settle(ctx context.Context, conn driver.Conn) error {
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

// Medians returns the median of each part of the costs.
func Medians(c []Cost) Cost {
	pick := func(f func(Cost) float64) float64 {
		v := make([]float64, len(c))
		for i := range c {
			v[i] = f(c[i])
		}
		return Median(v)
	}
	return Cost{
		Collector: pick(func(c Cost) float64 { return c.Collector }), Server: pick(func(c Cost) float64 { return c.Server }),
		Seconds: pick(func(c Cost) float64 { return c.Seconds }),
		Bytes:   pick(func(c Cost) float64 { return c.Bytes }), Gaps: pick(func(c Cost) float64 { return c.Gaps }),
		Inserts: pick(func(c Cost) float64 { return c.Inserts }),
	}
}

// Median returns the middle value; v must not be empty.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}
