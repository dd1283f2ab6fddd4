package otlp

import (
	"context"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// scopeName is the instrumentation scope of the receiver's own metrics.
const scopeName = "github.com/fermata-io/fermata/receivers/chunkreceiver"

// telemetry counts what came in. Outcomes: accepted, rejected, ignored (not about an LLM call), incomplete
// (chunk events dropped by the sender's SDK), trace_id (request id from nothing better than a trace id).
type telemetry struct {
	items    metric.Int64Counter
	requests metric.Int64Counter
	obs      [2]*receiverhelper.ObsReport // by protocol
}

type protocol uint8

const (
	protocolGRPC protocol = iota
	protocolHTTP
)

func (p protocol) String() string {
	if p == protocolGRPC {
		return "grpc"
	}
	return "http"
}

func newTelemetry(set receiver.Settings) (*telemetry, error) {
	m := set.MeterProvider.Meter(scopeName)
	t := &telemetry{}
	var err error
	if t.items, err = m.Int64Counter("fermata_otlp_items",
		metric.WithDescription("Spans and log records of OTLP requests, by what became of them."), metric.WithUnit("{item}")); err != nil {
		return nil, err
	}
	if t.requests, err = m.Int64Counter("fermata_otlp_requests",
		metric.WithDescription("OTLP requests, by how they were answered."), metric.WithUnit("{request}")); err != nil {
		return nil, err
	}
	for p := range t.obs {
		if t.obs[p], err = receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
			ReceiverID: set.ID, Transport: protocol(p).String(), ReceiverCreateSettings: set,
		}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *telemetry) count(ctx context.Context, sig signal, r *genai.Result) {
	byTrace := 0
	for _, s := range r.Sources {
		if s == genai.FromTraceID {
			byTrace++
		}
	}
	for _, o := range [...]struct {
		outcome string
		n       int
	}{
		{"accepted", r.Accepted}, {"rejected", r.Rejected}, {"ignored", r.Ignored}, {"incomplete", r.Incomplete}, {"trace_id", byTrace},
	} {
		if o.n > 0 {
			t.items.Add(ctx, int64(o.n), metric.WithAttributes(
				attribute.String("signal", sig.String()), attribute.String("outcome", o.outcome)))
		}
	}
}

func (t *telemetry) answered(ctx context.Context, p protocol, sig signal, answer string) {
	t.requests.Add(ctx, 1, metric.WithAttributes(
		attribute.String("protocol", p.String()), attribute.String("signal", sig.String()), attribute.String("answer", answer)))
}
