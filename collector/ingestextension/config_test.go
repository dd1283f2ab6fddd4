package ingestextension

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func load(t *testing.T, file, name string) (*Config, error) {
	t.Helper()
	all, err := confmaptest.LoadConf("testdata/config/" + file)
	require.NoError(t, err)
	sub, err := all.Sub(name)
	require.NoError(t, err)
	cfg := NewDefaultConfig()
	if err := sub.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfig(t *testing.T) {
	cfg, err := load(t, "valid.yaml", "default")
	require.NoError(t, err)
	require.Equal(t, "localhost:4381", cfg.NetAddr.Endpoint)
	require.EqualValues(t, 20<<20, cfg.MaxRequestBodySize)
	require.Equal(t, 30*time.Second, cfg.ReadTimeout)
	require.NotNil(t, cfg.CompressionAlgorithms, "nil would make confighttp decompress")
	require.Empty(t, cfg.CompressionAlgorithms)

	cfg, err = load(t, "valid.yaml", "all")
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:9000", cfg.NetAddr.Endpoint)
	require.EqualValues(t, 1<<20, cfg.MaxRequestBodySize)
	require.Equal(t, 5*time.Second, cfg.ReadTimeout)
	require.Equal(t, []string{"https://shop.example"}, cfg.CORS.Get().AllowedOrigins)
	require.Equal(t, []string{"gzip"}, cfg.CompressionAlgorithms)
}

func TestConfigInvalid(t *testing.T) {
	for name, want := range map[string]string{
		"no_endpoint": "endpoint: is empty",
		"negative":    "max_request_body_size: is negative",
		"unknown":     "endpont",
	} {
		_, err := load(t, "invalid.yaml", name)
		require.ErrorContains(t, err, want, name)
	}
}
