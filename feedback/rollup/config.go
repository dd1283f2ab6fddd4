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
	// Lag is how long after its time stamp a record is looked at, beyond the inserts that the database tells of: those that
	// other servers of a cluster run. Default 0; 65 s where the DSN names several servers.
	Lag time.Duration `mapstructure:"lag"`
	// CatchUp is how far the first look reaches back, for records that came while nobody computed. Default 24 h.
	CatchUp time.Duration `mapstructure:"catch_up"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() *Config {
	db := clickhouse.NewDefaultConfig()
	db.MaxOpenConns, db.MaxIdleConns = 2, 1
	return &Config{ClickHouse: db, Interval: 10 * time.Second, CatchUp: 24 * time.Hour}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		key string
		v   time.Duration
	}{{"interval", c.Interval}, {"catch_up", c.CatchUp}} {
		if f.v <= 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want more than 0", f.key, f.v))
		}
	}
	if c.Lag < 0 {
		errs = append(errs, fmt.Errorf("lag: is %s; want 0 or more", c.Lag))
	}
	return errors.Join(errs...)
}
