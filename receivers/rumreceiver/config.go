package rumreceiver

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

// DefaultEndpoint is where the receiver listens when `http` is given without an endpoint.
const DefaultEndpoint = "localhost:4381"

// Paths of the two endpoints unless configured otherwise.
const (
	DefaultPath     = "/v1/rum"  // Fermata's own beacons
	DefaultFaroPath = "/collect" // bodies of the Grafana Faro web SDK
)

// Config is the receiver's configuration. As it comes it takes every beacon of every page; what is served to the public
// needs keys, allowed_origins and rate_limit.
type Config struct {
	ingest.Config `mapstructure:",squash"`
	// Path is where beacons are posted. Default /v1/rum.
	Path string `mapstructure:"path"`
	// FaroPath is where the Grafana Faro web SDK posts. Default /collect; empty: nowhere.
	FaroPath string `mapstructure:"faro_path"`
	// Keys are the write keys; with any, a request without one of them is answered with 401. Default: none.
	Keys []KeyConfig `mapstructure:"keys"`
	// AllowedOrigins are the origins whose pages may send, for keys without a list of their own and where there are
	// no keys: https://shop.example, https://*.shop.example, or "null" for pages without one. Default: all.
	AllowedOrigins []string `mapstructure:"allowed_origins"`
	// RateLimit bounds how many requests are taken. Default: unlimited.
	RateLimit RateLimitConfig `mapstructure:"rate_limit"`
	// TrustedProxies are addresses and networks whose X-Forwarded-For is believed. Default: none.
	TrustedProxies []string `mapstructure:"trusted_proxies"`
	// Bots says which programs are not counted as users.
	Bots BotsConfig `mapstructure:"bots"`
	// RememberBeacons is how many streams are remembered for dropping what is sent twice; 0: none. Default 65536.
	RememberBeacons int `mapstructure:"remember_beacons"`
	// UserAgent fills browser, os and device from the User-Agent header where a beacon has none of them.
	// Default true. The header itself is never kept.
	UserAgent bool `mapstructure:"user_agent"`
	// GeoIPFile is a MaxMind DB of countries, from which country is filled; the address is never kept. Default: none.
	GeoIPFile string `mapstructure:"geoip_file"`
}

// KeyConfig is one write key. It stands in the app's pages, so it is no secret: it says whose the beacons are.
type KeyConfig struct {
	// Key is sent as the query parameter `key` or the header X-API-Key: 8 to 128 letters, digits and . _ : -
	Key configopaque.String `mapstructure:"key"`
	// Tenant is the tenant of all records sent with it, whatever they say. Default: default.
	Tenant string `mapstructure:"tenant"`
	// App is the app of all records sent with it. Empty: as they say.
	App string `mapstructure:"app"`
	// AllowedOrigins stand in place of the receiver's.
	AllowedOrigins []string `mapstructure:"allowed_origins"`
	// RateLimit stands in place of rate_limit::per_key.
	RateLimit Rate `mapstructure:"rate_limit"`
}

// RateLimitConfig bounds requests by token buckets; what is beyond is answered with 429.
type RateLimitConfig struct {
	// PerIP is for each client address (IPv6: each /64). Default: unlimited.
	PerIP Rate `mapstructure:"per_ip"`
	// PerKey is for each key without a rate of its own; without keys, for all requests together. Default: unlimited.
	PerKey Rate `mapstructure:"per_key"`
	// MaxIPs is how many addresses are remembered; those that were silent longest are forgotten first. Default 100000.
	MaxIPs int `mapstructure:"max_ips"`
}

// Rate is a token bucket.
type Rate struct {
	// PerSecond is how many requests are taken in the long run; 0: unlimited.
	PerSecond float64 `mapstructure:"per_second"`
	// Burst is how many are taken at once; 0: two seconds' worth.
	Burst int `mapstructure:"burst"`
}

// limited reports whether there is a limit.
func (r Rate) limited() bool { return r.PerSecond > 0 }

func (r Rate) burst() int {
	if r.Burst > 0 {
		return r.Burst
	}
	return max(1, int(math.Ceil(2*r.PerSecond)))
}

