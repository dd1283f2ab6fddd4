package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// Names of the variants, also of their databases.
const (
	floor       = "floor"
	nativeGRPC  = "native_grpc"
	nativeHTTP  = "native_http"
	nativeJSON  = "native_json"
	spanEvents  = "span_events"
	logRecords  = "log_records"
	peerSVar    = "peer_s"
	peerLVar    = "peer_l"
	ratioFormat = "%.2f"
)

var described = map[string]string{
	floor:      "floor: bare columns, ch-go",
	nativeGRPC: "Fermata, packed records, OTLP/gRPC",
	nativeHTTP: "Fermata, packed records, OTLP/HTTP",
	nativeJSON: "Fermata, `POST /v1/chunks` JSON",
	spanEvents: "Fermata, span events unchanged",
	logRecords: "Fermata, log record per chunk unchanged",
	peerSVar:   "peer S: span events → clickhouseexporter",
	peerLVar:   "peer L: log record per chunk → clickhouseexporter",
}

// goal is a ratio that is wanted: cost of over ÷ cost of under, at least or at most.
type goal struct {
	title       string
	over, under string
	atMost      bool
	first, aim  float64
}

func goals() []goal {
	return []goal{
		{"packed, gRPC ÷ floor", nativeGRPC, floor, true, 4, 2},
		{"packed, HTTP ÷ floor", nativeHTTP, floor, true, 4, 2},
		{"JSON ÷ floor", nativeJSON, floor, true, 0, 0},
		{"peer S ÷ packed, gRPC", peerSVar, nativeGRPC, false, 0, 10},
		{"peer L ÷ packed, gRPC", peerLVar, nativeGRPC, false, 0, 60},
		{"peer S ÷ span events unchanged", peerSVar, spanEvents, false, 3, 5},
		{"peer L ÷ log records unchanged", peerLVar, logRecords, false, 20, 40},
	}
}

// ingest runs all variants in turn, as often as asked, and prints what they cost.
func (b *bench) ingest(ctx context.Context) error {
	variants, wire, err := b.variants()
	if err != nil {
		return err
	}
	if len(b.opt.only) > 0 {
		variants = slices.DeleteFunc(variants, func(v ingestbench.Variant) bool { return !slices.Contains(b.opt.only, v.Name) })
	}
	costs := map[string][]ingestbench.Cost{}
	for i := range b.opt.runs {
		for _, v := range variants {
			c, err := ingestbench.Measure(ctx, b.eng, v)
			if err != nil {
				return err
			}
			b.note("run %d %-12s %s", i+1, v.Name, c)
			costs[v.Name] = append(costs[v.Name], c)
		}
	}
	b.print("\n### Ingest and disk\n\n| medians of %d interleaved runs | CPU-s per M chunks | collector | ClickHouse | bytes per chunk on disk | on the wire | M chunks/s |\n|---|---|---|---|---|---|---|\n", b.opt.runs)
	for _, v := range variants {
		m := ingestbench.Medians(costs[v.Name])
		onWire := "–"
		if n := wire[v.Name]; n > 0 {
			onWire = fmt.Sprintf("%.2f", float64(n)/float64(v.Chunks))
		}
		b.print("| %s | %.3f | %.3f | %.3f | %.2f | %s | %.2f |\n", described[v.Name], m.Sum(), m.Collector, m.Server, m.Bytes, onWire, float64(v.Chunks)/1e6/m.Seconds)
	}
	b.print("\n| CPU | median of the runs' ratios | each run | first step | aim |\n|---|---|---|---|---|\n")
	for _, g := range goals() {
		if len(costs[g.over]) == 0 || len(costs[g.under]) == 0 {
			continue
		}
		b.print("%s", g.row(costs[g.over], costs[g.under]))
	}
	return nil
}

func (g goal) row(over, under []ingestbench.Cost) string {
	ratios := make([]float64, len(over))
	each := ""
	for i := range over {
		ratios[i] = over[i].Sum() / under[i].Sum()
		each += fmt.Sprintf(ratioFormat+" ", ratios[i])
	}
	sign, first, aim := "≥", "–", "–"
	if g.atMost {
		sign = "≤"
	}
	if g.first > 0 {
		first = fmt.Sprintf("%s %g", sign, g.first)
	}
	if g.aim > 0 {
		aim = fmt.Sprintf("%s %g", sign, g.aim)
	}
	return fmt.Sprintf("| %s | **"+ratioFormat+"** | %s| %s | %s |\n", g.title, ingestbench.Median(ratios), each, first, aim)
}

// variants makes everything that is compared, and tells how many bytes each sends.
func (b *bench) variants() ([]ingestbench.Variant, map[string]int, error) {
	o := &b.opt
	// Equally many streams run at the same time in each.
	workload := func(streams int, seed uint64) *ingestbench.Workload {
		const each = time.Hour / 100_000
		return ingestbench.NewWorkload(max(streams, 1), seed, ingestbench.Yesterday(), time.Duration(streams)*each)
	}
	whole, forSpans, forLogs := workload(o.streams, 42), workload(o.streams/2, 43), workload(o.streams/10, 44)
	packed, err := whole.Messages(perMessage)
	if err != nil {
		return nil, nil, err
	}
	asJSON, err := jsonMessages(whole)
	if err != nil {
		return nil, nil, err
	}
	asSpans, err := spanMessages(forSpans)
	if err != nil {
		return nil, nil, err
	}
	asLogs, err := logMessages(forLogs)
	if err != nil {
		return nil, nil, err
	}
	chunks := func(w *ingestbench.Workload) int { return w.Len() * ingestbench.ChunksPerStream }
	spans := route{asSpans, chunks(forSpans), overGRPC(exportTraces)}
	logs := route{asLogs, chunks(forLogs), overGRPC(exportLogs)}
	otlpGRPC := func(f *fermata) string { return f.grpc }

	out := []ingestbench.Variant{
		ingestbench.Floor(whole),
		b.fermataVariant(nativeGRPC, whole.Len(), route{packed, chunks(whole), overGRPC(exportLogs)}, otlpGRPC),
		b.fermataVariant(nativeHTTP, whole.Len(), route{packed, chunks(whole), b.overHTTP("/v1/logs", "application/x-protobuf")},
			func(f *fermata) string { return f.http }),
		b.fermataVariant(nativeJSON, whole.Len(), route{asJSON, chunks(whole), b.overHTTP("/v1/chunks", "application/json")},
			func(f *fermata) string { return f.ingest }),
		b.fermataVariant(spanEvents, forSpans.Len(), spans, otlpGRPC),
		b.fermataVariant(logRecords, forLogs.Len(), logs, otlpGRPC),
	}
	if o.peer != "" {
		out = append(out,
			b.peerVariant(peerSVar, "otel_traces", forSpans.Len(), peerSpans, "SELECT sum(length(Events.Timestamp)) FROM otel_traces", spans),
			b.peerVariant(peerLVar, "otel_logs", chunks(forLogs), peerLogs, "SELECT count() FROM otel_logs", logs))
	}
	wire := map[string]int{
		nativeGRPC: size(packed), nativeHTTP: size(packed), nativeJSON: size(asJSON), spanEvents: size(asSpans), logRecords: size(asLogs),
		peerSVar: size(asSpans), peerLVar: size(asLogs),
	}
	return out, wire, nil
}

func size(bodies [][]byte) int {
	n := 0
	for _, b := range bodies {
		n += len(b)
	}
	return n
}
