package rumreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
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
	return newReceiver(set, config.(*Config), next)
}
