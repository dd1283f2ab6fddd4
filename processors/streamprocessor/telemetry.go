package streamprocessor

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fermata-io/fermata/internal/wire"
)

type telemetry struct {
	findings metric.Int64Counter
	records  metric.Int64Counter
	lost     metric.Int64Counter
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/processors/streamprocessor")
	t := &telemetry{}
	var e1, e2, e3 error
	t.findings, e1 = m.Int64Counter("fermata_findings", metric.WithUnit("{finding}"),
		metric.WithDescription("Findings raised, changed or closed, by kind"))
	t.records, e2 = m.Int64Counter("fermata_streams_skipped", metric.WithUnit("{record}"),
		metric.WithDescription("Stream records that detection did not read, by reason: duplicate, missing (a segment in front), unreadable"))
	t.lost, e3 = m.Int64Counter("fermata_streams_evicted", metric.WithUnit("{stream}"),
		metric.WithDescription("Open streams given up because there were too many, and findings and endings of streams dropped because the next stage refused them"))
	return t, errors.Join(e1, e2, e3)
}

func (t *telemetry) found(f []wire.Finding) {
	for i := range f {
		t.findings.Add(context.Background(), 1, metric.WithAttributes(attribute.String("kind", string(f[i].Kind))))
	}
}

func (t *telemetry) skipped(reason string) {
	t.records.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
}

func (t *telemetry) duplicate()  { t.skipped("duplicate") }
func (t *telemetry) missing()    { t.skipped("missing") }
func (t *telemetry) unreadable() { t.skipped("unreadable") }

func (t *telemetry) evicted() {
	t.lost.Add(context.Background(), 1, metric.WithAttributes(attribute.String("what", "stream")))
}

func (t *telemetry) dropped(what string, n int) {
	t.lost.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String("what", what)))
}
