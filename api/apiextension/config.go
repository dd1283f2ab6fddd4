package apiextension

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/storage/clickhouse"
)

// DefaultEndpoint is where the API is without an `endpoint`: loopback only.
const DefaultEndpoint = "localhost:4380"

// Config is the listener (every setting of confighttp) and what stands behind it.
type Config struct {
	confighttp.ServerConfig `mapstructure:",squash"`
	// ClickHouse is the database that is read. clickhouse::dsn is required.
	ClickHouse clickhouse.Config `mapstructure:"clickhouse"`
	// QueryTimeout bounds the queries of one request. Default 30 s.
	QueryTimeout time.Duration `mapstructure:"query_timeout"`
	// MetricsURL is the Prometheus endpoint of this Collector's own telemetry; its text is added to /metrics. Default:
	// none.
	MetricsURL string `mapstructure:"metrics_url"`
	// Playground is a chat page at /playground/ that asks models through the tap of the same process. Default: off, since
	// whoever reaches the page can spend the model's tokens.
	Playground PlaygroundConfig `mapstructure:"playground"`
}

// PlaygroundConfig are the settings of the chat page.
type PlaygroundConfig struct {
	// Enabled serves the page.
	Enabled bool `mapstructure:"enabled"`
	// Upstreams are the tap's that it offers, by name, in that order. Required when enabled.
	Upstreams []string `mapstructure:"upstreams"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults: loopback, no TLS, no authentication.
func NewDefaultConfig() *Config {
	s := ingest.NewDefaultHTTP(DefaultEndpoint)
	s.MaxRequestBodySize = 64 << 10 // only GET is served
	s.WriteTimeout = 2 * time.Minute
	return &Config{ServerConfig: s, ClickHouse: clickhouse.NewDefaultConfig(), QueryTimeout: 30 * time.Second}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if c.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("endpoint: is empty; want host:port, for instance "+DefaultEndpoint))
	}
	if c.QueryTimeout <= 0 {
		errs = append(errs, fmt.Errorf("query_timeout: %s is not positive", c.QueryTimeout))
	}
	if c.Playground.Enabled && len(c.Playground.Upstreams) == 0 {
		errs = append(errs, errors.New("playground::upstreams: is empty; name the tap's upstreams that the page may ask, or set playground::enabled to false"))
	}
	if c.MetricsURL != "" {
		if u, err := url.Parse(c.MetricsURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, errors.New("metrics_url: is not an http or https URL"))
		}
	}
	return errors.Join(errs...)
}
