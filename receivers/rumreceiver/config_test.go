package rumreceiver

import (
	"testing"

	"github.com/stretchr/testify/require"

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
	require.Equal(t, "/v1/rum", cfg.Path)
	require.True(t, cfg.UserAgent)
	require.False(t, cfg.CORS.HasValue())
	require.EqualValues(t, 1<<20, cfg.Limits.MaxBodyBytes)
	require.Equal(t, 1000, cfg.Limits.MaxItems)

	cfg = load("all")
	require.Equal(t, "/beacon", cfg.Path)
	require.False(t, cfg.UserAgent)
	require.Equal(t, []string{"https://shop.example"}, cfg.CORS.Get().AllowedOrigins)
	require.Equal(t, 50, cfg.Limits.MaxItems)

	cfg = load("own_listener")
	require.Equal(t, []string{"*"}, cfg.HTTP.Get().CORS.Get().AllowedOrigins)
}

func TestConfigInvalid(t *testing.T) {
	for name, want := range map[string]string{
		"nowhere":    "no way in is configured",
		"both":       "ingest, http: give one of the two",
		"path":       `path: is "v1/rum"; want an absolute path`,
		"cors_twice": "cors: stands beside http; use http::cors",
		"cors_empty": "cors::allowed_origins: is empty",
	} {
		err := ingesttest.Load(t, "testdata/config/invalid.yaml", name, NewDefaultConfig())
		require.ErrorContains(t, err, want, name)
	}
}
