package rumreceiver

import (
	"context"
	"errors"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/ingest"
)

// rumReceiver serves the endpoints and owns the file of countries.
type rumReceiver struct {
	*ingest.Component
	cfg       *Config
	log       *zap.Logger
	decoder   *decoder
	countries *countries
}

func newReceiver(set receiver.Settings, cfg *Config, next consumer.Logs) (*rumReceiver, error) {
	routes, d, err := newRoutes(set, cfg, next)
	if err != nil {
		return nil, err
	}
	return &rumReceiver{
		Component: ingest.NewComponent(&cfg.Config, set.TelemetrySettings, routes), cfg: cfg, log: set.Logger, decoder: d,
	}, nil
}

// newRoutes makes the endpoints, by path, and the decoder that they share.
func newRoutes(set receiver.Settings, cfg *Config, next consumer.Logs) (map[string]http.Handler, *decoder, error) {
	tel, err := newTelemetry(set)
	if err != nil {
		return nil, nil, err
	}
	g, err := newGuard(cfg, tel)
	if err != nil {
		return nil, nil, err
	}
	d := &decoder{userAgent: cfg.UserAgent, tel: tel}
	if d.duplicates, err = newDuplicates(cfg.RememberBeacons); err != nil {
		return nil, nil, err
	}
	types := ingest.MediaTypes()
	types["text/plain"] = ingest.JSON // what sendBeacon calls a string
	routes := map[string]http.Handler{}
	serve := func(path string, okStatus int, decode ingest.DecodeFunc) error {
		h, err := ingest.NewHandler(ingest.HandlerConfig{
			Receiver: set, Path: path, Limits: cfg.Limits, MediaTypes: types, SniffGzip: true, OKStatus: okStatus, Decode: decode, Next: next,
		})
		if err == nil {
			routes[path] = g.protect(h, cfg.Limits.RetryAfter)
		}
		return err
	}
	if err = serve(cfg.Path, http.StatusOK, d.decode); err != nil {
		return nil, nil, err
	}
	if cfg.FaroPath != "" {
		err = serve(cfg.FaroPath, http.StatusAccepted, d.decodeFaro)
	}
	return routes, d, err
}

// Start opens the file of countries and serves.
func (r *rumReceiver) Start(ctx context.Context, host component.Host) error {
	var err error
	if r.countries, err = openCountries(r.cfg.GeoIPFile); err != nil {
		return err
	}
	r.decoder.countries = r.countries
	if err := r.Component.Start(ctx, host); err != nil {
		return errors.Join(err, r.closeCountries())
	}
	if r.cfg.isOpen() && !loopback(r.Addr()) {
		r.log.Warn("The beacon endpoint takes everything from everybody: set keys, allowed_origins and rate_limit",
			zap.Stringer("address", r.Addr()))
	}
	return nil
}

// Shutdown stops serving, then closes the file.
func (r *rumReceiver) Shutdown(ctx context.Context) error {
	err := r.Component.Shutdown(ctx)
	if err != nil {
		return err // requests may still look at the file
	}
	return r.closeCountries()
}

func (r *rumReceiver) closeCountries() error {
	c := r.countries
	r.countries = nil
	return c.close()
}

func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return !ok || t.IP.IsLoopback()
}
