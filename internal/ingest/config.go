package ingest

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/fermata-io/fermata/internal/wire"
)

// Config says where a receiver's HTTP endpoint is served and what it takes. Receivers squash it into their
// own configuration.
type Config struct {
	// Ingest names the fermata_ingest extension on whose listener the endpoint is mounted.
	Ingest *component.ID `mapstructure:"ingest"`
	// HTTP makes the receiver open a listener of its own instead.
	HTTP configoptional.Optional[confighttp.ServerConfig] `mapstructure:"http"`
	// Limits bound requests and records.
	Limits LimitsConfig `mapstructure:"limits"`
}

// LimitsConfig bounds what one endpoint takes and holds. Every limit must be set; NewDefaultLimits has the
// documented defaults.
type LimitsConfig struct {
	// MaxBodyBytes bounds a body after decompression; more is answered with 413. Default 32 MiB.
	MaxBodyBytes int64 `mapstructure:"max_body_bytes"`
	// MaxInFlightBytes bounds the bodies held at one time; beyond it requests get 429. Default 128 MiB.
	MaxInFlightBytes int64 `mapstructure:"max_in_flight_bytes"`
	// MaxInFlightRequests bounds the requests handled at one time; beyond it they get 429. Default 1024.
	MaxInFlightRequests int64 `mapstructure:"max_in_flight_requests"`
	// MaxItems bounds the records of one body. Default 10 000.
	MaxItems int `mapstructure:"max_items"`
	// MaxChunks bounds the chunks of one record. Default 200 000.
	MaxChunks int `mapstructure:"max_chunks"`
	// MaxStringBytes bounds each string of a record. Default 1024.
	MaxStringBytes int `mapstructure:"max_string_bytes"`
	// MaxFuture is how far ahead of this machine's clock an instant may lie. Default 5 minutes.
	MaxFuture time.Duration `mapstructure:"max_future"`
	// RetryAfter is what a refused sender is asked to wait. Default 1 second.
	RetryAfter time.Duration `mapstructure:"retry_after"`
}

// NewDefaultLimits returns the documented defaults.
func NewDefaultLimits() LimitsConfig {
	w, d := wire.NewDefaultLimits(), wire.NewDefaultDecodeOptions()
	return LimitsConfig{
		MaxBodyBytes:        32 << 20,
		MaxInFlightBytes:    128 << 20,
		MaxInFlightRequests: 1024,
		MaxItems:            d.MaxItems,
		MaxChunks:           w.MaxChunks,
		MaxStringBytes:      w.MaxString,
		MaxFuture:           w.MaxFuture,
		RetryAfter:          time.Second,
	}
}

// NewDefaultHTTP returns a server on endpoint with limits that confighttp leaves open: 20 MiB of request as
// received, and 30 seconds to send it. Bodies reach the handler compressed, since it tells a cut body from
// a bomb and answers each in its own way.
func NewDefaultHTTP(endpoint string) confighttp.ServerConfig {
	s := confighttp.NewDefaultServerConfig()
	s.NetAddr = confignet.AddrConfig{Endpoint: endpoint, Transport: confignet.TransportTypeTCP}
	s.CompressionAlgorithms = []string{}
	s.MaxRequestBodySize = 20 << 20
	s.ReadHeaderTimeout = 10 * time.Second
	s.ReadTimeout = 30 * time.Second
	s.WriteTimeout = 60 * time.Second
	return s
}

// NewDefaultConfig returns a configuration that serves nowhere until `ingest` or `http` is given; endpoint
// is the address of an `http` without one.
func NewDefaultConfig(endpoint string) Config {
	return Config{HTTP: configoptional.Default(NewDefaultHTTP(endpoint)), Limits: NewDefaultLimits()}
}

// Enabled reports whether the endpoint is to be served.
func (c *Config) Enabled() bool { return c.Ingest != nil || c.HTTP.HasValue() }

// Check joins every problem, each with its key. It is for the Validate of the configuration that Config is
// part of.
func (c *Config) Check() error {
	var err error
	if c.Ingest != nil && c.HTTP.HasValue() {
		err = errors.New("ingest, http: give one of the two: the extension to serve on, or a listener of the receiver's own")
	}
	return errors.Join(err, c.Limits.check())
}

func (l *LimitsConfig) check() error {
	var errs []error
	least := func(key string, v, least int64) {
		if v < least {
			errs = append(errs, fmt.Errorf("limits::%s: is %d; want at least %d", key, v, least))
		}
	}
	least("max_body_bytes", l.MaxBodyBytes, 1024)
	least("max_in_flight_bytes", l.MaxInFlightBytes, l.MaxBodyBytes)
	least("max_in_flight_requests", l.MaxInFlightRequests, 1)
	least("max_items", int64(l.MaxItems), 1)
	least("max_chunks", int64(l.MaxChunks), 1)
	least("max_string_bytes", int64(l.MaxStringBytes), 128)
	if l.MaxFuture < 0 {
		errs = append(errs, fmt.Errorf("limits::max_future: is %s; want 0 or more", l.MaxFuture))
	}
	if l.RetryAfter < time.Second {
		errs = append(errs, fmt.Errorf("limits::retry_after: is %s; want at least 1s, Retry-After counts whole seconds", l.RetryAfter))
	}
	return errors.Join(errs...)
}

// Wire returns the limits of one record.
func (l *LimitsConfig) Wire() wire.Limits {
	w := wire.NewDefaultLimits()
	w.MaxChunks, w.MaxString, w.MaxFuture = l.MaxChunks, l.MaxStringBytes, l.MaxFuture
	return w
}
