package chunkreceiver

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"

	"go.opentelemetry.io/collector/component"

	"github.com/fermata-io/fermata/internal/ingest"
)

type chunkReceiver struct {
	parts   []part
	started []part
}

// Start starts every part, or none.
func (r *chunkReceiver) Start(ctx context.Context, host component.Host) error {
	for _, p := range r.parts {
		if err := p.Start(ctx, host); err != nil {
			return errors.Join(err, r.Shutdown(ctx))
		}
		r.started = append(r.started, p)
	}
	return nil
}

// Shutdown stops what was started, the last first.
func (r *chunkReceiver) Shutdown(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(r.started) {
		errs = append(errs, p.Shutdown(ctx))
	}
	r.started = nil
	return errors.Join(errs...)
}

// Addr is the bound address of the HTTP endpoint; nil without one.
func (r *chunkReceiver) Addr() net.Addr {
	for _, p := range r.parts {
		if c, ok := p.(*ingest.Component); ok {
			return c.Addr()
		}
	}
	return nil
}

// Addrs tells the bound addresses of the parts that have listeners of their own, by the names of the ready
// file: otlp_grpc, otlp_http, tap.
func (r *chunkReceiver) Addrs() map[string]string {
	out := map[string]string{}
	for _, p := range r.started {
		if l, ok := p.(interface{ Addrs() map[string]string }); ok {
			maps.Copy(out, l.Addrs())
		}
	}
	return out
}
