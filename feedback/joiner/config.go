package joiner

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/fermata-io/fermata/storage/clickhouse"
)

// Config is the extension's configuration.
type Config struct {
	// ClickHouse is the database that is read and written. clickhouse::dsn is required.
	ClickHouse clickhouse.Config `mapstructure:"clickhouse"`
	// Interval is how often new records are looked for. Default 500 ms.
	Interval time.Duration `mapstructure:"interval"`
	// Lag is how long after its time stamp a record is looked at, beyond the inserts that the database tells of: those that
	// other servers of a cluster run. Default 0; 65 s where the DSN names several servers.
	Lag time.Duration `mapstructure:"lag"`
	// Settle is how long after its records came a request is joined, since others mostly follow. Default 1 s.
	Settle time.Duration `mapstructure:"settle"`
	// Refresh is how often the progress of a running stream is written; its first chunks and its end are at once. Default 10 s.
	Refresh time.Duration `mapstructure:"refresh"`
	// MaxRequests bounds the requests that are held at once, and the rows of one piece of a look. Default 20 000.
	MaxRequests int `mapstructure:"max_requests"`
	// MemoryBytes is about how much the records of recent requests may take; those of others are read again when they
	// change. Default 64 MiB.
	MemoryBytes int `mapstructure:"memory_bytes"`
	// Batch is how many requests are read together. Default 500.
	Batch int `mapstructure:"batch"`
	// EventSlack is how far the silences of two streams may lie apart and still be one event. Default 100 ms.
	EventSlack time.Duration `mapstructure:"event_slack"`
	// TextureInterval is how often versions of a target are compared, at most. Default 10 s.
	TextureInterval time.Duration `mapstructure:"texture_interval"`
	// TextureWindow is how old streams may be that are compared. Default 24 h.
	TextureWindow time.Duration `mapstructure:"texture_window"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() *Config {
	db := clickhouse.NewDefaultConfig()
	db.MaxOpenConns, db.MaxIdleConns = 4, 4
	return &Config{
		ClickHouse: db, Interval: 500 * time.Millisecond, Settle: time.Second, Refresh: 10 * time.Second,
		MaxRequests: 20_000, MemoryBytes: 64 << 20, Batch: 500, EventSlack: 100 * time.Millisecond,
		TextureInterval: 10 * time.Second, TextureWindow: 24 * time.Hour,
	}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		key string
		v   time.Duration
	}{
		{"interval", c.Interval},
		{"refresh", c.Refresh},
		{"event_slack", c.EventSlack},
		{"texture_interval", c.TextureInterval},
		{"texture_window", c.TextureWindow},
	} {
		if f.v <= 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want more than 0", f.key, f.v))
		}
	}
	for _, f := range []struct {
		key string
		v   time.Duration
	}{{"settle", c.Settle}, {"lag", c.Lag}} {
		if f.v < 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want 0 or more", f.key, f.v))
		}
	}
	if c.MemoryBytes < 1<<20 {
		errs = append(errs, fmt.Errorf("memory_bytes: is %d; want at least 1 MiB (%d)", c.MemoryBytes, 1<<20))
	}
	if c.Batch < 1 || c.Batch > 1000 {
		errs = append(errs, fmt.Errorf("batch: is %d; want 1 to 1000", c.Batch))
	}
	if c.MaxRequests < c.Batch {
		errs = append(errs, fmt.Errorf("max_requests: is %d; want at least batch (%d)", c.MaxRequests, c.Batch))
	}
	return errors.Join(errs...)
}
