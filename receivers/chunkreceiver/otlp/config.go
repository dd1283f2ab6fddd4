package otlp

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/fermata-io/fermata/internal/semconv"
)

// Default endpoints of the two protocols.
const (
	DefaultGRPCEndpoint = "localhost:4317"
	DefaultHTTPEndpoint = "localhost:4318"
)

// Config says where OTLP is served and which events are chunks. Without grpc and http nothing is served.
type Config struct {
	// GRPC serves OTLP/gRPC. Default endpoint localhost:4317.
	GRPC configoptional.Optional[configgrpc.ServerConfig] `mapstructure:"grpc"`
	// HTTP serves OTLP/HTTP, protobuf and JSON, at /v1/traces and /v1/logs. Default endpoint localhost:4318.
	HTTP configoptional.Optional[confighttp.ServerConfig] `mapstructure:"http"`
	// ChunkEvents names the span events and log records that stand for one chunk each. Default: the names
	// known to be in use (README).
	ChunkEvents []string `mapstructure:"chunk_events"`
	// RememberStreams bounds the streams whose start is remembered, for senders of one log record for each
	// chunk that don't say when the request began. Default 100 000, about 20 MB when full.
	RememberStreams int `mapstructure:"remember_streams"`
	// RememberFor is how long a start is remembered after the first chunk. Default 1 hour.
	RememberFor time.Duration `mapstructure:"remember_for"`

	// prevent unkeyed literals
	_ struct{}
}

// NewDefaultConfig returns the documented defaults; it serves nothing until grpc or http is given.
func NewDefaultConfig() Config {
	g := configgrpc.NewDefaultServerConfig()
	g.NetAddr = confignet.AddrConfig{Endpoint: DefaultGRPCEndpoint, Transport: confignet.TransportTypeTCP}
	g.MaxRecvMsgSizeMiB = 32
	// The default of 32 kB a connection costs more system calls than it saves memory.
	g.ReadBufferSize = 512 * 1024
	h := confighttp.NewDefaultServerConfig()
	h.NetAddr = confignet.AddrConfig{Endpoint: DefaultHTTPEndpoint, Transport: confignet.TransportTypeTCP}
	h.MaxRequestBodySize = 32 << 20
	h.ReadHeaderTimeout = 10 * time.Second
	h.ReadTimeout = 30 * time.Second
	h.WriteTimeout = 60 * time.Second
	return Config{
		GRPC: configoptional.Default(g), HTTP: configoptional.Default(h),
		ChunkEvents: semconv.DefaultChunkEvents(), RememberStreams: 100_000, RememberFor: time.Hour,
	}
}

// Enabled reports whether OTLP is to be served.
func (c *Config) Enabled() bool { return c.GRPC.HasValue() || c.HTTP.HasValue() }

// Check joins every problem, each with its key below otlp.
func (c *Config) Check() error {
	var errs []error
	if c.RememberStreams < 1 {
		errs = append(errs, fmt.Errorf("otlp::remember_streams: is %d; want at least 1", c.RememberStreams))
	}
	if c.RememberFor <= 0 {
		errs = append(errs, fmt.Errorf("otlp::remember_for: is %s; want more than 0", c.RememberFor))
	}
	for i, n := range c.ChunkEvents {
		if n == "" {
			errs = append(errs, fmt.Errorf("otlp::chunk_events[%d]: is empty", i))
		}
	}
	if c.GRPC.HasValue() && c.HTTP.HasValue() {
		g, h := c.GRPC.Get().NetAddr.Endpoint, c.HTTP.Get().NetAddr.Endpoint
		if g == h && !anyPort(g) {
			errs = append(errs, fmt.Errorf("otlp::grpc, otlp::http: both have the endpoint %s; give each its own port", g))
		}
	}
	return errors.Join(errs...)
}

func anyPort(endpoint string) bool { return len(endpoint) > 1 && endpoint[len(endpoint)-2:] == ":0" }