// BotsConfig is the filter of programs. Their beacons are answered with 204 and dropped.
type BotsConfig struct {
	// Drop turns the filter on: crawlers and checkers that say in User-Agent what they are. Default true.
	Drop bool `mapstructure:"drop"`
	// UserAgents are further parts of User-Agent headers to drop, without regard to case, for instance HeadlessChrome.
	UserAgents []string `mapstructure:"user_agents"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults: a beacon of at most 1 MiB and 1000 streams, from everybody. It serves
// nowhere until `ingest` or `http` is given.
func NewDefaultConfig() *Config {
	c := &Config{
		Config: ingest.NewDefaultConfig(DefaultEndpoint), Path: DefaultPath, FaroPath: DefaultFaroPath, UserAgent: true,
		RateLimit: RateLimitConfig{MaxIPs: 100_000}, Bots: BotsConfig{Drop: true}, RememberBeacons: 1 << 16,
	}
	c.Limits.MaxBodyBytes = 1 << 20
	c.Limits.MaxItems = 1000
	c.Limits.MaxChunks = 50_000
	return c
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !c.Enabled() {
		fail("no way in is configured: give ingest (the id of a fermata_ingest extension) or http (a listener of the receiver's own)")
	}
	if !strings.HasPrefix(c.Path, "/") {
		fail("path: is %q; want an absolute path, for instance %s", c.Path, DefaultPath)
	}
	if c.FaroPath != "" && (!strings.HasPrefix(c.FaroPath, "/") || c.FaroPath == c.Path) {
		fail("faro_path: is %q; want an absolute path that is not path's, for instance %s, or nothing", c.FaroPath, DefaultFaroPath)
	}
	if c.HTTP.HasValue() && c.HTTP.Get().CORS.HasValue() {
		fail("http::cors: the receiver answers browsers itself; list the origins in allowed_origins")
	}
	checkOrigins(fail, "allowed_origins", c.AllowedOrigins)
	checkRate(fail, "rate_limit::per_ip", c.RateLimit.PerIP)
	checkRate(fail, "rate_limit::per_key", c.RateLimit.PerKey)
	if c.RateLimit.MaxIPs < 1 {
		fail("rate_limit::max_ips: is %d; want at least 1", c.RateLimit.MaxIPs)
	}
	if c.RememberBeacons < 0 {
		fail("remember_beacons: is %d; want 0 or more", c.RememberBeacons)
	}
	for i, s := range c.TrustedProxies {
		if _, err := parseNetwork(s); err != nil {
			fail("trusted_proxies[%d]: is %q; want an address or network, for instance 10.0.0.0/8", i, s)
		}
	}
	for i, s := range c.Bots.UserAgents {
		if s == "" {
			fail("bots::user_agents[%d]: is empty and would drop everything", i)
		}
	}
	c.checkKeys(fail)
	return errors.Join(append(errs, c.Check())...)
}

type failer func(format string, args ...any)

func (c *Config) checkKeys(fail failer) {
	seen := map[configopaque.String]int{}
	for i, k := range c.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		if len(k.Key) < 8 || !wire.ValidID(string(k.Key)) {
			fail("%s::key: has %d characters; want 8 to 128 letters, digits and . _ : -", at, len(k.Key))
		}
		if first, ok := seen[k.Key]; ok {
			fail("%s::key: is that of keys[%d]; give each app a key of its own", at, first)
		}
		seen[k.Key] = i
		if k.Tenant != "" && !wire.ValidID(k.Tenant) {
			fail("%s::tenant: is %q; want at most 128 letters, digits and . _ : -", at, k.Tenant)
		}
		if len(k.App) > c.Limits.MaxStringBytes {
			fail("%s::app: has %d bytes, at most %d are allowed", at, len(k.App), c.Limits.MaxStringBytes)
		}
		checkOrigins(fail, at+"::allowed_origins", k.AllowedOrigins)
		checkRate(fail, at+"::rate_limit", k.RateLimit)
	}
}

func checkOrigins(fail failer, at string, list []string) {
	for i, s := range list {
		if _, err := parseOrigin(s); err != nil {
			fail("%s[%d]: is %q; %w", at, i, s, err)
		}
	}
}

func checkRate(fail failer, at string, r Rate) {
	if r.PerSecond < 0 || math.IsNaN(r.PerSecond) || math.IsInf(r.PerSecond, 0) {
		fail("%s::per_second: is %g; want a number of requests, or 0 for no limit", at, r.PerSecond)
	}
	if r.Burst < 0 || (r.Burst > 0 && r.PerSecond == 0) {
		fail("%s::burst: is %d; want a number of requests, with per_second", at, r.Burst)
	}
}

// parseNetwork reads an address or a network.
func parseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}
