package tap

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"

	"github.com/fermata-io/fermata/internal/wire"
)

// DefaultUpstream names the upstream that is served at "/".
const DefaultUpstream = "default"

// BuiltinDemo is the URL of the scripted model (package internal/demo), which the tap then runs itself.
const BuiltinDemo = "builtin:demo"

// Upstream is one LLM server behind the tap. In a configuration a bare URL stands for one with no other setting.
type Upstream struct {
	// URL is where requests go: http, https, h2c (HTTP/2 without TLS) or builtin:demo. A path in it is put in
	// front of the request's path.
	URL string `mapstructure:"url"`
	// Provider is recorded as the streams' provider. Default: guessed from the protocol and the answer.
	Provider string `mapstructure:"provider"`
	// Deployment is recorded as the streams' deployment. Default: the upstream's name, or the host for the
	// default upstream.
	Deployment string `mapstructure:"deployment"`
	// Region is recorded as the streams' region. Default: none.
	Region string `mapstructure:"region"`
}

// UnmarshalText takes a bare URL.
func (u *Upstream) UnmarshalText(b []byte) error {
	u.URL = string(b)
	return nil
}

// Config of a tap.
type Config struct {
	// Endpoint is the address to listen on. Default localhost:4382.
	Endpoint string `mapstructure:"endpoint"`
	// TLS makes the tap an HTTPS server. Default: plain HTTP.
	TLS configoptional.Optional[configtls.ServerConfig] `mapstructure:"tls"`
	// Upstreams by name. "default" (or "") is served at "/", any other at "/NAME/". No default upstream: "/" answers 404.
	Upstreams map[string]Upstream `mapstructure:"upstreams"`
	// Tenant of streams whose request has no X-Fermata-Tenant. Default "default".
	Tenant string `mapstructure:"tenant"`
	// FixedTenant makes the tap ignore X-Fermata-Tenant. Default false.
	FixedTenant bool `mapstructure:"fixed_tenant"`
	// FlushInterval is how often a running stream hands on its new chunks. Default 1s, at least 50ms.
	FlushInterval time.Duration `mapstructure:"flush_interval"`
	// MaxEventBytes bounds one event of an answer; a longer one passes but is recorded as malformed. Default 1 MiB.
	MaxEventBytes int `mapstructure:"max_event_bytes"`
	// MaxRequestScan is how many bytes of a request body are searched for the model's name. Default 1 MiB.
	MaxRequestScan int `mapstructure:"max_request_scan"`
	// MaxPendingChunks bounds the chunks of one stream that wait for the callback; more are merged. Default 4096.
	MaxPendingChunks int `mapstructure:"max_pending_chunks"`
	// MaxPendingStreams bounds the ended streams that wait for the callback; more are dropped. Default 20000.
	MaxPendingStreams int `mapstructure:"max_pending_streams"`
	// RetryFor is how long handing on segments is tried again after a retryable error. Default 5s.
	RetryFor time.Duration `mapstructure:"retry_for"`
	// DrainTimeout is how long Shutdown lets running streams go on. Default 2s.
	DrainTimeout time.Duration `mapstructure:"drain_timeout"`
	// ForwardText hands the text of the chunks to the sink, in memory. Default false. In a receiver's
	// configuration it is the receiver's own setting.
	ForwardText bool `mapstructure:"-"`
}

// NewDefaultConfig returns the documented defaults, without an upstream.
func NewDefaultConfig() *Config {
	return &Config{
		Endpoint:          "localhost:4382",
		Tenant:            wire.DefaultTenant,
		FlushInterval:     time.Second,
		MaxEventBytes:     1 << 20,
		MaxRequestScan:    1 << 20,
		MaxPendingChunks:  4096,
		MaxPendingStreams: 20_000,
		RetryFor:          5 * time.Second,
		DrainTimeout:      2 * time.Second,
	}
}

// Validate reports every problem, each with its YAML key.
func (c *Config) Validate() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if c.Endpoint == "" {
		bad("endpoint", "is empty; give host:port, for instance localhost:4382")
	}
	if !wire.ValidID(c.Tenant) {
		bad("tenant", "is %q; want 1 to 128 letters, digits and . _ : -", c.Tenant)
	}
	if c.FlushInterval < 50*time.Millisecond {
		bad("flush_interval", "is %s; want at least 50ms", c.FlushInterval)
	}
	for key, v := range map[string]int{
		"max_event_bytes": c.MaxEventBytes, "max_request_scan": c.MaxRequestScan,
		"max_pending_chunks": c.MaxPendingChunks, "max_pending_streams": c.MaxPendingStreams,
	} {
		if v < 1 {
			bad(key, "is %d; want at least 1", v)
		}
	}
	if c.RetryFor < 0 {
		bad("retry_for", "is negative")
	}
	if c.DrainTimeout < 0 {
		bad("drain_timeout", "is negative")
	}
	names := make([]string, 0, len(c.Upstreams))
	for name := range c.Upstreams {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, twice := c.Upstreams[DefaultUpstream]; name == "" && twice {
			bad("upstreams", `has both "" and "default"; they are the same upstream`)
		}
		if name != "" && !validName(name) {
			bad("upstreams", "%q is no name for an upstream; want letters, digits, . _ and -", name)
		}
		if _, err := parseUpstream(c.Upstreams[name].URL); err != nil {
			bad("upstreams::"+name+"::url", "%v", err)
		}
	}
	return errors.Join(errs...)
}

func validName(s string) bool {
	return wire.ValidID(s) && !strings.Contains(s, ":") && s != "." && s != ".."
}

// parseUpstream reads an upstream's URL.
func parseUpstream(s string) (*url.URL, error) {
	if s == BuiltinDemo {
		return &url.URL{Scheme: "http"}, nil // its address is known once it listens
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("is no URL; want something like http://127.0.0.1:8000")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "h2c":
		return nil, fmt.Errorf("has scheme %q; want http, https, h2c or %s", u.Scheme, BuiltinDemo)
	case u.Host == "":
		return nil, errors.New("names no host; want something like http://127.0.0.1:8000")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not have a query or fragment")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password; clients send their own Authorization header")
	}
	return u, nil
}
