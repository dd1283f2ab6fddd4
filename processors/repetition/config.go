package repetition

import (
	"errors"
	"fmt"
)

// Config holds what may be tuned. The zero value is not usable; start from NewDefaultConfig.
type Config struct {
	// MinRepeats is how many copies make a loop at the end of a text; default 3.
	MinRepeats float64
	// LiveRepeats is how many full copies raise a loop of a period below LongPeriod while the stream runs;
	// default 4, that is before the fifth.
	LiveRepeats float64
	// LongPeriod in characters; default 200.
	LongPeriod int
	// LongLiveRepeats is the same for longer periods; default 2.6, that is within the third copy.
	LongLiveRepeats float64
	// MinChars is the shortest loop of prose in characters, all copies together; default 60.
	MinChars int
	// StopRepeats and StopChars are the bar for a text that ends with its loop by itself, as an answer does that
	// was asked to repeat something; defaults 120 and 1500. From 2.5 × StopChars on a third of the repeats is
	// enough, and for a period of LongPeriod StopLongRepeats (5).
	StopRepeats     float64
	StopChars       int
	StopLongRepeats float64
	// StoppedRepeats and StoppedChars are the bar for keeping a loop of prose that the text left again; defaults
	// 10 and 2000. Below it a raised loop is withdrawn.
	StoppedRepeats float64
	StoppedChars   int
	// HashKey makes unit hashes useless to whoever doesn't know it.
	HashKey uint64
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	return Config{
		MinRepeats: 3, LiveRepeats: 4, LongPeriod: 200, LongLiveRepeats: 2.6, MinChars: 60,
		StopRepeats: 120, StopChars: 1500, StopLongRepeats: 5, StoppedRepeats: 10, StoppedChars: 2000,
	}
}

// Validate reports every value out of its range.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, key, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("repetition.%s: must be %s", key, want))
		}
	}
	bad(c.MinRepeats >= 2, "min_repeats", "at least 2")
	bad(c.LiveRepeats >= c.MinRepeats, "live_repeats", "at least min_repeats")
	bad(c.LongPeriod >= 16, "long_period", "at least 16")
	bad(c.LongLiveRepeats > 2, "long_live_repeats", "above 2")
	bad(c.MinChars >= 16, "min_chars", "at least 16")
	bad(c.StopRepeats >= c.MinRepeats && c.StopLongRepeats >= c.MinRepeats, "stop_repeats", "at least min_repeats")
	bad(c.StoppedRepeats >= c.MinRepeats, "stopped_repeats", "at least min_repeats")
	bad(c.StopChars >= c.MinChars && c.StoppedChars >= c.MinChars, "stop_chars", "at least min_chars, as stopped_chars")
	return errors.Join(errs...)
}
