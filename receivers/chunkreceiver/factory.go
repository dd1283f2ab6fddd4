package chunkreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
)

// Type is the component's name in configurations.
var Type = component.MustNewType("fermata_chunks")

// NewFactory makes the receiver's factory.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		receiver.WithLogs(createLogs, component.StabilityLevelBeta))
}

func createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	parts, err := cfg.(*Config).parts(set, next)
	if err != nil {
		return nil, err
	}
	return &chunkReceiver{parts: parts}, nil
}
