package simulate

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// Config describes the traffic. The zero value is not usable; start from [NewDefaultConfig].
type Config struct {
	Seed     uint64
	Requests int       // most requests; default 1000
	Rate     float64   // requests a second, Poisson arrivals; default 4, which the four engines take
	Start    time.Time // when the first request may come, to the µs; default 2026-01-01T00:00:00Z
	// Duration ends the arrivals before all Requests have come; default 0, no end.
	Duration time.Duration
	Tenant   string // default "default"
	Shares   Shares // how often things go wrong; default: scenario mixed
	// Segment cuts the servers' streams into segments of this length, as a server reports streams that still run. Default 0:
	// each stream is one record.
	Segment time.Duration
	// ServerOnly leaves gateways and pages out. Default false.
	ServerOnly bool
}

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() Config {
	s, _ := ScenarioShares("mixed")
	return Config{Seed: 1, Requests: 1000, Rate: 4, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Tenant: wire.DefaultTenant, Shares: s}
}

// Validate joins every problem.
func (c *Config) Validate() error {
	var errs []error
	if c.Requests < 1 || c.Requests > 10_000_000 {
		errs = append(errs, fmt.Errorf("requests: is %d; want 1 to 10 000 000", c.Requests))
	}
	if !(c.Rate > 0 && c.Rate <= 10_000) {
		errs = append(errs, fmt.Errorf("rate: is %g; want more than 0 and at most 10 000 requests a second", c.Rate))
	}
	if c.Start.UnixMicro() <= 0 {
		errs = append(errs, errors.New("start: want an instant after 1970"))
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("duration: is %s; want 0 or more", c.Duration))
	}
	if c.Segment != 0 && c.Segment < 50*time.Millisecond {
		errs = append(errs, fmt.Errorf("segment: is %s; want 0 or at least 50 ms", c.Segment))
	}
	if !wire.ValidID(c.Tenant) {
		errs = append(errs, fmt.Errorf("tenant: is %q; want 1 to 128 letters, digits and . _ : -", c.Tenant))
	}
	sum := 0.0
	for _, f := range ofRequest() {
		sum += c.Shares[f]
	}
	if sum > 1 {
		errs = append(errs, fmt.Errorf("faults: the shares of requests add up to %.2f; want at most 1", sum))
	}
	return errors.Join(errs...)
}

// Prefix is what the ids of all requests of this traffic begin with: traffic of other options has other ids.
func (c *Config) Prefix() string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%d %d %g %d %d %t", c.Start.UnixMicro(), c.Requests, c.Rate, c.Duration, c.Segment, c.ServerOnly)
	for _, f := range slices.Sorted(maps.Keys(c.Shares)) {
		_, _ = fmt.Fprintf(h, " %s=%g", f, c.Shares[f])
	}
	return fmt.Sprintf("sim-%d-%08x-", c.Seed, h.Sum32())
}

// Expected is about how long the arrivals last.
func (c *Config) Expected() time.Duration {
	d := time.Duration(float64(c.Requests) / c.Rate * float64(time.Second))
	if c.Duration > 0 {
		d = min(d, c.Duration)
	}
	return d
}
