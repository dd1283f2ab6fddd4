package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/fermata-io/fermata/storage/requests"
)

const at = "2006-01-02 15:04:05"

// window asks the last hour's perceived − server by model of the view.
func (b *bench) window(ctx context.Context) error {
	end := time.UnixMicro(startUS).Add(time.Duration(b.hours * float64(time.Hour))).UTC()
	sql := fmt.Sprintf(`SELECT model, quantileDD(0.005, 0.99)(gap_us), count()
		FROM joined_requests(tenant = 'default', since = '%s', until = '%s') WHERE gap_us IS NOT NULL GROUP BY model ORDER BY model`,
		end.Add(-time.Hour).Format(at), end.Format(at))
	return b.timed(ctx, "last hour, perceived - server by model", sql)
}

// lookup reads random requests through requests.Store, as the API does.
func (b *bench) lookup(ctx context.Context) error {
	store := requests.New(b.conn, requests.ReadLimits{})
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a reproducible workload
	var ms []float64
	cpu := b.cpu()
	n := 40 * b.runs
	for i := range n + 5 {
		start := time.Now()
		if _, err := store.Request(ctx, "default", b.id(r.IntN(b.n))); err != nil {
			return err
		}
		if i >= 5 {
			ms = append(ms, float64(time.Since(start).Microseconds())/1000)
		}
	}
	sort.Float64s(ms)
	fmt.Printf("look-up n=%d p50=%.1f ms p99=%.1f ms ch_cpu=%.1f ms each\n", n, ms[len(ms)/2], ms[len(ms)*99/100], (b.cpu()-cpu)*1000/float64(n+5))
	return nil
}

// timed runs a query several times and prints its fastest and median time and CPU.
func (b *bench) timed(ctx context.Context, name, sql string) error {
	var ms []float64
	rows := 0
	cpu := b.cpu()
	for range b.runs {
		start := time.Now()
		rs, err := b.conn.Query(ctx, sql)
		if err != nil {
			return err
		}
		rows = 0
		for rs.Next() {
			rows++
		}
		err = rs.Err()
		_ = rs.Close()
		if err != nil {
			return err
		}
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
	}
	sort.Float64s(ms)
	fmt.Printf("%s: min=%.1f ms median=%.1f ms max=%.1f ms cpu=%.1f ms rows=%d\n",
		name, ms[0], ms[len(ms)/2], ms[len(ms)-1], (b.cpu()-cpu)*1000/float64(b.runs), rows)
	return nil
}
