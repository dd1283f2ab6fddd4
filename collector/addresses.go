package collector

import (
	"context"
	"maps"
	"net"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/receiver"
)

// Addressed is a component that listens; the map's keys are the names of the ready file (api, ingest, tap,
// otlp_grpc, otlp_http), its values host:port as bound. It is asked after the collector runs.
type Addressed interface {
	Addrs() map[string]string
}

// addresses collects the components that listen, so that ports chosen by the kernel can be told.
type addresses struct {
	mu    sync.Mutex
	parts []Addressed
}

// listener is a component with one address; name is its key in the ready file.
type listener struct {
	name string
	at   interface{ Addr() net.Addr }
}

func (l listener) Addrs() map[string]string {
	if addr := l.at.Addr(); addr != nil {
		return map[string]string{l.name: addr.String()}
	}
	return nil
}

func (a *addresses) add(id component.ID, c component.Component) {
	l, ok := c.(Addressed)
	if one, has := c.(interface{ Addr() net.Addr }); has && !ok {
		l, ok = listener{strings.TrimPrefix(id.Type().String(), "fermata_"), one}, true
	}
	if ok {
		a.mu.Lock()
		a.parts = append(a.parts, l)
		a.mu.Unlock()
	}
}

func (a *addresses) all() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]string{}
	for _, p := range a.parts {
		maps.Copy(out, p.Addrs())
	}
	return out
}

// extension wraps a factory so that what it makes is remembered.
func (a *addresses) extension(f extension.Factory) extension.Factory {
	return extension.NewFactory(f.Type(), f.CreateDefaultConfig,
		func(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
			e, err := f.Create(ctx, set, cfg)
			if err == nil {
				a.add(set.ID, e)
			}
			return e, err
		}, f.Stability())
}

// receiver wraps a factory of a logs receiver so that what it makes is remembered.
func (a *addresses) receiver(f receiver.Factory) receiver.Factory {
	return receiver.NewFactory(f.Type(), f.CreateDefaultConfig,
		receiver.WithLogs(func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
			r, err := f.CreateLogs(ctx, set, cfg, next)
			if err == nil {
				a.add(set.ID, r)
			}
			return r, err
		}, f.LogsStability()))
}
