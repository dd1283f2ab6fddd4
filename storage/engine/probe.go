package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

const pingTimeout = 5 * time.Second

// openProbe makes the supervisor's own connection; it dials at the first ping. The random password makes sure that it
// is our engine that answers.
func (e *Engine) openProbe() (driver.Conn, error) {
	opts, err := clickhouse.ParseDSN(e.DSN(""))
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	opts.DialTimeout = pingTimeout
	opts.MaxOpenConns = 2
	opts.MaxIdleConns = 1
	conn, err := clickhouse.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return conn, nil
}

// ping runs a real query: a listening port alone proves little.
func (e *Engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var one uint8
	if err := e.probe.QueryRow(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}
