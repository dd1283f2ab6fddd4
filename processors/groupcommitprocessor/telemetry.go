package groupcommitprocessor

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
)

// telemetry are the processor's own metrics. Callers divided by groups tells how much the grouping saves.
type telemetry struct {
	groups, callers, records, refused metric.Int64Counter
}

func newTelemetry(set component.TelemetrySettings) (t telemetry, err error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/processors/groupcommitprocessor")
	counter := func(name, unit, text string) metric.Int64Counter {
		c, e := m.Int64Counter("otelcol_processor_fermata_group_commit_"+name, metric.WithUnit(unit), metric.WithDescription(text))
		err = errors.Join(err, e)
		return c
	}
	t.groups = counter("groups", "{group}", "Groups passed on.")
	t.callers = counter("callers", "{batch}", "Batches of callers that were joined into groups.")
	t.records = counter("records", "{record}", "Log records passed on.")
	t.refused = counter("refused", "{batch}", "Batches refused because too many records waited.")
	return t, err
}

func (t *telemetry) passed(ctx context.Context, callers, records int) {
	t.groups.Add(ctx, 1)
	t.callers.Add(ctx, int64(callers))
	t.records.Add(ctx, int64(records))
}
