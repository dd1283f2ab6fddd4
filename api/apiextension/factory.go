package apiextension

import (
	"context"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/storage/requests"
)

// Type is the extension's component type.
var Type = component.MustNewType("fermata_api")

// Source is what pages beside the API show.
type Source struct {
	// Request returns a joined request with its findings; requests.ErrNotFound when there is none.
	Request func(ctx context.Context, tenant, id string) (*requests.Request, error)
	// Playground is the configuration of the chat page.
	Playground PlaygroundConfig
	// Logger gets the pages' faults.
	Logger *zap.Logger
}

// Pages are served beside the API, on its listener. Their paths are not below /v1/.
type Pages struct {
	// Requests is what the path of a readable page of one request begins with.
	Requests string
	// Playground is the path of the chat page; it is served when it is enabled.
	Playground string
	// New makes the handlers, by the beginning of their paths. One that is an io.Closer is closed at shutdown.
	New func(Source) (map[string]http.Handler, error)
}

// NewFactory returns the factory of `fermata_api`. pages may be nil: then only the API is served. more are
// checks of /readyz after the extension's own.
func NewFactory(pages *Pages, more ...api.ReadyCheck) extension.Factory {
	create := func(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
		return &Extension{cfg: cfg.(*Config), set: set.TelemetrySettings, version: set.BuildInfo.Version, pages: pages, more: more}, nil
	}
	return extension.NewFactory(Type, func() component.Config { return NewDefaultConfig() }, create, component.StabilityLevelAlpha)
}
