package chunkreceiver

import (
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/fermata-io/fermata/receivers/chunkreceiver/otlp"
)

// OTLPConfig says where OTLP is served; its zero value serves nothing. See the README for the keys.
type OTLPConfig = otlp.Config

// otlpPart serves OTLP for logs and traces.
func (c *Config) otlpPart(set receiver.Settings, next consumer.Logs) (*otlp.Server, error) {
	return otlp.New(otlp.Settings{
		Receiver: set, Config: &c.OTLP, Limits: c.Limits, ForwardText: c.ForwardText, Next: next,
	})
}
