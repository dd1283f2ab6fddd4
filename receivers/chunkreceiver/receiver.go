package chunkreceiver

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/collector/component"
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
