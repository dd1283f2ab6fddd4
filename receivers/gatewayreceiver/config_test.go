package gatewayreceiver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

func TestConfig(t *testing.T) {
	load := func(name string) *Config {
		t.Helper()
		cfg := NewDefaultConfig()
		require.NoError(t, ingesttest.Load(t, "testdata/config/valid.yaml", name, cfg), name)
		return cfg
	}
	cfg := load("mounted")
	require.Equal(t, "fermata_ingest", cfg.Ingest.String())
	require.False(t, cfg.HTTP.HasValue())
	require.Equal(t, "/v1/gateway", cfg.Path)
	require.Equal(t, ingest.NewDefaultLimits(), cfg.Limits)

	cfg = load("own_listener")
	require.Equal(t, "localhost:9000", cfg.HTTP.Get().NetAddr.Endpoint)
	require.Equal(t, "/gw", cfg.Path)
	require.Equal(t, 50, cfg.Limits.MaxItems)
}

func TestConfigInvalid(t *testing.T) {
	for name, want := range map[string]string{
		"nowhere": "no way in is configured",
		"both":    "ingest, http: give one of the two",
		"path":    `path: is "v1/gateway"; want an absolute path`,
		"slash":   `path: is "/v1/gateway/"; want an absolute path without a final slash`,
		"limits":  "limits::max_chunks: is 0",
	} {
		err := ingesttest.Load(t, "testdata/config/invalid.yaml", name, NewDefaultConfig())
		require.ErrorContains(t, err, want, name)
	}
}
