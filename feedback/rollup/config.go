package rollup

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
	// Interval is how often minutes with new records are computed anew. When that takes long it is done less often, so that it
	// never takes more than a twentieth of the time. Default 10 s.
	Interval time.Duration `mapstructure:"interval"`
	// Overlap is how far back each look reaches over the one before, for rows that became visible late. Default 10 s.
	Overlap time.Duration `mapstructure:"overlap"`
	// CatchUp is how far the first look reaches back, for records that came while nobody computed. Default 24 h.
	CatchUp time.Duration `mapstructure:"catch_up"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() *Config {
	db := clickhouse.NewDefaultConfig()
	db.MaxOpenConns, db.MaxIdleConns = 2, 1
	return &Config{ClickHouse: db, Interval: 10 * time.Second, Overlap: 10 * time.Second, CatchUp: 24 * time.Hour}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		key string
		v   time.Duration
	}{{"interval", c.Interval}, {"overlap", c.Overlap}, {"catch_up", c.CatchUp}} {
		if f.v <= 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want more than 0", f.key, f.v))
		}
	}
	return errors.Join(errs...)
}
