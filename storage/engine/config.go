package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// NoPort switches a listener off.
const NoPort = -1

// Config says how to run the engine. Start from [NewDefaultConfig].
type Config struct {
	// DataDir is the folder of everything the engine keeps; created with mode 0700. Required.
	DataDir string `mapstructure:"data_dir"`
	// Library is the path of libchdb.so. Empty: searched for, see [FindLibrary].
	Library string `mapstructure:"library"`
	// TCPPort is the port of the native protocol on 127.0.0.1. 0: a free one is chosen.
	TCPPort int `mapstructure:"tcp_port"`
	// HTTPPort is the port of the HTTP interface on 127.0.0.1. 0: a free one is chosen; NoPort (default): none.
	HTTPPort int `mapstructure:"http_port"`
	// MaxMemoryBytes is how much memory the engine may take; queries that need more fail. Default 2 GiB.
	MaxMemoryBytes int64 `mapstructure:"max_memory_bytes"`
	// LogLevel of the engine's own log: none, error, warning (default), information, debug, trace.
	LogLevel string `mapstructure:"log_level"`
	// LogMaxBytes is the size at which the engine's log is rotated; one old file is kept. Default 16 MiB.
	LogMaxBytes int64 `mapstructure:"log_max_bytes"`
	// LockTimeout is how long Start waits for an earlier process to let go of DataDir. Default 15 s.
	LockTimeout time.Duration `mapstructure:"lock_timeout"`
	// StartTimeout is how long one start of the engine may take, loading tables included. Default 2 min.
	StartTimeout time.Duration `mapstructure:"start_timeout"`
	// StopTimeout is how long the engine may take to stop before it is killed. Default 10 s.
	StopTimeout time.Duration `mapstructure:"stop_timeout"`
	// ProbeInterval is the time between two health probes. Default 5 s.
	ProbeInterval time.Duration `mapstructure:"probe_interval"`
	// HangTimeout is how long a running engine may fail its probes before it is killed and restarted. Default 90 s.
	HangTimeout time.Duration `mapstructure:"hang_timeout"`
	// RestartBackoffMax is the longest pause between two restarts; the first is 100 ms. Default 15 s.
	RestartBackoffMax time.Duration `mapstructure:"restart_backoff_max"`
}

// NewDefaultConfig returns the defaults for a data folder.
func NewDefaultConfig(dataDir string) Config {
	return Config{
		DataDir:           dataDir,
		HTTPPort:          NoPort,
		MaxMemoryBytes:    2 << 30,
		LogLevel:          "warning",
		LogMaxBytes:       16 << 20,
		LockTimeout:       15 * time.Second,
		StartTimeout:      2 * time.Minute,
		StopTimeout:       10 * time.Second,
		ProbeInterval:     5 * time.Second,
		HangTimeout:       90 * time.Second,
		RestartBackoffMax: 15 * time.Second,
	}
}

var logLevels = map[string]bool{
	"none": true, "error": true, "warning": true, "information": true, "debug": true, "trace": true,
}

const minMemoryBytes = 512 << 20

// Validate reports every problem, each with its key.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.DataDir == "" {
		bad("data_dir: must be set")
	}
	if c.TCPPort < 0 || c.TCPPort > 65535 {
		bad("tcp_port: %d is not a port; want 0 (a free one) to 65535", c.TCPPort)
	}
	if c.HTTPPort < NoPort || c.HTTPPort > 65535 {
		bad("http_port: %d is not a port; want -1 (none), 0 (a free one) to 65535", c.HTTPPort)
	}
	if c.TCPPort > 0 && c.TCPPort == c.HTTPPort {
		bad("http_port: is the same as tcp_port (%d)", c.TCPPort)
	}
	if c.MaxMemoryBytes < minMemoryBytes {
		bad("max_memory_bytes: %d is too small; the engine needs at least %d", c.MaxMemoryBytes, minMemoryBytes)
	}
	if !logLevels[c.LogLevel] {
		bad("log_level: %q is not known; want none, error, warning, information, debug or trace", c.LogLevel)
	}
	if c.LogMaxBytes < 1<<16 {
		bad("log_max_bytes: %d is too small; want at least %d", c.LogMaxBytes, 1<<16)
	}
	for _, d := range []struct {
		key string
		v   time.Duration
	}{
		{"start_timeout", c.StartTimeout},
		{"stop_timeout", c.StopTimeout},
		{"probe_interval", c.ProbeInterval},
		{"hang_timeout", c.HangTimeout},
		{"restart_backoff_max", c.RestartBackoffMax},
	} {
		if d.v <= 0 {
			bad("%s: %s is not positive", d.key, d.v)
		}
	}
	if c.LockTimeout < 0 {
		bad("lock_timeout: %s is negative", c.LockTimeout)
	}
	return errors.Join(errs...)
}

func (c *Config) path(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
