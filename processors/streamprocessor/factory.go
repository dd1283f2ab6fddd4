package streamprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
)

// Type is the component type in configurations.
var Type = component.MustNewType("fermata_streams")

// NewFactory makes the processor's factory.
func NewFactory() processor.Factory {
	return processor.NewFactory(Type, func() component.Config { return NewDefaultConfig() },
		processor.WithLogs(func(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Logs) (processor.Logs, error) {
			return newProcessor(set, cfg.(*Config), next)
		}, component.StabilityLevelBeta))
}
