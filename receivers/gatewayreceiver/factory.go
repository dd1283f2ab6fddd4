package gatewayreceiver

import (
	"context"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/fermata-io/fermata/internal/ingest"
)

// Type is the component's name in configurations.
var Type = component.MustNewType("fermata_gateway")

// NewFactory makes the receiver's factory.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		receiver.WithLogs(createLogs, component.StabilityLevelBeta))
}

func createLogs(_ context.Context, set receiver.Settings, config component.Config, next consumer.Logs) (receiver.Logs, error) {
	cfg := config.(*Config)
	routes := map[string]http.Handler{}
	decoders := map[string]ingest.DecodeFunc{cfg.Path: decodeGateway}
	for i := range formats {
		decoders[cfg.Path+"/"+formats[i].name] = decodeFormat(&formats[i])
	}
	for path, decode := range decoders {
		h, err := ingest.NewHandler(ingest.HandlerConfig{Receiver: set, Path: path, Limits: cfg.Limits, Decode: decode, Next: next})
		if err != nil {
			return nil, err
		}
		routes[path] = h
	}
	return ingest.NewComponent(&cfg.Config, set.TelemetrySettings, routes), nil
}
