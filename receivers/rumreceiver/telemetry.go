package rumreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/fermata-io/fermata/receivers/adapters/faro"
)

// Reasons for which the guard lets a request not through, as counted.
const (
	refusedNoKey  = "key_missing"
	refusedKey    = "key_unknown"
	refusedOrigin = "origin"
	refusedIP     = "rate_ip"
	refusedRate   = "rate_key"
	refusedBot    = "bot" // answered with 204
)

// telemetry has the receiver's own counters, beside those of every ingest endpoint.
type telemetry struct {
	refused, duplicates, unjoined, ignored metric.Int64Counter
	reasons                                map[string]metric.MeasurementOption
	signals                                [faro.SignalCount]metric.MeasurementOption
	attrs                                  metric.MeasurementOption
}

func newTelemetry(set receiver.Settings) (*telemetry, error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/receivers/rumreceiver")
	id := attribute.String("receiver", set.ID.String())
	with := func(kv ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(kv, id)...))
	}
	t := &telemetry{attrs: with(), reasons: map[string]metric.MeasurementOption{}}
	for _, r := range []string{refusedNoKey, refusedKey, refusedOrigin, refusedIP, refusedRate, refusedBot} {
		t.reasons[r] = with(attribute.String("reason", r))
	}
	for s := range faro.SignalCount {
		t.signals[s] = with(attribute.String("signal", s.String()))
	}
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	t.refused = counter("fermata_rum_refused", "{request}", "Requests of pages that were not let in, by reason")
	t.duplicates = counter("fermata_rum_duplicates", "{stream}", "Streams that came a second time and were dropped; answered as taken")
	t.unjoined = counter("fermata_rum_unjoined", "{stream}", "Streams of pages that know no name of their request: kept, and never joined by guess")
	t.ignored = counter("fermata_rum_faro_ignored", "{signal}", "Signals of the Faro SDK that are no streamed answer, by kind")
	return t, errors.Join(errs...)
}

func (t *telemetry) refuse(ctx context.Context, reason string) {
	t.refused.Add(ctx, 1, t.reasons[reason])
}
