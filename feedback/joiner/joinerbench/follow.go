package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/fermata-io/fermata/feedback/joiner"
)

func (b *bench) joiner(ctx context.Context) (extension.Extension, error) {
	f := joiner.NewFactory()
	cfg := f.CreateDefaultConfig().(*joiner.Config)
	cfg.ClickHouse.DSN = configopaque.String(b.dsn)
	return f.Create(ctx, extensiontest.NewNopSettings(joiner.Type), cfg)
}

const idsSQL = `SELECT uniqExact(tenant, request_id) FROM
	(SELECT tenant, request_id FROM streams UNION ALL SELECT tenant, request_id FROM gateways UNION ALL SELECT tenant, request_id FROM clients)`

// merged waits until nothing is merged any more.
func (b *bench) merged(ctx context.Context) error {
	for merging := uint64(1); merging > 0; time.Sleep(500 * time.Millisecond) {
		if err := b.conn.QueryRow(ctx, "SELECT count() FROM system.merges WHERE database = currentDatabase()").Scan(&merging); err != nil {
			return err
		}
	}
	return nil
}

// follow runs a joiner while another command inserts, until every request has its row.
func (b *bench) follow(ctx context.Context) error {
	ext, err := b.joiner(ctx)
	if err != nil {
		return err
	}
	var began time.Time
	if err := b.conn.QueryRow(ctx, "SELECT now64(6)").Scan(&began); err != nil {
		return err
	}
	cpu, own := b.cpu(), self()
	if err := ext.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", b.while) //nolint:gosec // the caller's own command
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var want, rows uint64
	if err := b.conn.QueryRow(ctx, idsSQL).Scan(&want); err != nil {
		return err
	}
	for ended := time.Now(); rows < want; time.Sleep(500 * time.Millisecond) {
		if err := b.conn.QueryRow(ctx, "SELECT uniqExact(request_id) FROM requests").Scan(&rows); err != nil {
			return err
		}
		if time.Since(ended) > 5*time.Minute {
			return fmt.Errorf("%d of %d requests have a row five minutes after the last record", rows, want)
		}
	}
	ownCPU := self() - own
	if err := ext.Shutdown(ctx); err != nil {
		return err
	}
	if err := b.merged(ctx); err != nil {
		return err
	}
	m := float64(want) / 1e6
	fmt.Printf("follow: %d requests; CPU-s per M requests: joiner %.1f, ClickHouse %.1f\n", want, ownCPU/m, (b.cpu()-cpu)/m)
	if err := b.disk(ctx, want); err != nil {
		return err
	}
	return b.where(ctx, began, m)
}

// disk prints the bytes of each table.
func (b *bench) disk(ctx context.Context, want uint64) error {
	rs, err := b.conn.Query(ctx, `SELECT table, count(), sum(rows), sum(bytes_on_disk) FROM system.parts
		WHERE active AND database = currentDatabase() GROUP BY table ORDER BY sum(bytes_on_disk) DESC`)
	if err != nil {
		return err
	}
	defer func() { _ = rs.Close() }()
	for rs.Next() {
		var name string
		var parts, rows, size uint64
		if err := rs.Scan(&name, &parts, &rows, &size); err != nil {
			return err
		}
		fmt.Printf("disk %-16s %6.1f B per request, %d parts, %.2f rows per request\n", name, float64(size)/float64(want), parts, float64(rows)/float64(want))
	}
	return rs.Err()
}

// where prints what ClickHouse's time went to, from its logs.
func (b *bench) where(ctx context.Context, since time.Time, m float64) error {
	var logs uint64
	if err := b.conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = 'system' AND name IN ('query_log', 'part_log')").Scan(&logs); err != nil || logs < 2 {
		return err
	}
	if err := b.conn.Exec(ctx, "SYSTEM FLUSH LOGS"); err != nil {
		return err
	}
	rs, err := b.conn.Query(ctx, `SELECT * FROM
		(SELECT multiIf(log_comment != '', log_comment, query_kind = 'Insert', concat('insert ', arrayStringConcat(tables, ' ')), 'other queries') AS what,
			count(), sum(ProfileEvents['UserTimeMicroseconds'] + ProfileEvents['SystemTimeMicroseconds']) / 1e6 AS cpu
		FROM system.query_log WHERE type != 'QueryStart' AND event_time_microseconds >= {since:DateTime64(6)} GROUP BY what
		UNION ALL
		SELECT concat('merge ', database, '.', table), count(), sum(ProfileEvents['UserTimeMicroseconds'] + ProfileEvents['SystemTimeMicroseconds']) / 1e6
		FROM system.part_log WHERE event_type = 'MergeParts' AND event_time_microseconds >= {since:DateTime64(6)} GROUP BY 1)
		ORDER BY cpu DESC`, clickhouse.Named("since", since.UTC().Format("2006-01-02 15:04:05.000000")))
	if err != nil {
		return err
	}
	defer func() { _ = rs.Close() }()
	for rs.Next() {
		var what string
		var n uint64
		var cpu float64
		if err := rs.Scan(&what, &n, &cpu); err != nil {
			return err
		}
		fmt.Printf("  %-40s %6d times, %6.2f CPU-s per M requests, %6.2f ms each\n", what, n, cpu/m, cpu*1000/float64(n))
	}
	return rs.Err()
}
