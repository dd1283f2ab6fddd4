package rollup

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
)

// Type is the component's name in configurations.
var Type = component.MustNewType("fermata_rollups")

// NewFactory makes the extension's factory.
func NewFactory() extension.Factory {
	return extension.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			return newExtension(set.TelemetrySettings, cfg.(*Config))
		},
		component.StabilityLevelAlpha)
}
