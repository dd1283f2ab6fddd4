package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// growthTimes is how many times the first round's chunks are in the database at the end.
const growthTimes = 10

// growthMost is how much dearer a chunk may be then.
const growthMost = 1.15

// growth sends one round of workload W after the other into one database, merges included, and compares what a chunk costs
// early and late.
func (b *bench) growth(ctx context.Context) (err error) {
	db, f, end, err := b.collecting(ctx, "growth")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	start, span := ingestbench.Yesterday(), time.Duration(b.opt.streams)*time.Hour/100_000
	costs := make([]ingestbench.Cost, growthTimes)
	for i := range costs {
		w := ingestbench.NewWorkload(b.opt.streams, uint64(200+i), start.Add(time.Duration(i)*span), span)
		bodies, err := w.Messages(perMessage)
		if err != nil {
			return err
		}
		collector, server := ingestbench.CPU(f.pid()), ingestbench.CPU(b.eng.PID())
		if err := b.store(ctx, db, f, bodies, (i+1)*b.opt.streams); err != nil {
			return err
		}
		if err := ingestbench.Settle(ctx, db.conn); err != nil {
			return err
		}
		chunks := float64(b.opt.streams*ingestbench.ChunksPerStream) / 1e6
		costs[i] = ingestbench.Cost{
			Collector: (ingestbench.CPU(f.pid()) - collector) / chunks, Server: (ingestbench.CPU(b.eng.PID()) - server) / chunks,
		}
		b.note("growth: round %d of %d: %.3f CPU-s per M chunks (collector %.3f + ClickHouse %.3f)", i+1, growthTimes,
			costs[i].Sum(), costs[i].Collector, costs[i].Server)
	}
	// A large merge falls into some of the rounds: halves, not rounds, are compared.
	before, after := mean(costs[:growthTimes/2]), mean(costs[growthTimes/2:])
	b.print("\n### Growth\n\n| CPU-s per M chunks, packed records over gRPC | collector | ClickHouse | sum |\n|---|---|---|---|\n")
	for _, r := range []struct {
		name string
		c    ingestbench.Cost
	}{
		{fmt.Sprintf("the first round of %d streams", b.opt.streams), costs[0]},
		{fmt.Sprintf("mean of rounds 1 to %d", growthTimes/2), before},
		{fmt.Sprintf("mean of rounds %d to %d", growthTimes/2+1, growthTimes), after},
	} {
		b.print("| %s | %.3f | %.3f | %.3f |\n", r.name, r.c.Collector, r.c.Server, r.c.Sum())
	}
	b.print("| second half ÷ first (wanted ≤ %.2f) | %.2f | %.2f | **%.2f** |\n", growthMost,
		after.Collector/before.Collector, after.Server/before.Server, after.Sum()/before.Sum())
	return nil
}

func mean(costs []ingestbench.Cost) (m ingestbench.Cost) {
	for _, c := range costs {
		m.Collector += c.Collector / float64(len(costs))
		m.Server += c.Server / float64(len(costs))
	}
	return m
}
