package rumreceiver

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/fermata-io/fermata/internal/ingest"
)

// DefaultEndpoint is where the receiver listens when `http` is given without an endpoint.
const DefaultEndpoint = "localhost:4381"

// DefaultPath is where beacons are posted.
const DefaultPath = "/v1/rum"

// Config is the receiver's configuration.
type Config struct {
	ingest.Config `mapstructure:",squash"`
	// Path is where beacons are posted. Default /v1/rum.
	Path string `mapstructure:"path"`
	// CORS lets pages of other origins read the answers and send other media types than text/plain. It is
	// for endpoints mounted on an extension; with a listener of its own use http::cors.
	CORS configoptional.Optional[confighttp.CORSConfig] `mapstructure:"cors"`
	// UserAgent fills browser, os and device from the User-Agent header where a beacon has none of them.
	// Default true. The header itself is never kept.
	UserAgent bool `mapstructure:"user_agent"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults: a beacon of at most 1 MiB and 1000 streams. It serves
// nowhere until `ingest` or `http` is given.
func NewDefaultConfig() *Config {
	c := &Config{Config: ingest.NewDefaultConfig(DefaultEndpoint), Path: DefaultPath, UserAgent: true}
	c.Limits.MaxBodyBytes = 1 << 20
	c.Limits.MaxItems = 1000
	c.Limits.MaxChunks = 50_000
	return c
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if !c.Enabled() {
		errs = append(errs, errors.New("no way in is configured: give ingest (the id of a fermata_ingest extension) or http (a listener of the receiver's own)"))
	}
	if !strings.HasPrefix(c.Path, "/") {
		errs = append(errs, fmt.Errorf("path: is %q; want an absolute path, for instance %s", c.Path, DefaultPath))
	}
	if c.CORS.HasValue() {
		if c.HTTP.HasValue() {
			errs = append(errs, errors.New("cors: stands beside http; use http::cors"))
		}
		if len(c.CORS.Get().AllowedOrigins) == 0 {
			errs = append(errs, errors.New(`cors::allowed_origins: is empty; list the pages' origins, for instance "https://shop.example"`))
		}
	}
	return errors.Join(append(errs, c.Check())...)
}
