package collector

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/fermata-io/fermata/api"
)

//go:embed configs/up.yaml
var upConfig string

// running is a collector inside this process.
type running struct {
	addrs *addresses
	gate  *gate
	col   *otelcol.Collector
	ended chan error // gets one error, or nil, when the collector has ended
}

func buildInfo() component.BuildInfo {
	return component.BuildInfo{Command: "fermata", Description: "Observability for streamed LLM answers", Version: Version}
}

// settings makes the collector from configuration URIs; values may be nil; checks are added to /readyz.
func settings(addrs *addresses, uris []string, values map[string]any, checks ...api.ReadyCheck) otelcol.CollectorSettings {
	providers := []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory()}
	if values != nil {
		providers = append(providers, newUpProviderFactory(values))
	}
	return otelcol.CollectorSettings{
		BuildInfo: buildInfo(),
		Factories: func() (otelcol.Factories, error) { return components(addrs, checks...) },
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: uris, ProviderFactories: providers, DefaultScheme: "env",
		}},
	}
}

// startCollector runs a configuration and returns once its components have started.
func startCollector(ctx context.Context, yaml string, values map[string]any) (*running, error) {
	r := &running{addrs: &addresses{}, gate: &gate{}, ended: make(chan error, 1)}
	set := settings(r.addrs, []string{"yaml:" + yaml}, values, r.gate.check())
	set.DisableGracefulShutdown = true // `up` owns the signals: the engine must outlive the collector
	col, err := otelcol.NewCollector(set)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	r.col = col
	go func() { r.ended <- col.Run(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for col.GetState() != otelcol.StateRunning {
		select {
		case err := <-r.ended:
			if err == nil {
				err = errors.New("it ended at once")
			}
			return nil, fmt.Errorf("collector: %w", err)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), r.stop())
		case <-tick.C:
		}
	}
	return r, nil
}

// stop ends the collector: receivers first, then the queue is flushed or left on disk.
func (r *running) stop() error {
	r.col.Shutdown()
	return <-r.ended
}
