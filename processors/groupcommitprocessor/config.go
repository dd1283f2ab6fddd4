package groupcommitprocessor

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Config of the processor.
type Config struct {
	// MaxDelay is how long the first batch of a group waits for others at most, when other callers are around; it does
	// not wait longer than the next consumer takes for a group, and a caller that is alone never waits. 0 joins only what arrives while the next consumer is busy. Default 2 ms.
	MaxDelay time.Duration `mapstructure:"max_delay"`
	// MaxRecords is the number of records at which a group is passed on at once. A larger batch of one caller is passed on
	// as it is. Default 5000.
	MaxRecords int `mapstructure:"max_records"`
	// MaxInFlight is how many groups the next consumer is given at a time. Default 2: one is encoded while the other is
	// synced.
	MaxInFlight int `mapstructure:"max_in_flight"`
	// MaxWaitingRecords bounds the records that wait here, those in flight included; beyond it callers are refused and may
	// come again. Default 200 000.
	MaxWaitingRecords int `mapstructure:"max_waiting_records"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the defaults.
func NewDefaultConfig() *Config {
	return &Config{MaxDelay: 2 * time.Millisecond, MaxRecords: 5000, MaxInFlight: 2, MaxWaitingRecords: 200_000}
}

// Validate reports every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if c.MaxDelay < 0 || c.MaxDelay > time.Second {
		errs = append(errs, fmt.Errorf("max_delay: %s is not between 0 and 1s", c.MaxDelay))
	}
	if c.MaxRecords < 1 {
		errs = append(errs, fmt.Errorf("max_records: %d is not positive", c.MaxRecords))
	}
	if c.MaxInFlight < 1 {
		errs = append(errs, fmt.Errorf("max_in_flight: %d is not positive", c.MaxInFlight))
	}
	if c.MaxWaitingRecords < c.MaxRecords {
		errs = append(errs, fmt.Errorf("max_waiting_records: %d is below max_records (%d)", c.MaxWaitingRecords, c.MaxRecords))
	}
	return errors.Join(errs...)
}
