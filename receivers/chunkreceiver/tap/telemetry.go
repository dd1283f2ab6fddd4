package tap

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
)

// meter publishes the tap's counters and returns how to stop that.
func (t *Tap) meter(p metric.MeterProvider) (func(), error) {
	if p == nil {
		return func() {}, nil
	}
	m := p.Meter("github.com/fermata-io/fermata/receivers/chunkreceiver/tap")
	type counter struct {
		name, unit, text string
		v                *atomic.Int64
	}
	counters := [...]counter{
		{"fermata.tap.requests", "{request}", "Requests taken", &t.stats.Requests},
		{"fermata.tap.streams", "{stream}", "Requests recorded as streams", &t.stats.Streams},
		{"fermata.tap.segments", "{segment}", "Segments handed on", &t.stats.Segments},
		{"fermata.tap.sink_errors", "{error}", "Failed tries to hand segments on", &t.stats.SinkErrors},
		{"fermata.tap.streams_dropped", "{stream}", "Ended streams that were not handed on", &t.stats.StreamsDropped},
		{"fermata.tap.chunks_merged", "{chunk}", "Chunks merged into the one before because recording lagged", &t.stats.ChunksMerged},
		{"fermata.tap.chunks_dropped", "{chunk}", "Chunks that were not handed on", &t.stats.ChunksDropped},
		{"fermata.tap.malformed_frames", "{frame}", "Frames of answers that could not be read", &t.stats.Malformed},
		{"fermata.tap.upstream_errors", "{request}", "Requests that the upstream gave no answer to", &t.stats.UpstreamErrors},
	}
	observables := make([]metric.Observable, 0, len(counters)+1)
	instruments := make([]metric.Int64ObservableCounter, len(counters))
	for i, c := range counters {
		in, err := m.Int64ObservableCounter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.text))
		if err != nil {
			return nil, err
		}
		instruments[i] = in
		observables = append(observables, in)
	}
	active, err := m.Int64ObservableGauge("fermata.tap.active", metric.WithUnit("{request}"), metric.WithDescription("Requests on their way"))
	if err != nil {
		return nil, err
	}
	reg, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for i, c := range counters {
			o.ObserveInt64(instruments[i], c.v.Load())
		}
		o.ObserveInt64(active, t.stats.Active.Load())
		return nil
	}, append(observables, active)...)
	if err != nil {
		return nil, err
	}
	return func() { _ = reg.Unregister() }, nil
}
