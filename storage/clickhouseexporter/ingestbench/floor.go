package ingestbench

import (
	"context"
	"fmt"
	"os"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clickhouse"
)

const floorTable = `CREATE TABLE floor (
	request_id UInt64 CODEC(ZSTD(1)), ts DateTime64(6, 'UTC') CODEC(T64, ZSTD(1)),
	service LowCardinality(String), model LowCardinality(String), ttft UInt32 CODEC(T64, ZSTD(1)), in_tok UInt32 CODEC(T64, ZSTD(1)),
	max_gap UInt32 CODEC(T64, ZSTD(1)), gaps Array(UInt32) CODEC(T64, ZSTD(1))
) ENGINE = MergeTree PARTITION BY toDate(ts) ORDER BY (service, model, ts)`

// Floor inserts the gaps and a handful of scalars as columns, 5000 streams at a time, and does nothing else.
func Floor(w *Workload) Variant {
	return Variant{
		Name: "floor", Table: "floor", Chunks: w.Len() * ChunksPerStream,
		Prepare: func(ctx context.Context, conn driver.Conn, cfg clickhouse.Config) (*Prepared, error) {
			return &Prepared{
				PID:   os.Getpid(),
				Run:   func() error { return runFloor(ctx, cfg, w) },
				Close: func() error { return nil },
			}, conn.Exec(ctx, floorTable)
		},
	}
}

func runFloor(ctx context.Context, cfg clickhouse.Config, w *Workload) error {
	ins, err := clickhouse.OpenInserter(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = ins.Close() }() // nothing is in flight
	for from := 0; from < w.Len(); from += 5000 {
		to := min(from+5000, w.Len())
		var id proto.ColUInt64
		ts := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro)
		service, model := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
		var ttft, tokens, longest proto.ColUInt32
		var gaps proto.ColUInt32
		arr := proto.NewArray[uint32](&gaps)
		for i := from; i < to; i++ {
			id.Append(w.id(i))
			ts.Append(w.startOf(i))
			service.Append("bench")
			model.Append("model-" + string('0'+rune(w.model[i])))
			ttft.Append(w.ttft[i])
			tokens.Append(100)
			g := w.gapsOf(i)
			m := uint32(0)
			for _, v := range g {
				m = max(m, v)
			}
			longest.Append(m)
			gaps = append(gaps, g...)
			arr.Offsets = append(arr.Offsets, uint64(len(gaps)))
		}
		in := proto.Input{
			{Name: "request_id", Data: &id},
			{Name: "ts", Data: ts},
			{Name: "service", Data: service},
			{Name: "model", Data: model},
			{Name: "ttft", Data: &ttft},
			{Name: "in_tok", Data: &tokens},
			{Name: "max_gap", Data: &longest},
			{Name: "gaps", Data: arr},
		}
		if err := ins.Insert(ctx, clickhouse.Block{SQL: in.Into("floor"), Input: in}); err != nil {
			return fmt.Errorf("floor: %w", err)
		}
	}
	return nil
}
