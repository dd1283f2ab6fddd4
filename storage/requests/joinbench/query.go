package main

import (
	"context"
	"fmt"
	"sort"
	"time"
)

func (b *bench) window(ctx context.Context) error { return nil }

func (b *bench) lookup(ctx context.Context) error { return nil }

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
	fmt.Printf("%s min=%.1f ms median=%.1f ms max=%.1f ms cpu=%.1f ms rows=%d\n",
		name, ms[0], ms[len(ms)/2], ms[len(ms)-1], (b.cpu()-cpu)*1000/float64(b.runs), rows)
	return nil
}
