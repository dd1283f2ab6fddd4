package stall

import (
	"errors"
	"fmt"
	"time"
)

// Config holds the thresholds of one query type. The zero value is not usable; start from NewDefaultConfig.
type Config struct {
	Hitch  time.Duration // lowest floor; default 300 ms
	Stall  time.Duration // default 1 s
	Freeze time.Duration // default 5 s
	// Ratio is how many times the stream's own median pace a gap must reach; default 5.
	Ratio float64
	// MinGaps is how many gaps make a baseline; default 3.
	MinGaps int
	// MergeChunks is how many ordinary gaps may lie between two stalls of one episode; default 32.
	MergeChunks int
	// SlowFactor is the fall of pace that makes a slow episode; default 4.
	SlowFactor float64
	// SlowMinDuration is how long a slow episode must last; default 1 s.
	SlowMinDuration time.Duration
	// SlowMinGaps is how many gaps must be known before a slow episode can start; default 12.
	SlowMinGaps int
	// Memory is the number of gaps at which old ones lose half their weight; default 4096.
	Memory int
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	return Config{
		Hitch: 300 * time.Millisecond, Stall: time.Second, Freeze: 5 * time.Second, Ratio: 5,
		MinGaps: 3, MergeChunks: 32,
		SlowFactor: 4, SlowMinDuration: time.Second, SlowMinGaps: 12,
		Memory: 4096,
	}
}

// Validate reports every value out of its range.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, key, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("stall.%s: must be %s", key, want))
		}
	}
	bad(c.Hitch > 0, "hitch", "positive")
	bad(c.Stall >= c.Hitch, "stall", "at least hitch")
	bad(c.Freeze >= c.Stall, "freeze", "at least stall")
	bad(c.Ratio >= 1, "ratio", "at least 1")
	bad(c.MinGaps >= 1 && c.MinGaps <= coldGaps, "min_gaps", fmt.Sprintf("from 1 to %d", coldGaps))
	bad(c.MergeChunks >= 0, "merge_chunks", "0 or more")
	bad(c.SlowFactor > 1, "slow_factor", "above 1")
	bad(c.SlowMinDuration > 0, "slow_min_duration", "positive")
	bad(c.SlowMinGaps >= 4, "slow_min_gaps", "at least 4")
	bad(c.Memory >= 64 && c.Memory <= 60_000, "memory", "from 64 to 60000")
	return errors.Join(errs...)
}

// Rules chooses a Config by query type.
type Rules struct {
	Default     Config
	ByQueryType map[string]Config
}

// For returns the thresholds of a query type, Default when it has none of its own.
func (r Rules) For(queryType string) Config {
	if c, ok := r.ByQueryType[queryType]; ok {
		return c
	}
	return r.Default
}
