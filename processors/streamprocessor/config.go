package streamprocessor

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
)

// Config is the processor's configuration.
type Config struct {
	// MaxStreams is how many open streams are followed; beyond it the one silent for longest is given up and
	// counted. Default 100 000, less than 2 kB each, about 10 kB with text.
	MaxStreams int `mapstructure:"max_streams"`
	// IdleTimeout is how long an open stream may be without a record before it counts as dead. Default 10 min.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	// FinishedTimeout is how long a finished stream is remembered, so that a late second delivery of one of its
	// segments isn't taken for a new stream. Default 5 min.
	FinishedTimeout time.Duration `mapstructure:"finished_timeout"`
	// ReorderTimeout is how long a segment waits for one in front of it that is missing. Default 5 s.
	ReorderTimeout time.Duration `mapstructure:"reorder_timeout"`
	// TickInterval is how often open streams are looked at for silence. Default 250 ms.
	TickInterval time.Duration `mapstructure:"tick_interval"`
	// Storage is the id of a storage extension in which the state of open streams survives a restart. Default none.
	Storage *component.ID `mapstructure:"storage"`
	// SnapshotInterval is how often the state is written there while running. Default 5 s.
	SnapshotInterval time.Duration `mapstructure:"snapshot_interval"`
	// CaptureText lists the tenants that opted in to text leaving this processor. Default none.
	CaptureText []string `mapstructure:"capture_text"`
	// Stall holds the thresholds of every query type that has none of its own.
	Stall StallConfig `mapstructure:"stall"`
	// StallByQueryType holds thresholds by query type.
	StallByQueryType map[string]StallConfig `mapstructure:"stall_by_query_type"`
	// SlowStart is the longest time to the first content by query type. Default: the contract's, other 2 s.
	SlowStart map[string]time.Duration `mapstructure:"slow_start"`
	// Loop holds the thresholds of repetition loops.
	Loop LoopConfig `mapstructure:"loop"`
}

// StallConfig holds the thresholds that users tune; zero values mean the default.
type StallConfig struct {
	// Hitch, Stall and Freeze are the floors of a gap. Defaults 300 ms, 1 s, 5 s.
	Hitch  time.Duration `mapstructure:"hitch"`
	Stall  time.Duration `mapstructure:"stall"`
	Freeze time.Duration `mapstructure:"freeze"`
	// Ratio is how many times the stream's own median pace a gap must reach. Default 5.
	Ratio float64 `mapstructure:"ratio"`
	// SlowFactor is the fall of pace that makes a slow episode. Default 4.
	SlowFactor float64 `mapstructure:"slow_factor"`
}

// LoopConfig holds the thresholds of loops.
type LoopConfig struct {
	// Disabled switches loop detection off.
	Disabled bool `mapstructure:"disabled"`
	// MinChars is the shortest loop of prose in characters, all copies together. Default 60.
	MinChars int `mapstructure:"min_chars"`
	// HashKey makes the unit hashes in findings useless to whoever doesn't know it. Default 0.
	HashKey uint64 `mapstructure:"hash_key"`
}

var _ component.Config = (*Config)(nil)

// NewDefaultConfig returns the documented defaults.
func NewDefaultConfig() *Config {
	return &Config{
		MaxStreams: 100_000, IdleTimeout: 10 * time.Minute, FinishedTimeout: 5 * time.Minute, ReorderTimeout: 5 * time.Second,
		TickInterval: 250 * time.Millisecond, SnapshotInterval: 5 * time.Second,
		SlowStart: map[string]time.Duration{
			"short_qa": time.Second, "long_form": 2 * time.Second, "code_completion": 300 * time.Millisecond,
			"translate_summarize": 1500 * time.Millisecond, "other": 2 * time.Second,
		},
	}
}

// Validate joins every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	if c.MaxStreams < 1 {
		errs = append(errs, fmt.Errorf("max_streams: is %d; want at least 1", c.MaxStreams))
	}
	for key, d := range map[string]time.Duration{
		"idle_timeout": c.IdleTimeout, "finished_timeout": c.FinishedTimeout, "reorder_timeout": c.ReorderTimeout,
		"tick_interval": c.TickInterval, "snapshot_interval": c.SnapshotInterval,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s: is %s; want more than 0", key, d))
		}
	}
	for q, d := range c.SlowStart {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("slow_start::%s: is %s; want more than 0", q, d))
		}
	}
	rules := c.rules()
	if err := rules.Default.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("stall: %w", err))
	}
	for q, r := range rules.ByQueryType {
		if err := r.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("stall_by_query_type::%s: %w", q, err))
		}
	}
	loop := c.loop()
	if err := loop.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("loop: %w", err))
	}
	return errors.Join(errs...)
}

func (s StallConfig) over(base stall.Config) stall.Config {
	set := func(dst *time.Duration, v time.Duration) {
		if v != 0 {
			*dst = v
		}
	}
	set(&base.Hitch, s.Hitch)
	set(&base.Stall, s.Stall)
	set(&base.Freeze, s.Freeze)
	if s.Ratio != 0 {
		base.Ratio = s.Ratio
	}
	if s.SlowFactor != 0 {
		base.SlowFactor = s.SlowFactor
	}
	return base
}

func (c *Config) rules() *stall.Rules {
	r := &stall.Rules{Default: c.Stall.over(stall.NewDefaultConfig()), ByQueryType: map[string]stall.Config{}}
	for q, s := range c.StallByQueryType {
		r.ByQueryType[q] = s.over(r.Default)
	}
	return r
}

func (c *Config) loop() repetition.Config {
	l := repetition.NewDefaultConfig()
	if c.Loop.MinChars != 0 {
		l.MinChars = c.Loop.MinChars
	}
	l.HashKey = c.Loop.HashKey
	return l
}

// slowStart returns the limit of a query type; an unknown type has that of "other".
func (c *Config) slowStart(queryType string) time.Duration {
	if d, ok := c.SlowStart[queryType]; ok {
		return d
	}
	return c.SlowStart["other"]
}
