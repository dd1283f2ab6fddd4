package chunkreceiver

import (
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

// A part is one way in. Each is started and stopped with the receiver, and hands its records to the same
// pipeline.
type part = component.Component

// parts makes the ways in that are configured.
func (c *Config) parts(set receiver.Settings, next consumer.Logs) ([]part, error) {
	var out []part
	if c.Enabled() {
		p, err := c.httpPart(set, next)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if c.OTLP.Enabled() {
		p, err := c.otlpPart(set, next)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if c.Tap.HasValue() {
		p, err := c.tapPart(set, next)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// httpPart serves POST /v1/chunks.
func (c *Config) httpPart(set receiver.Settings, next consumer.Logs) (*ingest.Component, error) {
	h, err := ingest.NewHandler(ingest.HandlerConfig{
		Receiver: set, Path: c.Path, Limits: c.Limits, ForwardText: c.ForwardText, Decode: decode, Next: next,
	})
	if err != nil {
		return nil, err
	}
	return ingest.NewComponent(&c.Config, set.TelemetrySettings, map[string]http.Handler{c.Path: h}), nil
}

// decode reads the body of POST /v1/chunks.
func decode(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	stats := wire.EachStream(body, opt, func(_ int, s *wire.Stream, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		b.AddStream(s)
		b.Accept()
	})
	b.Ignore(stats.Unknown)
}
