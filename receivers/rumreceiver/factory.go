package rumreceiver

import (
	"context"
	"net/http"

	"github.com/rs/cors"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/fermata-io/fermata/internal/ingest"
)

// Type is the component's name in configurations.
var Type = component.MustNewType("fermata_rum")

// NewFactory makes the receiver's factory.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		receiver.WithLogs(createLogs, component.StabilityLevelBeta))
}

func createLogs(_ context.Context, set receiver.Settings, config component.Config, next consumer.Logs) (receiver.Logs, error) {
	cfg := config.(*Config)
	types := ingest.MediaTypes()
	types["text/plain"] = ingest.JSON // what sendBeacon calls a string
	decode, err := newDecoder(set.TelemetrySettings, cfg.UserAgent)
	if err != nil {
		return nil, err
	}
	var h http.Handler
	h, err = ingest.NewHandler(ingest.HandlerConfig{
		Receiver: set, Path: cfg.Path, Limits: cfg.Limits, MediaTypes: types, Decode: decode.decode, Next: next,
	})
	if err != nil {
		return nil, err
	}
	if cfg.CORS.HasValue() {
		o := cfg.CORS.Get()
		h = cors.New(cors.Options{
			AllowedOrigins: o.AllowedOrigins, AllowedHeaders: o.AllowedHeaders, ExposedHeaders: o.ExposedHeaders,
			AllowedMethods: []string{http.MethodPost}, AllowCredentials: true, MaxAge: o.MaxAge,
		}).Handler(h)
	}
	return ingest.NewComponent(&cfg.Config, set.TelemetrySettings, map[string]http.Handler{cfg.Path: h}), nil
}
