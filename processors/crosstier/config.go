package crosstier

import (
	"time"

	"github.com/fermata-io/fermata/processors/stall"
)

// Config holds the thresholds. The zero value is not usable; start from NewDefaultConfig.
type Config struct {
	// Stall judges the gaps of what the page received.
	Stall stall.Rules
	// HeldFloor is the shortest time content must have been held back; default 300 ms.
	HeldFloor time.Duration
	// LagFloor is the longest time received text may wait for its paint; default 1 s.
	LagFloor time.Duration
	// TypingFloor is how long painting may go on after the last byte; default 2 s.
	TypingFloor time.Duration
	// WasteFloor is the shortest waste that is told; default 500 ms.
	WasteFloor time.Duration
	// GapFloor is the least that must lie between the felt and the measured first token; default 1 s.
	GapFloor time.Duration
	// Slack is what two measurements of one event may differ by; default 20 ms, a frame.
	Slack time.Duration
	// Jitter and Deviation are the limits of a semantic gap; defaults 15 ms and 450 ms.
	Jitter, Deviation time.Duration
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	return Config{
		Stall:     stall.Rules{Default: stall.NewDefaultConfig()},
		HeldFloor: 300 * time.Millisecond, LagFloor: time.Second, TypingFloor: 2 * time.Second,
		WasteFloor: 500 * time.Millisecond, GapFloor: time.Second, Slack: 20 * time.Millisecond,
		Jitter: 15 * time.Millisecond, Deviation: 450 * time.Millisecond,
	}
}
