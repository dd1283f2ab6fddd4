// Command joinerbench measures the rows of joined requests (docs/benchmarks.md) on a database that joinbench has loaded:
// how many requests the joiner joins in a second and what that costs, and how long windows and lists take; or, while joinbench
// inserts them, what a joiner costs that keeps up, and where ClickHouse's time goes, if it keeps a query log and a part log.
//
//	joinbench -dsn clickhouse://127.0.0.1:9000/bench -pid PID -n 2000000 load
//	joinerbench -dsn clickhouse://127.0.0.1:9000/bench -pid PID fill window list
//
//	joinbench -dsn clickhouse://127.0.0.1:9000/bench reset
//	joinerbench -dsn clickhouse://127.0.0.1:9000/bench -pid PID -while 'joinbench -dsn … -n 300000 -hours 0.6 -pace 3 arrive' follow
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sort"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
	"github.com/fermata-io/fermata/storage/requests"
)

type bench struct {
	dsn  string
	conn driver.Conn
	pid  int
	runs int
	// while is what follow runs beside the joiner.
	while string
}

func main() {
	log.SetFlags(0)
	b := bench{}
	flag.StringVar(&b.dsn, "dsn", "", "ClickHouse with the loaded database")
	flag.IntVar(&b.pid, "pid", 0, "process whose CPU time is ClickHouse's; 0: not measured")
	flag.IntVar(&b.runs, "runs", 9, "repetitions of a query")
	flag.StringVar(&b.while, "while", "", "command that inserts what follow follows")
	flag.Parse()
	opts, err := clickhouse.ParseDSN(b.dsn)
	if err != nil || flag.NArg() == 0 {
		log.Fatalf("joinerbench -dsn DSN [fill|follow] [window] [list]: %v", err)
	}
	opts.ReadTimeout = 10 * time.Minute
	if b.conn, err = clickhouse.Open(opts); err != nil {
		log.Fatal(err)
	}
	steps := map[string]func(context.Context) error{"fill": b.fill, "follow": b.follow, "window": b.window, "list": b.list}
	for _, s := range flag.Args() {
		if steps[s] == nil {
			log.Fatalf("%s: unknown step", s)
		}
		if err := steps[s](context.Background()); err != nil {
			log.Fatalf("%s: %v", s, err)
		}
	}
}

// fill runs a joiner from nothing until every request has its row.
func (b *bench) fill(ctx context.Context) error {
	for _, sql := range []string{"TRUNCATE TABLE requests", "TRUNCATE TABLE joiner_progress"} {
		if err := b.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	var want uint64
	err := b.conn.QueryRow(ctx, idsSQL).Scan(&want)
	if err != nil {
		return err
	}
	ext, err := b.joiner(ctx)
	if err != nil {
		return err
	}
	start, cpu, own := time.Now(), b.cpu(), self()
	if err := ext.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	rows := uint64(0)
	for rows < want {
		time.Sleep(500 * time.Millisecond)
		if err := b.conn.QueryRow(ctx, "SELECT uniqExact(request_id) FROM requests").Scan(&rows); err != nil {
			return err
		}
	}
	took, chCPU, ownCPU := time.Since(start).Seconds(), b.cpu()-cpu, self()-own
	if err := ext.Shutdown(ctx); err != nil {
		return err
	}
	if err := b.merged(ctx); err != nil {
		return err
	}
	m := float64(want) / 1e6
	fmt.Printf("fill: %d requests in %.1f s, %.0f/s; CPU-s per M requests: joiner %.1f, ClickHouse %.1f, with merges %.1f\n",
		want, took, float64(want)/took, ownCPU/m, chCPU/m, (b.cpu()-cpu)/m)
	return b.disk(ctx, want)
}

// window asks the last hour's perceived − server by model.
func (b *bench) window(ctx context.Context) error {
	end, err := b.last(ctx)
	if err != nil {
		return err
	}
	const at = "2006-01-02 15:04:05"
	return b.timed(ctx, "last hour, perceived - server by model", fmt.Sprintf(
		`SELECT model, quantileDD(0.005, 0.99)(gap_us), count()
		FROM joined_requests(tenant = 'default', since = '%s', until = '%s') WHERE gap_us IS NOT NULL GROUP BY model ORDER BY model`,
		end.Add(-time.Hour).Format(at), end.Format(at)))
}

func (b *bench) last(ctx context.Context) (end time.Time, err error) {
	err = b.conn.QueryRow(ctx, "SELECT max(started_at) FROM requests").Scan(&end)
	return end.Add(time.Second), err
}

// list asks for pages: the newest, one in the middle, one of a rare filter, one of a filter that nothing fits.
func (b *bench) list(ctx context.Context) error {
	end, err := b.last(ctx)
	if err != nil {
		return err
	}
	store := requests.New(b.conn, requests.ReadLimits{})
	day := requests.Filter{Since: end.Add(-24 * time.Hour), Until: end}
	middle, rare, nothing := day, day, day
	middle.Until = end.Add(-2 * time.Hour)
	rare.Model, rare.State = "m-long", requests.StateRunning
	nothing.Model = "no such"
	for _, f := range []struct {
		name   string
		filter requests.Filter
	}{{"list, newest page", day}, {"list, page in the middle", middle}, {"list, rare filter", rare}, {"list, filter that nothing fits", nothing}} {
		err := b.repeat(f.name, func() (int, error) {
			p, err := store.List(ctx, f.filter)
			if err != nil {
				return 0, err
			}
			return len(p.Requests), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) timed(ctx context.Context, name, sql string) error {
	return b.repeat(name, func() (rows int, err error) {
		rs, err := b.conn.Query(ctx, sql)
		if err != nil {
			return 0, err
		}
		for rs.Next() {
			rows++
		}
		if err := rs.Err(); err != nil {
			return 0, err
		}
		return rows, rs.Close()
	})
}

// repeat prints the fastest, median and slowest time of do, and ClickHouse's CPU of one.
func (b *bench) repeat(name string, do func() (int, error)) error {
	ms := make([]float64, b.runs)
	rows, cpu := 0, b.cpu()
	for i := range ms {
		start := time.Now()
		var err error
		if rows, err = do(); err != nil {
			return err
		}
		ms[i] = float64(time.Since(start).Microseconds()) / 1000
	}
	sort.Float64s(ms)
	fmt.Printf("%s: min=%.1f ms median=%.1f ms max=%.1f ms cpu=%.0f ms rows=%d\n",
		name, ms[0], ms[len(ms)/2], ms[len(ms)-1], (b.cpu()-cpu)*1000/float64(b.runs), rows)
	return nil
}

// cpu returns the CPU seconds that the measured process has used.
func (b *bench) cpu() float64 { return ingestbench.CPU(b.pid) }

// self returns the CPU seconds that this process has used.
func self() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
