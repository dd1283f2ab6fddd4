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
	require.Equal(t, "/collect", cfg.FaroPath)
	require.True(t, cfg.UserAgent)
	require.True(t, cfg.Bots.Drop)
	require.True(t, cfg.isOpen(), "a newcomer needs no key")
	require.False(t, cfg.RateLimit.PerIP.limited())
	require.Equal(t, 100_000, cfg.RateLimit.MaxIPs)
	require.Equal(t, 65536, cfg.RememberBeacons)
	require.EqualValues(t, 1<<20, cfg.Limits.MaxBodyBytes)
	require.Equal(t, 1000, cfg.Limits.MaxItems)

	cfg = load("all")
	require.Equal(t, "/beacon", cfg.Path)
	require.Empty(t, cfg.FaroPath)
	require.False(t, cfg.UserAgent)
	require.Equal(t, KeyConfig{
		Key: "shop-7f31c0", Tenant: "acme", App: "shop", AllowedOrigins: []string{"https://shop.example", "https://*.shop.example"},
		RateLimit: Rate{PerSecond: 500, Burst: 700},
	}, cfg.Keys[0])
	require.Equal(t, "[REDACTED]", cfg.Keys[0].Key.String())
	require.Equal(t, []string{"https://docs.example"}, cfg.AllowedOrigins)
	require.Equal(t, RateLimitConfig{PerIP: Rate{PerSecond: 5, Burst: 50}, PerKey: Rate{PerSecond: 100}, MaxIPs: 5000}, cfg.RateLimit)
	require.Equal(t, 200, cfg.RateLimit.PerKey.burst(), "two seconds' worth")
	require.Equal(t, BotsConfig{Drop: true, UserAgents: []string{"HeadlessChrome"}}, cfg.Bots)
	require.Equal(t, 1000, cfg.RememberBeacons)
	require.Equal(t, "/usr/share/GeoIP/country.mmdb", cfg.GeoIPFile)
	require.Equal(t, 50, cfg.Limits.MaxItems)
	require.False(t, cfg.isOpen())

	cfg = load("own_listener")
	require.Equal(t, "localhost:9000", cfg.HTTP.Get().NetAddr.Endpoint)
}

func TestConfigInvalid(t *testing.T) {
	for name, want := range map[string]string{
		"nowhere":    "no way in is configured",
		"both":       "ingest, http: give one of the two",
		"path":       `path: is "v1/rum"; want an absolute path`,
		"faro_path":  `faro_path: is "/v1/rum"; want an absolute path that is not path's`,
		"cors":       "http::cors: the receiver answers browsers itself; list the origins in allowed_origins",
		"origin":     `allowed_origins[1]: is "shop.example"; want scheme and host without a path`,
		"key_short":  "keys[0]::key: has 3 characters; want 8 to 128",
		"key_odd":    "keys[0]::key: has 10 characters; want 8 to 128 letters, digits",
		"key_twice":  "keys[1]::key: is that of keys[0]",
		"key_tenant": `keys[0]::tenant: is "a b"; want`,
		"key_origin": `keys[0]::allowed_origins[0]: is "https://shop.example/chat"; want`,
		"rate":       "rate_limit::per_ip::per_second: is -1",
		"burst":      "rate_limit::per_key::burst: is 5; want a number of requests, with per_second",
		"ips":        "rate_limit::max_ips: is 0",
		"proxy":      `trusted_proxies[1]: is "proxy.example"; want an address or network`,
		"bots":       "bots::user_agents[0]: is empty",
		"remember":   "remember_beacons: is -1",
	} {
		err := ingesttest.Load(t, "testdata/config/invalid.yaml", name, NewDefaultConfig())
		require.ErrorContains(t, err, want, name)
	}
}
