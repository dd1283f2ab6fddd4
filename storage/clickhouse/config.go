package clickhouse

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/collector/config/configopaque"
)

// Config says how to reach the database. Start from [NewDefaultConfig].
type Config struct {
	// DSN names server, user, password, database and options, as clickhouse-go reads it:
	// clickhouse://user:password@host1:9000,host2:9000/database?secure=true&skip_verify=false&compress=lz4
	// Only the native protocol is spoken. Required.
	DSN configopaque.String `mapstructure:"dsn"`
	// CAFile is a PEM file of certificates to trust, for servers with a private one. It implies TLS.
	CAFile string `mapstructure:"ca_file"`
	// CertFile and KeyFile are the client's own certificate, for servers that ask for one. They imply TLS.
	CertFile string `mapstructure:"cert_file"`
	KeyFile  string `mapstructure:"key_file"`
	// MaxOpenConns is how many connections the pool may open. Default 8.
	MaxOpenConns int `mapstructure:"max_open_conns"`
	// MaxIdleConns is how many of them stay open unused. Default 4.
	MaxIdleConns int `mapstructure:"max_idle_conns"`
	// ConnMaxLifetime is the age at which a connection is replaced. Default 1 h.
	ConnMaxLifetime time.Duration `mapstructure:"conn_max_lifetime"`
	// DialTimeout is how long a connection may take to open, and to get one from the pool. Default 5 s.
	DialTimeout time.Duration `mapstructure:"dial_timeout"`
	// ReadTimeout is how long the server may be silent within a query. Default 60 s.
	ReadTimeout time.Duration `mapstructure:"read_timeout"`
}

// NewDefaultConfig returns the defaults; only DSN is missing.
func NewDefaultConfig() Config {
	return Config{
		MaxOpenConns:    8,
		MaxIdleConns:    4,
		ConnMaxLifetime: time.Hour,
		DialTimeout:     5 * time.Second,
		ReadTimeout:     60 * time.Second,
	}
}

// Validate reports every problem, each with its key. It does not connect.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.DSN == "" {
		bad("dsn: must be set, for instance clickhouse://user:password@127.0.0.1:9000/fermata")
	} else if _, err := c.parse(); err != nil {
		errs = append(errs, err)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		bad("cert_file, key_file: set both or none")
	}
	if c.MaxOpenConns < 1 {
		bad("max_open_conns: %d is not positive", c.MaxOpenConns)
	}
	if c.MaxIdleConns < 0 || c.MaxIdleConns > c.MaxOpenConns {
		bad("max_idle_conns: %d is not between 0 and max_open_conns (%d)", c.MaxIdleConns, c.MaxOpenConns)
	}
	for _, d := range []struct {
		key string
		v   time.Duration
	}{
		{"conn_max_lifetime", c.ConnMaxLifetime}, {"dial_timeout", c.DialTimeout}, {"read_timeout", c.ReadTimeout},
	} {
		if d.v <= 0 {
			bad("%s: %s is not positive", d.key, d.v)
		}
	}
	return errors.Join(errs...)
}

// parse reads the DSN. Its errors never repeat it, since it holds the password.
func (c *Config) parse() (*clickhouse.Options, error) {
	scheme, _, ok := strings.Cut(string(c.DSN), "://")
	switch {
	case !ok:
		return nil, errors.New("dsn: has no scheme; want clickhouse://…")
	case scheme != "clickhouse" && scheme != "tcp" && scheme != "native":
		return nil, fmt.Errorf("dsn: scheme %q is not supported; only the native protocol is: clickhouse://…, by default port 9000, with secure=true 9440", scheme)
	}
	opts, err := clickhouse.ParseDSN(string(c.DSN))
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) { // it quotes the whole string
			err = ue.Err
		}
		return nil, fmt.Errorf("dsn: can't be read: %w", err)
	}
	return opts, nil
}

// The native protocol's ports, without and with TLS.
const defaultPort, defaultTLSPort = "9000", "9440"

// withPort gives an address that has no port the protocol's own.
func withPort(addr string, secure bool) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	port := defaultPort
	if secure {
		port = defaultTLSPort
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), port)
}

// Options returns clickhouse-go's options, for Open and for the migrations.
func (c *Config) Options() (*clickhouse.Options, error) {
	opts, err := c.parse()
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	if opts.TLS, err = c.tls(opts.TLS); err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	for i, addr := range opts.Addr {
		opts.Addr[i] = withPort(addr, opts.TLS != nil)
	}
	opts.MaxOpenConns, opts.MaxIdleConns, opts.ConnMaxLifetime = c.MaxOpenConns, c.MaxIdleConns, c.ConnMaxLifetime
	opts.DialTimeout, opts.ReadTimeout = c.DialTimeout, c.ReadTimeout
	opts.ClientInfo.Products = append(opts.ClientInfo.Products, struct{ Name, Version string }{Name: "fermata"})
	return opts, nil
}

// Database returns the name of the database that the DSN names; "default" when it names none.
func (c *Config) Database() string {
	opts, err := c.parse()
	if err != nil || opts.Auth.Database == "" {
		return "default"
	}
	return opts.Auth.Database
}

// RedactDSN returns a DSN fit for logs and files: without password, user and options.
func RedactDSN(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return "(unreadable DSN)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
