package ingest

import (
	"context"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
)

// Component serves a receiver's endpoints for as long as it runs.
type Component struct {
	cfg    *Config
	set    component.TelemetrySettings
	routes map[string]http.Handler

	mu  sync.Mutex
	att *Attachment
}

var _ component.Component = (*Component)(nil)

// NewComponent makes a Component that serves routes, by pattern, where cfg says.
func NewComponent(cfg *Config, set component.TelemetrySettings, routes map[string]http.Handler) *Component {
	return &Component{cfg: cfg, set: set, routes: routes}
}

// Start mounts the routes or opens the listener. The error names the setting.
func (c *Component) Start(ctx context.Context, host component.Host) error {
	att, err := c.cfg.Attach(ctx, host, c.set, c.routes)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.att = att
	return nil
}

// Shutdown takes the routes away and waits for the requests in work. It may be called more than once, and
// without Start.
func (c *Component) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	att := c.att
	c.att = nil
	c.mu.Unlock()
	return att.Detach(ctx)
}

// Addr is the bound address; nil while it doesn't run.
func (c *Component) Addr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.att == nil {
		return nil
	}
	return c.att.Addr()
}
