package gatewayreceiver

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/component"

	"github.com/fermata-io/fermata/internal/ingest"
)

// DefaultEndpoint is where the receiver listens when `http` is given without an endpoint.
const DefaultEndpoint = "localhost:4381"

// DefaultPath is where records are posted; LiteLLM's callback may add /litellm.
const DefaultPath = "/v1/gateway"

// Config is the receiver's configuration.
type Config struct {
	ingest.Config `mapstructure:",squash"`
	// Path is where records are posted. Default /v1/gateway.
	Path string `mapstructure:"path"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults. It serves nowhere until `ingest` or `http` is given.
func NewDefaultConfig() *Config {
	return &Config{Config: ingest.NewDefaultConfig(DefaultEndpoint), Path: DefaultPath}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if !c.Enabled() {
		errs = append(errs, errors.New("no way in is configured: give ingest (the id of a fermata_ingest extension) or http (a listener of the receiver's own)"))
	}
	if !strings.HasPrefix(c.Path, "/") || strings.HasSuffix(c.Path, "/") {
		errs = append(errs, fmt.Errorf("path: is %q; want an absolute path without a final slash, for instance %s", c.Path, DefaultPath))
	}
	return errors.Join(append(errs, c.Check())...)
}
