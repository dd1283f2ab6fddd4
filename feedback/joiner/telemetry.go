package joiner

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type telemetry struct {
	joined   metric.Int64Counter
	rows     metric.Int64Counter
	again    metric.Int64Counter
	stored   metric.Int64Counter
	lag      metric.Float64Gauge
	failures metric.Int64Counter
	duration metric.Float64Histogram
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/feedback/joiner")
	t := &telemetry{}
	var errs [7]error
	t.joined, errs[0] = m.Int64Counter("fermata_joiner_requests", metric.WithUnit("{request}"), metric.WithDescription("Requests that were joined anew"))
	t.stored, errs[1] = m.Int64Counter("fermata_joiner_findings", metric.WithUnit("{finding}"), metric.WithDescription("States of findings stored, by kind"))
	t.failures, errs[2] = m.Int64Counter("fermata_joiner_failures", metric.WithUnit("{look}"), metric.WithDescription("Looks for new records that failed and were tried again"))
	t.duration, errs[3] = m.Float64Histogram("fermata_joiner_look_duration", metric.WithUnit("s"), metric.WithDescription("Time of one look for new records, joins included"))
	t.rows, errs[4] = m.Int64Counter("fermata_joiner_rows", metric.WithUnit("{row}"), metric.WithDescription("Rows of joined requests written"))
	t.lag, errs[5] = m.Float64Gauge("fermata_joiner_lag_seconds", metric.WithUnit("s"), metric.WithDescription("How far the joined requests are behind the records, beyond what is held on purpose"))
	t.again, errs[6] = m.Int64Counter("fermata_joiner_read_again", metric.WithUnit("{request}"), metric.WithDescription("Requests whose records were no longer held and were read again"))
	return t, errors.Join(errs[:]...)
}

func (t *telemetry) joinedSome(requests int) { t.joined.Add(context.Background(), int64(requests)) }

func (t *telemetry) loaded(n int) { t.again.Add(context.Background(), int64(n)) }

func (t *telemetry) wroteRows(n int) { t.rows.Add(context.Background(), int64(n)) }

func (t *telemetry) behind(lag time.Duration) { t.lag.Record(context.Background(), lag.Seconds()) }

func (t *telemetry) looked(took time.Duration) {
	t.duration.Record(context.Background(), took.Seconds())
}

func (t *telemetry) wrote(kind string) {
	t.stored.Add(context.Background(), 1, metric.WithAttributes(attribute.String("kind", kind)))
}

func (t *telemetry) failed() { t.failures.Add(context.Background(), 1) }
