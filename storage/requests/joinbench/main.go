// Command joinbench measures what keeping and reading the join costs (docs/benchmarks.md): it loads requests of
// three tiers as they would arrive, over hours of simulated time, into a running ClickHouse, and prints CPU
// seconds, bytes and latencies. Its workload is that of the reference harness, section 2: 2 M requests in 4 h,
// gateway records for 99 %, client records for 70 %, client records exp(30 s) late and 5 % up to 30 minutes.
//
//	joinbench -dsn clickhouse://127.0.0.1:9000/bench -pid PID -n 2000000 load query lookup
//
// load is reset (an empty database) and arrive (the records).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

type bench struct {
	opts  *clickhouse.Options
	conn  driver.Conn
	pid   int
	n     int
	hours float64
	slot  float64
	pace  float64
	runs  int
	setup string
	set   []ch.Setting
}

func main() {
	log.SetFlags(0)
	dsn := flag.String("dsn", "", "ClickHouse, for instance clickhouse://127.0.0.1:9000/bench; its database is dropped by load")
	b := bench{}
	flag.IntVar(&b.pid, "pid", 0, "process whose CPU time is ClickHouse's; 0: not measured")
	flag.IntVar(&b.n, "n", 2_000_000, "requests")
	flag.Float64Var(&b.hours, "hours", 4, "simulated hours")
	flag.Float64Var(&b.slot, "slot", 30, "simulated seconds between two inserts of a tier")
	flag.Float64Var(&b.pace, "pace", 0, "seconds that a slot takes, so that a joiner can follow; 0: as fast as can be")
	flag.IntVar(&b.runs, "runs", 7, "repetitions of a query; look-ups run 40 times as often")
	flag.StringVar(&b.setup, "setup", "", "statements to run on the empty tables, separated by semicolons")
	set := flag.String("set", "optimize_on_insert=0", "settings of inserts, by default those of the exporter, name=value separated by commas")
	flag.Parse()
	for _, kv := range strings.Split(*set, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			b.set = append(b.set, ch.Setting{Key: k, Value: v, Important: true})
		}
	}
	opts, err := clickhouse.ParseDSN(*dsn)
	if err != nil || flag.NArg() == 0 {
		log.Fatalf("joinbench -dsn DSN [load|reset|arrive] [query] [lookup] [sql:QUERY]: %v", err)
	}
	b.opts = opts
	ctx := context.Background()
	for _, step := range flag.Args() {
		err := b.step(ctx, step)
		if err != nil {
			log.Fatalf("%s: %v", step, err)
		}
	}
}

func (b *bench) step(ctx context.Context, step string) error {
	if step == "load" || step == "reset" {
		if err := b.reset(ctx); err != nil {
			return err
		}
	}
	if b.conn == nil {
		conn, err := clickhouse.Open(b.opts)
		if err != nil {
			return err
		}
		b.conn = conn
	}
	if step == "load" || step == "reset" {
		for _, stmt := range strings.Split(b.setup, ";") {
			if strings.TrimSpace(stmt) == "" {
				continue
			}
			if err := b.conn.Exec(ctx, stmt); err != nil {
				return err
			}
		}
	}
	switch {
	case step == "reset":
		return nil
	case step == "load", step == "arrive":
		return b.load(ctx)
	case step == "query":
		return b.window(ctx)
	case step == "lookup":
		return b.lookup(ctx)
	case strings.HasPrefix(step, "sql:"):
		return b.timed(ctx, "sql", step[len("sql:"):])
	}
	return fmt.Errorf("unknown step")
}

// cpu returns the CPU seconds that the measured process has used.
func (b *bench) cpu() float64 { return ingestbench.CPU(b.pid) }
