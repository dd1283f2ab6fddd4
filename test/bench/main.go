package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/engine"
)

// options are the flags.
type options struct {
	fermata  string // binary
	peer     string // binary; empty: without the peer
	parts    []string
	only     []string // variants of the ingest part; empty: all
	streams  int      // of workload W
	runs     int
	conns    int // concurrent senders
	beacons  int
	away     time.Duration // how long ClickHouse is away
	awayRate int           // streams a minute meanwhile
	live     time.Duration // how long streams are watched, and load is put on
}

// bench is one sitting.
type bench struct {
	opt options
	out io.Writer // tables
	log io.Writer // progress
	dir string    // everything on disk
	eng *engine.Engine
}

func (b *bench) print(format string, args ...any) { _, _ = fmt.Fprintf(b.out, format, args...) }

func (b *bench) note(format string, args ...any) { _, _ = fmt.Fprintf(b.log, format+"\n", args...) }

var allParts = []string{"ingest", "growth", "beacons", "queries", "live", "outage"}

func main() {
	engine.MaybeRunChild()
	var o options
	flag.StringVar(&o.fermata, "fermata", "bin/fermata", "the binary to measure (make build)")
	flag.StringVar(&o.peer, "peer", os.Getenv("FERMATA_BENCH_PEER"), "binary of an OpenTelemetry Collector with the contrib clickhouseexporter (default $FERMATA_BENCH_PEER); empty: without the peer")
	parts := flag.String("parts", strings.Join(allParts, ","), "what to measure")
	only := flag.String("only", "", "variants of the ingest part, such as floor,native_grpc; empty: all")
	flag.IntVar(&o.streams, "streams", 100_000, "streams of 200 chunks in a run; spans get half of them, log records a tenth")
	flag.IntVar(&o.runs, "runs", 5, "interleaved runs")
	flag.IntVar(&o.conns, "conns", 16, "concurrent senders")
	flag.IntVar(&o.beacons, "beacons", 20_000, "beacons of a run")
	flag.DurationVar(&o.live, "live", 20*time.Second, "how long running streams are watched, and how long load lasts")
	flag.DurationVar(&o.away, "away", 30*time.Second, "how long ClickHouse is away in the outage part")
	flag.IntVar(&o.awayRate, "away-rate", 2000, "streams a minute in the outage part")
	flag.Parse()
	o.parts = strings.Split(*parts, ",")
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the parts, each with a fresh engine, so that none pays for what another left behind.
func run(ctx context.Context, o options, out, log io.Writer) error {
	if o.streams < 1 || o.runs < 1 || o.conns < 1 || o.beacons < 1 || o.live <= 0 || o.away <= 0 || o.awayRate < 1 {
		return errors.New("-streams, -runs, -conns, -beacons, -live, -away and -away-rate must be positive")
	}
	parts := map[string]func(*bench, context.Context) error{
		"ingest": (*bench).ingest, "growth": (*bench).growth, "beacons": (*bench).rum, "queries": (*bench).queries, "live": (*bench).watch,
		"outage": (*bench).outage,
	}
	for _, p := range o.parts {
		if parts[p] == nil {
			return fmt.Errorf("-parts: %q is not one of %s", p, strings.Join(allParts, ", "))
		}
	}
	if _, err := os.Stat(o.fermata); err != nil {
		return fmt.Errorf("-fermata: %w; run: make build", err)
	}
	for _, p := range slices.Compact(o.parts) {
		begin := time.Now()
		if err := onePart(ctx, o, out, log, parts[p]); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		_, _ = fmt.Fprintf(log, "%s took %s\n", p, time.Since(begin).Round(time.Second))
	}
	return nil
}

func onePart(ctx context.Context, o options, out, log io.Writer, part func(*bench, context.Context) error) (err error) {
	dir, err := os.MkdirTemp("", "fermata-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	eng, err := engine.Start(ctx, engine.NewDefaultConfig(filepath.Join(dir, "engine")), zap.NewNop())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Stop(context.WithoutCancel(ctx))) }()
	return part(&bench{opt: o, out: out, log: log, dir: dir, eng: eng}, ctx)
}
