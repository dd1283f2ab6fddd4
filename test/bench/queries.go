package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
	"github.com/fermata-io/fermata/storage/rollups"
)

// longGapUS is what counts as a long gap, in µs.
const longGapUS = 1_000_000

const longGapsSQL = `SELECT request_id, max(max_gap_us) FROM streams WHERE max_gap_us > 1000000 GROUP BY request_id`

// stallsSQL asks the same of what detection wrote: each such gap of the workload is a stall.
const stallsSQL = `SELECT request_id, max(duration_us) FROM findings WHERE kind = 'stall' AND duration_us > 1000000 GROUP BY request_id`

// rollupTimes is how many times the ingest part's chunks the rollups are asked about.
const rollupTimes = 10

// queries loads streams through the collector and asks.
func (b *bench) queries(ctx context.Context) (err error) {
	db, f, end, err := b.collecting(ctx, "queries")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	const span = 3 * time.Hour
	start := ingestbench.Yesterday()
	stalled := 0
	load := func(i int) error {
		// Each round lies in its own part of the time, as traffic does.
		w := ingestbench.NewWorkload(b.opt.streams, uint64(100+i), start.Add(time.Duration(i)*span/rollupTimes), span/rollupTimes) //nolint:gosec // small
		for k := range w.Len() {
			if s := w.Stream(k); longest(&s) > longGapUS {
				stalled++
			}
		}
		bodies, err := w.Messages(perMessage)
		if err != nil {
			return err
		}
		return b.store(ctx, db, f, bodies, (i+1)*b.opt.streams)
	}
	if err := load(0); err != nil {
		return err
	}
	if err := ingestbench.Settle(ctx, db.conn); err != nil {
		return err
	}
	chunks := float64(b.opt.streams*ingestbench.ChunksPerStream) / 1e6
	b.print("\n### Questions\n\n| question | chunks | p50 | p99 | wanted |\n|---|---|---|---|---|\n")
	for _, q := range []struct{ from, sql string }{{"streams", longGapsSQL}, {"findings", stallsSQL}} {
		title := fmt.Sprintf("streams with a gap > 1 s (%d of them), from `%s`", stalled, q.from)
		if err := b.ask(title, chunks, "≤ 6 ms", func() error { return count(ctx, db.conn, q.sql, stalled) }); err != nil {
			return err
		}
	}

	for i := 1; i < rollupTimes; i++ {
		if err := load(i); err != nil {
			return err
		}
	}
	if err := ingestbench.Settle(ctx, db.conn); err != nil {
		return err
	}
	store := rollups.New(db.conn)
	all, err := rollups.Clock(db.conn, 1, 0, nil).Settled(ctx)
	if err != nil {
		return err
	}
	cpu, begin := ingestbench.CPU(b.eng.PID()), time.Now()
	minutes, err := store.Refresh(ctx, 0, all)
	if err != nil {
		return err
	}
	b.note("rollups: %d minutes computed in %s, %.3f CPU-s per M chunks", minutes, time.Since(begin).Round(time.Millisecond),
		(ingestbench.CPU(b.eng.PID())-cpu)/chunks/rollupTimes)
	return b.ask("p50, p90, p95, p99 of inter-chunk latency by model, from rollups", chunks*rollupTimes, "≤ 30 ms", func() error {
		got, err := store.ICLByModel(ctx, wire.DefaultTenant, start, start.Add(span+time.Minute))
		if err != nil {
			return err
		}
		n := uint64(0)
		for _, g := range got {
			n += g.Chunks
		}
		if want := uint64(b.opt.streams * ingestbench.ChunksPerStream * rollupTimes); n != want { //nolint:gosec // a count
			return fmt.Errorf("the rollups hold %d chunks; want %d", n, want)
		}
		return nil
	})
}

// count runs a query that must have as many rows.
func count(ctx context.Context, conn driver.Conn, sql string, want int) error {
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() == nil && n != want {
		return fmt.Errorf("%d streams have a long gap; want %d", n, want)
	}
	return rows.Err()
}

func longest(s *wire.Stream) int64 {
	most := int64(0)
	for i := 1; i < len(s.Chunks.T); i++ {
		most = max(most, s.Chunks.T[i]-s.Chunks.T[i-1])
	}
	return most
}

// ask puts a question many times and prints how long it took.
func (b *bench) ask(title string, mchunks float64, wanted string, question func() error) error {
	const warm, times = 3, 100
	var took []float64
	for i := range warm + times {
		begin := time.Now()
		if err := question(); err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		if i >= warm {
			took = append(took, time.Since(begin).Seconds()*1000)
		}
	}
	b.print("| %s | %.4g M | **%.1f ms** | %.1f ms | %s |\n", title, mchunks, percentile(took, 50), percentile(took, 99), wanted)
	return nil
}

// percentile is the nearest rank; v must not be empty.
func percentile(v []float64, p int) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[max(0, (len(v)*p+99)/100-1)]
}
