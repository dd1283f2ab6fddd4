package chunkreceiver

import (
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/fermata-io/fermata/internal/ingest"
)

// serving is the default configuration with a listener on a free port.
func serving() *Config {
	cfg := NewDefaultConfig()
	cfg.HTTP = configoptional.Some(ingest.NewDefaultHTTP("127.0.0.1:0"))
	return cfg
}
