package chunkreceiver

import (
	"testing"
	"time"

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
	require.Equal(t, "/v1/chunks", cfg.Path)
	require.False(t, cfg.ForwardText)
	require.Equal(t, ingest.NewDefaultLimits(), cfg.Limits)

	cfg = load("named")
	require.Equal(t, "fermata_ingest/public", cfg.Ingest.String())
	require.Equal(t, "/ingest/chunks", cfg.Path)
	require.True(t, cfg.ForwardText)

	cfg = load("own_listener")
	require.Nil(t, cfg.Ingest)
	require.Equal(t, "localhost:9000", cfg.HTTP.Get().NetAddr.Endpoint)
	require.EqualValues(t, 1_000_000, cfg.HTTP.Get().MaxRequestBodySize)
	require.Equal(t, 30*time.Second, cfg.HTTP.Get().ReadTimeout)
	require.Equal(t, ingest.LimitsConfig{
		MaxBodyBytes: 2_000_000, MaxInFlightBytes: 4_000_000, MaxInFlightRequests: 10, MaxItems: 50, MaxChunks: 1000,
		MaxStringBytes: 256, MaxFuture: time.Minute, RetryAfter: 5 * time.Second,
	}, cfg.Limits)

	cfg = load("own_listener_defaults")
	require.Equal(t, DefaultEndpoint, cfg.HTTP.Get().NetAddr.Endpoint)
}

func TestConfigInvalid(t *testing.T) {
	for name, want := range map[string][]string{
		"nowhere": {"no way in is configured", "fermata_ingest"},
		"both":    {"ingest, http: give one of the two"},
		"path":    {`path: is "v1/chunks"; want an absolute path`},
		"limits":  {"limits::max_body_bytes: is 10", "limits::max_items: is 0", "limits::retry_after: is 10ms"},
		"unknown": {"limit"},
	} {
		err := ingesttest.Load(t, "testdata/config/invalid.yaml", name, NewDefaultConfig())
		for _, w := range want {
			require.ErrorContains(t, err, w, name)
		}
	}
}
