package clickhouseexporter

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fermata-io/fermata/storage/clickhouse"
)

// Reasons why a record can never be written.
const (
	reasonUnreadable = "unreadable" // an attribute has the wrong type or a packed array is damaged
	reasonUnknown    = "unknown_event"
	reasonRefused    = "refused" // ClickHouse refuses it whenever it comes
)

var reasons = map[string]metric.MeasurementOption{
	reasonUnreadable: attr("reason", reasonUnreadable),
	reasonUnknown:    attr("reason", reasonUnknown),
	reasonRefused:    attr("reason", reasonRefused),
}

func attr(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}

// telemetry are the exporter's own metrics, beside the helper's otelcol_exporter_queue_size, _sent_log_records, ….
type telemetry struct {
	rows, inserts, failures, dead metric.Int64Counter
	duration                      metric.Float64Histogram
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/storage/clickhouseexporter")
	const prefix = "otelcol_exporter_fermata_clickhouse_"
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := m.Int64Counter(prefix+name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	t := &telemetry{
		rows:     counter("rows", "{row}", "Rows written, by table."),
		inserts:  counter("inserts", "{insert}", "Inserts that succeeded, by table."),
		failures: counter("insert_failures", "{insert}", "Inserts that failed and are repeated, by class of the error."),
		dead:     counter("dead_records", "{record}", "Records that can never be written, by reason."),
	}
	var err error
	t.duration, err = m.Float64Histogram(prefix+"insert_duration", metric.WithUnit("s"),
		metric.WithDescription("Time of one insert, by table."))
	return t, errors.Join(append(errs, err)...)
}

func (t *telemetry) inserted(ctx context.Context, table string, rows int, took time.Duration, err error) {
	if err != nil {
		t.failures.Add(ctx, 1, attr("class", clickhouse.Classify(err).String()))
		return
	}
	a := attr("table", table)
	t.rows.Add(ctx, int64(rows), a)
	t.inserts.Add(ctx, 1, a)
	t.duration.Record(ctx, took.Seconds(), a)
}
