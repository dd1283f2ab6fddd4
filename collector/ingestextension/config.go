package ingestextension

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/fermata-io/fermata/internal/ingest"
)

// DefaultEndpoint is where the listener is without an `endpoint`: loopback only.
const DefaultEndpoint = "localhost:4381"

// Config is the listener: every setting of confighttp.
type Config struct {
	confighttp.ServerConfig `mapstructure:",squash"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults: loopback, no TLS, no authentication, 20 MiB a request.
func NewDefaultConfig() *Config {
	return &Config{ServerConfig: ingest.NewDefaultHTTP(DefaultEndpoint)}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if c.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("endpoint: is empty; want host:port, for instance "+DefaultEndpoint))
	}
	if c.MaxRequestBodySize < 0 {
		errs = append(errs, errors.New("max_request_body_size: is negative; want a number of bytes"))
	}
	return errors.Join(errs...)
}
