package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clickhousego "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/fermata-io/fermata/storage/clickhouse"
)

// database is a migrated database of the engine.
type database struct {
	name  string
	cfg   clickhouse.Config
	conn  driver.Conn
	admin driver.Conn
}

func (b *bench) newDatabase(ctx context.Context, name string) (_ *database, err error) {
	d := &database{name: "fermata_bench_" + name, cfg: clickhouse.NewDefaultConfig()}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	cfg := d.cfg
	cfg.DSN = configopaque.String(b.eng.DSN(""))
	if d.admin, err = clickhouse.Open(cfg); err != nil {
		return nil, err
	}
	if err := d.admin.Exec(ctx, "CREATE DATABASE "+d.name); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	d.cfg.DSN = configopaque.String(b.eng.DSN(d.name))
	if d.conn, err = clickhouse.Open(d.cfg); err != nil {
		return nil, err
	}
	return d, migrate(ctx, d.cfg)
}

// drop removes the database and closes its connections.
func (d *database) drop(ctx context.Context) error {
	return errors.Join(d.admin.Exec(ctx, "DROP DATABASE "+d.name+" SYNC"), d.close())
}

func (d *database) close() error {
	var errs []error
	for _, c := range []driver.Conn{d.conn, d.admin} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// openDatabase connects to a database that is there already.
func (b *bench) openDatabase(name, dsn string) (*database, error) {
	d := &database{name: name, cfg: clickhouse.NewDefaultConfig()}
	d.cfg.DSN = configopaque.String(dsn)
	var err error
	d.conn, err = clickhouse.Open(d.cfg)
	return d, err
}

func named(name string, v any) driver.NamedValue { return clickhousego.Named(name, v) }

// waitFor waits until a count has reached want.
func waitFor(ctx context.Context, conn driver.Conn, count string, want int) error {
	var n uint64
	for deadline := time.Now().Add(10 * time.Minute); ; {
		if err := conn.QueryRow(ctx, count).Scan(&n); err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if n >= uint64(want) { //nolint:gosec // a count
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d rows arrived", n, want)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond): // the questions cost CPU too
		}
	}
}
