package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// A browser's header, which the receiver reads.
const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"

// beaconConns are pages that send at the same time, over connections that stay open as a load balancer's do.
const beaconConns = 128

// rum measures POST /v1/rum: first with the database away, so that beacons are accepted and kept in the queue and nothing
// else; then the process is killed and started again, and all must arrive. Then the whole way.
func (b *bench) rum(ctx context.Context) error {
	b.print("\n### Beacons\n\n| one stream a beacon, medians of %d runs | body | accepted and durable, per second and core | same, per second | whole path, CPU-µs a beacon (collector + ClickHouse) |\n|---|---|---|---|---|\n", b.opt.runs)
	for _, kind := range []struct {
		name   string
		chunks int
	}{{"small: 10 chunks", 10}, {"a whole answer: 200 chunks", 200}} {
		bodies := beacons(b.opt.beacons, kind.chunks, time.Now().Add(-time.Hour).UnixMicro())
		var perCore, perSecond, collector, server []float64
		for i := range b.opt.runs {
			cpu, took, err := b.acceptBeacons(ctx, bodies)
			if err != nil {
				return err
			}
			n := float64(len(bodies))
			perCore, perSecond = append(perCore, n/cpu), append(perSecond, n/took.Seconds())
			c, s, err := b.storeBeacons(ctx, bodies)
			if err != nil {
				return err
			}
			collector, server = append(collector, c/n*1e6), append(server, s/n*1e6)
			b.note("run %d %s: %.0f per second and core, %.0f per second; stored for %.1f + %.1f CPU-µs", i+1, kind.name, n/cpu, n/took.Seconds(), c/n*1e6, s/n*1e6)
		}
		m := ingestbench.Median
		b.print("| %s | %d B | **%.0f** | %.0f | %.1f + %.1f |\n", kind.name, size(bodies)/len(bodies), m(perCore), m(perSecond), m(collector), m(server))
	}
	return nil
}

// acceptBeacons returns the CPU seconds of the collector and the time for accepting the bodies, and checks that all are
// there after a kill.
func (b *bench) acceptBeacons(ctx context.Context, bodies [][]byte) (cpu float64, took time.Duration, err error) {
	away, err := freeAddr()
	if err != nil {
		return 0, 0, err
	}
	dir, err := os.MkdirTemp(b.dir, "beacons-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := b.startFermata(ctx, "clickhouse://"+away+"/fermata", dir)
	if err != nil {
		return 0, 0, err
	}
	s := newHTTPSender("http://"+f.ingest+"/v1/rum", "text/plain;charset=UTF-8", browser, beaconConns)
	before, begin := ingestbench.CPU(f.pid()), time.Now()
	busy, err := sendAll(ctx, s, bodies, beaconConns)
	cpu, took = ingestbench.CPU(f.pid())-before, time.Since(begin)
	err = errors.Join(err, s.close(), f.cmd.Process.Kill())
	<-f.ended
	if err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, f.out)
	}
	if busy > 0 {
		b.note("%d beacons were told to come again", busy)
	}

	db, err := b.newDatabase(ctx, "beacons")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	if f, err = b.startFermata(ctx, string(db.cfg.DSN), dir); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	if err := waitFor(ctx, db.conn, "SELECT uniqExact(request_id) FROM clients", len(bodies)); err != nil {
		return 0, 0, fmt.Errorf("after a kill: %w\n%s", err, f.out)
	}
	return cpu, took, nil
}

// storeBeacons returns the CPU seconds of collector and ClickHouse for bringing the bodies into the table.
func (b *bench) storeBeacons(ctx context.Context, bodies [][]byte) (collector, server float64, err error) {
	db, err := b.newDatabase(ctx, "beacons")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.drop(ctx)) }()
	dir := filepath.Join(b.dir, "beacons-stored")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := b.startFermata(ctx, string(db.cfg.DSN), dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	s := newHTTPSender("http://"+f.ingest+"/v1/rum", "text/plain;charset=UTF-8", browser, beaconConns)
	own, ch := ingestbench.CPU(f.pid()), ingestbench.CPU(b.eng.PID())
	_, err = sendAll(ctx, s, bodies, beaconConns)
	if err := errors.Join(err, s.close()); err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, f.out)
	}
	if err := waitFor(ctx, db.conn, "SELECT count() FROM clients", len(bodies)); err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, f.out)
	}
	own = ingestbench.CPU(f.pid()) - own
	if err := ingestbench.Settle(ctx, db.conn); err != nil {
		return 0, 0, err
	}
	return own, ingestbench.CPU(b.eng.PID()) - ch, nil
}
