package requests

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/streams"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// The queries of this package, one for each question.
var (
	streamsByID        = statement("streams_by_id", streams.Table.SelectList())
	gatewaysByID       = statement("gateways_by_id", gateways.Table.SelectList())
	clientsByID        = statement("clients_by_id", clients.Table.SelectList())
	aliasesByName      = statement("aliases_by_name", "")
	sessionClocks      = statement("session_clocks", clocks.Table.SelectList())
	sessionsClocks     = statement("sessions_clocks", clocks.Table.SelectList())
	statisticsSettings = statement("statistics_settings", "")
	listRequests       = statement("list", Table.SelectList())
)

// query is a statement's name, which ClickHouse's query log shows, and text.
type query struct{ name, sql string }

func statement(name, columns string) query {
	b, err := queryFiles.ReadFile("queries/" + name + ".sql")
	if err != nil {
		panic(err) // compiled in: the first test finds it
	}
	return query{name: name, sql: strings.ReplaceAll(string(b), "{{columns}}", columns)}
}

// ReadLimits bound every read. The zero value of a field is replaced by NewDefaultReadLimits.
type ReadLimits struct {
	Rows        int           // records of one tier of one request
	Time        time.Duration // of one query
	MemoryBytes int64         // of one query
}

// NewDefaultReadLimits returns 10 000 records, 10 s and 1 GiB.
func NewDefaultReadLimits() ReadLimits {
	return ReadLimits{Rows: 10_000, Time: 10 * time.Second, MemoryBytes: 1 << 30}
}

// context returns ctx with the limits and the query's name as ClickHouse settings.
func (l ReadLimits) context(ctx context.Context, q query, more ...string) context.Context {
	s := clickhouse.Settings{
		"max_execution_time": int(l.Time.Seconds()),
		"max_memory_usage":   l.MemoryBytes,
		"log_comment":        "fermata." + q.name,
		"readonly":           2, // nothing can be written; the settings above may be set
	}
	for _, name := range more {
		s[name] = 0
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(s))
}

// rows runs a query and calls scan for each row. off names settings to switch off.
func (l ReadLimits) rows(ctx context.Context, conn driver.Conn, q query, args []any, scan func(driver.Rows) error, off ...string) (err error) {
	rs, err := conn.Query(l.context(ctx, q, off...), q.sql, args...)
	if err != nil {
		return fmt.Errorf("query %s: %w", q.name, err)
	}
	defer func() {
		if cerr := rs.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("query %s: %w", q.name, cerr)
		}
	}()
	for rs.Next() {
		if err := scan(rs); err != nil {
			return fmt.Errorf("query %s: %w", q.name, err)
		}
	}
	if err := rs.Err(); err != nil {
		return fmt.Errorf("query %s: %w", q.name, err)
	}
	return nil
}

// byID gathers a table's records of some request ids as wire records.
func byID[Row, Record any](
	ctx context.Context, l ReadLimits, conn driver.Conn, q query, tenant string, ids []string,
	newScan func() func(driver.Rows) (Row, error), toWire func(*Row) Record, off []string,
) ([]Record, error) {
	var out []Record
	scan := newScan()
	args := []any{
		clickhouse.Named("tenant", tenant), clickhouse.Named("ids", ids),
		clickhouse.Named("limit", uint32(l.Rows)), //nolint:gosec // a small limit
	}
	err := l.rows(ctx, conn, q, args, func(rs driver.Rows) error {
		row, err := scan(rs)
		if err != nil {
			return err
		}
		out = append(out, toWire(&row))
		return nil
	}, off...)
	return out, err
}
