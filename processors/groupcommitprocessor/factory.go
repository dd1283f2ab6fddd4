package groupcommitprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"
)

// Type is the processor's name in configurations.
var Type = component.MustNewType("fermata_group_commit")

// NewFactory makes the processor's factory.
func NewFactory() processor.Factory {
	return processor.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		processor.WithLogs(createLogs, component.StabilityLevelBeta))
}

func createLogs(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Logs) (processor.Logs, error) {
	return newProcessor(set, cfg.(*Config), next)
}
