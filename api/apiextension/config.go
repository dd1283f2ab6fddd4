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
	if c.MetricsURL != "" {
		if u, err := url.Parse(c.MetricsURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, errors.New("metrics_url: is not an http or https URL"))
		}
	}
	return errors.Join(errs...)
}
