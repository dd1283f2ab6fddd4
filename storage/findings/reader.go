package findings

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
)

// ErrBadFilter is returned for a filter that can't be answered; its text says which field.
var ErrBadFilter = errors.New("bad filter")

// Filter selects findings. Zero values don't filter, but for Tenant (default tenant) and Limit (100, at most 1000).
type Filter struct {
	Tenant    string
	RequestID string
	Kind      string
	Since     time.Time // began at or after
	Until     time.Time // and before
	Limit     int
	Cursor    string // Page.NextCursor of the page before
}

// Page is one page of findings, the latest first.
type Page struct {
	Findings   []Finding `json:"findings"`
	NextCursor string    `json:"next_cursor"` // empty: no more
}

// MaxLimit is the largest page.
const MaxLimit = 1000

//go:embed queries/list.sql
var listSQL string

//go:embed queries/of_request.sql
var ofRequestSQL string

// Reader reads findings.
type Reader struct{ conn driver.Conn }

// NewReader makes a reader on a connection pool.
func NewReader(conn driver.Conn) *Reader { return &Reader{conn: conn} }

// settings bound every read; name shows in the query log.
func settings(ctx context.Context, name string) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_execution_time": 10, "max_result_rows": 100_000, "max_memory_usage": 512 << 20, "log_comment": "findings/" + name,
	}))
}

// OfRequest returns all findings of requests, in the order in which they began.
func (r *Reader) OfRequest(ctx context.Context, tenant string, ids []string) ([]Finding, error) {
	rows, err := r.Rows(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	return Shown(rows), nil
}

// Rows returns the last state of every finding of requests, also of those withdrawn, in the order in which they began.
func (r *Reader) Rows(ctx context.Context, tenant string, ids []string) ([]Row, error) {
	return r.rows(settings(ctx, "of_request"), ofRequestSQL, clickhouse.Named("tenant", tenant), clickhouse.Named("ids", ids))
}

// Shown turns rows into findings and leaves out those that were withdrawn.
func Shown(rows []Row) []Finding {
	out := []Finding{}
	for i := range rows {
		if !rows[i].Withdrawn {
			out = append(out, rows[i].Finding())
		}
	}
	return out
}

// List returns a page of findings, the latest first.
func (r *Reader) List(ctx context.Context, f Filter) (*Page, error) {
	if f.Tenant == "" {
		f.Tenant = wire.DefaultTenant
	}
	if f.Limit == 0 {
		f.Limit = 100
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		return nil, fmt.Errorf("%w: limit is %d; want 1 to %d", ErrBadFilter, f.Limit, MaxLimit)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return nil, fmt.Errorf("%w: since is not before until", ErrBadFilter)
	}
	since, until := int64(0), int64(1<<53)
	if !f.Since.IsZero() {
		since = f.Since.UnixMicro()
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixMicro()
	}
	beforeAt, beforeID := int64(1<<53), ""
	if f.Cursor != "" {
		var err error
		if beforeAt, beforeID, err = parseCursor(f.Cursor); err != nil {
			return nil, err
		}
	}
	rows, err := r.rows(settings(ctx, "list"), listSQL,
		clickhouse.Named("tenant", f.Tenant), clickhouse.Named("request_id", f.RequestID), clickhouse.Named("kind", f.Kind),
		clickhouse.Named("since", since), clickhouse.Named("until", until),
		clickhouse.Named("before_at", beforeAt), clickhouse.Named("before_id", beforeID), clickhouse.Named("limit", f.Limit+1))
	if err != nil {
		return nil, err
	}
	found := Shown(rows)
	p := &Page{Findings: found}
	if len(found) > f.Limit {
		p.Findings = found[:f.Limit]
		last := p.Findings[f.Limit-1]
		p.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.StartedAt+last.StartUS, 10) + "." + last.ID))
	}
	return p, nil
}

func parseCursor(s string) (at int64, id string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	n, id, ok := strings.Cut(string(b), ".")
	if err == nil && ok {
		at, err = strconv.ParseInt(n, 10, 64)
	}
	if err != nil || !ok {
		return 0, "", fmt.Errorf("%w: cursor is not one that a page gave", ErrBadFilter)
	}
	return at, id, nil
}

func (r *Reader) rows(ctx context.Context, sql string, args ...any) ([]Row, error) {
	rows, err := r.conn.Query(ctx, strings.ReplaceAll(sql, "/*columns*/", Table.SelectList()), args...)
	if err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	sc := Table.NewScanner()
	var out []Row
	for rows.Next() {
		row, err := sc.Scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read findings: %w", err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	return out, nil
}
