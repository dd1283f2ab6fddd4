package collector

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// upScheme is the scheme of the values that `fermata up` fills into configs/up.yaml. A provider of its own
// keeps passwords out of the process environment and out of files.
const upScheme = "up"

type upProvider struct{ values map[string]any }

func newUpProviderFactory(values map[string]any) confmap.ProviderFactory {
	return confmap.NewProviderFactory(func(confmap.ProviderSettings) confmap.Provider {
		return &upProvider{values: values}
	})
}

func (p *upProvider) Retrieve(_ context.Context, uri string, _ confmap.WatcherFunc) (*confmap.Retrieved, error) {
	key, ok := strings.CutPrefix(uri, upScheme+":")
	if !ok {
		return nil, fmt.Errorf("%q is not of scheme %s", uri, upScheme)
	}
	v, ok := p.values[key]
	if !ok {
		known := make([]string, 0, len(p.values))
		for k := range p.values {
			known = append(known, k)
		}
		sort.Strings(known)
		return nil, fmt.Errorf("no value %q; known: %s", key, strings.Join(known, ", "))
	}
	return confmap.NewRetrieved(v)
}

func (*upProvider) Scheme() string { return upScheme }

func (*upProvider) Shutdown(context.Context) error { return nil }
