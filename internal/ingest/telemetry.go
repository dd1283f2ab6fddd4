package ingest

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scopeName is the instrumentation scope of the endpoints' metrics.
const scopeName = "github.com/fermata-io/fermata/internal/ingest"

// Reasons for which items and requests are refused, as counted.
const (
	reasonInvalid  = "invalid"       // an item: wrong syntax, type or value
	reasonMethod   = "method"        // a request: not POST
	reasonMedia    = "media_type"    // or content encoding
	reasonTooLarge = "too_large"     // as received or decompressed
	reasonBody     = "body"          // cut or broken before any item could be read
	reasonOverload = "overload"      // the endpoint's own limits
	reasonBusy     = "pipeline_busy" // the pipeline can't take it now
	reasonPipeline = "pipeline"      // the pipeline refused for ever
)

// telemetry has one endpoint's counters.
type telemetry struct {
	accepted, rejected, refused, received, decoded, unknown metric.Int64Counter
	attrs                                                   metric.MeasurementOption
	reasons                                                 map[string]metric.MeasurementOption
}

func newTelemetry(set component.TelemetrySettings, receiver, endpoint string) (*telemetry, error) {
	m := set.MeterProvider.Meter(scopeName)
	base := []attribute.KeyValue{attribute.String("receiver", receiver), attribute.String("endpoint", endpoint)}
	t := &telemetry{attrs: metric.WithAttributeSet(attribute.NewSet(base...)), reasons: map[string]metric.MeasurementOption{}}
	for _, r := range []string{
		reasonInvalid, reasonMethod, reasonMedia, reasonTooLarge, reasonBody, reasonOverload, reasonBusy, reasonPipeline,
	} {
		t.reasons[r] = metric.WithAttributeSet(attribute.NewSet(append(base[:2:2], attribute.String("reason", r))...))
	}
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	t.accepted = counter("fermata_ingest_items_accepted", "{item}", "Items that the pipeline took")
	t.rejected = counter("fermata_ingest_items_rejected", "{item}", "Items answered with what is wrong with them")
	t.refused = counter("fermata_ingest_requests_refused", "{request}", "Requests refused as a whole, by reason")
	t.received = counter("fermata_ingest_received", "By", "Bytes of bodies as received")
	t.decoded = counter("fermata_ingest_decoded", "By", "Bytes of bodies after decompression")
	t.unknown = counter("fermata_ingest_fields_ignored", "{field}", "Fields that no record has")
	return t, errors.Join(errs...)
}

func (t *telemetry) refuse(ctx context.Context, reason string) {
	t.refused.Add(ctx, 1, t.reasons[reason])
}

func (t *telemetry) batch(ctx context.Context, b *Batch, accepted int) {
	add := func(c metric.Int64Counter, n int, o metric.MeasurementOption) {
		if n > 0 {
			c.Add(ctx, int64(n), o)
		}
	}
	add(t.accepted, accepted, t.attrs)
	add(t.rejected, b.answer.Rejected, t.reasons[reasonInvalid])
	add(t.unknown, b.unknown, t.attrs)
}
