package clock

import (
	"errors"
	"fmt"
	"time"
)

// Config says what is assumed of clocks. The zero value is not usable; start from NewDefaultConfig.
type Config struct {
	// MaxRate is how much faster or slower one clock may run than the other, as a ratio. Default 200e-6: quartz is good to
	// 100 ppm, and either side may be off.
	MaxRate float64
	// Wander is how much the rate may change in the course of a session, as a ratio: a bound that lies Δ away from the
	// asked instant is loosened by Wander·Δ. Default 0.5e-6, what temperature does to a quartz.
	Wander float64
	// Slack is by how much bounds may contradict each other and still be true: browsers round their clock to as much as a
	// millisecond. It is used only where bounds do contradict each other, and then shows in the uncertainty. Default 1 ms.
	Slack time.Duration
	// Points is how many points of one request are kept on each side. Default 8.
	Points int
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	return Config{MaxRate: 200e-6, Wander: 0.5e-6, Slack: time.Millisecond, Points: 8}
}

// Validate reports every value out of its range.
func (c *Config) Validate() error {
	var errs []error
	if !(c.MaxRate > 0 && c.MaxRate < 0.1) {
		errs = append(errs, fmt.Errorf("max_rate: is %g; want more than 0 and less than 0.1", c.MaxRate))
	}
	if !(c.Wander >= 0 && c.Wander <= c.MaxRate) {
		errs = append(errs, fmt.Errorf("wander: is %g; want 0 to max_rate (%g)", c.Wander, c.MaxRate))
	}
	if c.Slack < 0 {
		errs = append(errs, fmt.Errorf("slack: is %s; want 0 or more", c.Slack))
	}
	if c.Points < 1 {
		errs = append(errs, fmt.Errorf("points: is %d; want at least 1", c.Points))
	}
	return errors.Join(errs...)
}
