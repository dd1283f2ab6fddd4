package chunkreceiver

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/otlp"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// DefaultEndpoint is where the receiver listens when `http` is given without an endpoint.
const DefaultEndpoint = "localhost:4381"

// DefaultPath is where streams are posted.
const DefaultPath = "/v1/chunks"

// Config is the receiver's configuration.
type Config struct {
	ingest.Config `mapstructure:",squash"`
	// Path is where streams are posted. Default /v1/chunks.
	Path string `mapstructure:"path"`
	// ForwardText lets the text of chunks go into the pipeline. Default false: it is measured and dropped.
	ForwardText bool `mapstructure:"forward_text"`
	// OTLP serves OTLP for logs and traces. Default: not served.
	OTLP OTLPConfig `mapstructure:"otlp"`
	// Tap is a reverse proxy that records what passes. Default: none; endpoint localhost:4382 when given.
	Tap configoptional.Optional[tap.Config] `mapstructure:"tap"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults. It serves nowhere until a way in is configured.
func NewDefaultConfig() *Config {
	return &Config{Config: ingest.NewDefaultConfig(DefaultEndpoint), Path: DefaultPath, OTLP: otlp.NewDefaultConfig(), Tap: configoptional.Default(*tap.NewDefaultConfig())}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if !c.Enabled() && !c.OTLP.Enabled() && !c.Tap.HasValue() {
		errs = append(errs, errors.New("no way in is configured: give ingest (the id of a fermata_ingest extension), http (a listener of the receiver's own), otlp or tap"))
	}
	if !strings.HasPrefix(c.Path, "/") {
		errs = append(errs, fmt.Errorf("path: is %q; want an absolute path, for instance %s", c.Path, DefaultPath))
	}
	return errors.Join(append(errs, c.Check(), c.OTLP.Check())...)
}
