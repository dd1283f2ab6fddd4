package clickhouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Open returns a pool of native connections. It does not connect yet: use [Ping] to see whether the server answers.
func Open(cfg Config) (driver.Conn, error) {
	opts, err := cfg.Options()
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: open: %w", err)
	}
	return conn, nil
}

// Ping runs a real query, as an open port or a ping packet proves little. ctx bounds it.
func Ping(ctx context.Context, conn driver.Conn) error {
	var one uint8
	if err := conn.QueryRow(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("clickhouse: no answer: %w", err)
	}
	return nil
}
