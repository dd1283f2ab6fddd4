package apiextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
)

// Type is the extension's component type.
var Type = component.MustNewType("fermata_api")

// NewFactory returns the factory of `fermata_api`.
func NewFactory() extension.Factory {
	return extension.NewFactory(Type, func() component.Config { return NewDefaultConfig() }, create, component.StabilityLevelAlpha)
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return &Extension{cfg: cfg.(*Config), set: set.TelemetrySettings, version: set.BuildInfo.Version}, nil
}
