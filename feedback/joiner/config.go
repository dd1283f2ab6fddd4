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
	// Interval is how often new records are looked for. Default 1 s.
	Interval time.Duration `mapstructure:"interval"`
	// Overlap is how far back each look reaches over the one before, for rows that became visible late. Default 3 s.
	Overlap time.Duration `mapstructure:"overlap"`
	// CatchUp is how far back the first look reaches. Default 10 min.
	CatchUp time.Duration `mapstructure:"catch_up"`
	// Late is how much later than the others a server's stream may come and still be joined here; records of pages and
	// gateways may come at any time. Default 1 h.
	Late time.Duration `mapstructure:"late"`
	// MaxRequests bounds the requests of one look; what is beyond waits for the next. Default 20 000.
	MaxRequests int `mapstructure:"max_requests"`
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
		ClickHouse: db, Interval: time.Second, Overlap: 3 * time.Second, CatchUp: 10 * time.Minute, Late: time.Hour,
		MaxRequests: 20_000, Batch: 500, EventSlack: 100 * time.Millisecond,
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
		{"overlap", c.Overlap},
		{"catch_up", c.CatchUp},
		{"late", c.Late},
		{"event_slack", c.EventSlack},
		{"texture_interval", c.TextureInterval},
		{"texture_window", c.TextureWindow},
	} {
		if f.v <= 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want more than 0", f.key, f.v))
		}
	}
	if c.Batch < 1 || c.Batch > 1000 {
		errs = append(errs, fmt.Errorf("batch: is %d; want 1 to 1000", c.Batch))
	}
	if c.MaxRequests < c.Batch {
		errs = append(errs, fmt.Errorf("max_requests: is %d; want at least batch (%d)", c.MaxRequests, c.Batch))
	}
	return errors.Join(errs...)
}
