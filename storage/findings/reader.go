package findings

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
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
		"max_execution_time": 10, "max_result_rows": 1_000_000, "max_memory_usage": 512 << 20, "log_comment": "findings/" + name,
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

// MaxOfRequest is how many findings of one request and origin are read: the latest; and how many of those that were withdrawn.
const MaxOfRequest = 1000

// Rows returns the last state of every finding of requests, also of those withdrawn, in the order in which they began, as
// far as MaxOfRequest allows.
func (r *Reader) Rows(ctx context.Context, tenant string, ids []string) ([]Row, error) {
	return r.rows(settings(ctx, "of_request"), ofRequestSQL, clickhouse.Named("tenant", tenant), clickhouse.Named("ids", ids), clickhouse.Named("most", uint32(MaxOfRequest)))
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

// normal fills in the defaults of a filter and reports what can't be answered.
func (f Filter) normal() (Filter, error) {
	if f.Tenant == "" {
		f.Tenant = wire.DefaultTenant
	}
	if f.Limit == 0 {
		f.Limit = 100
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		return f, fmt.Errorf("%w: limit is %d; want 1 to %d", ErrBadFilter, f.Limit, MaxLimit)
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, fmt.Errorf("%w: since is not before until", ErrBadFilter)
	}
	return f, nil
}

// place is where a page begins: everything before (at, id).
type place struct {
	at int64
	id string
}

// last is beyond every instant, about the year 2255.
const last = int64(1) << 53

func (f Filter) place() (place, error) {
	if f.Cursor == "" {
		return place{at: last}, nil
	}
	at, id, err := parseCursor(f.Cursor)
	return place{at, id}, err
}

// reaches are the windows that are tried one after the other when no start is asked for.
var reaches = [...]time.Duration{time.Hour, 24 * time.Hour, 30 * 24 * time.Hour}

// List returns a page of findings, the latest first. Without Since it looks back as far as it takes to fill the page.
func (r *Reader) List(ctx context.Context, f Filter) (*Page, error) {
	f, err := f.normal()
	if err != nil {
		return nil, err
	}
	before, err := f.place()
	if err != nil {
		return nil, err
	}
	until := last
	if !f.Until.IsZero() {
		until = f.Until.UnixMicro()
	}
	if !f.Since.IsZero() {
		return r.list(ctx, f, f.Since.UnixMicro(), until, before)
	}
	if f.RequestID == "" {
		from := min(until, before.at, time.Now().UnixMicro())
		for _, d := range reaches {
			p, err := r.list(ctx, f, from-d.Microseconds(), until, before)
			if err != nil || p.NextCursor != "" {
				return p, err
			}
		}
	}
	return r.list(ctx, f, 0, until, before)
}

func (r *Reader) list(ctx context.Context, f Filter, since, until int64, before place) (*Page, error) {
	rows, err := r.rows(settings(ctx, "list"), listSQL,
		clickhouse.Named("tenant", f.Tenant), clickhouse.Named("request_id", f.RequestID), clickhouse.Named("kind", f.Kind),
		clickhouse.Named("since", since), clickhouse.Named("until", until),
		clickhouse.Named("before_at", before.at), clickhouse.Named("before_id", before.id), clickhouse.Named("limit", f.Limit+1))
	if err != nil {
		return nil, err
	}
	return cut(Shown(rows), f.Limit), nil
}

// cut makes a page of the findings that come first.
func cut(found []Finding, limit int) *Page {
	p := &Page{Findings: found}
	if len(found) > limit {
		p.Findings = found[:limit]
		end := p.Findings[limit-1]
		p.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(end.At(), 10) + "." + end.ID))
	}
	return p
}

// Select returns the page of all that List would return of it. all is in any order.
func Select(all []Finding, f Filter) (*Page, error) {
	f, err := f.normal()
	if err != nil {
		return nil, err
	}
	before, err := f.place()
	if err != nil {
		return nil, err
	}
	out := []Finding{}
	for i := range all {
		x := &all[i]
		at := x.At()
		if (f.Kind == "" || x.Kind == f.Kind) && (f.Since.IsZero() || at >= f.Since.UnixMicro()) && (f.Until.IsZero() || at < f.Until.UnixMicro()) &&
			(at < before.at || at == before.at && x.ID < before.id) {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, func(a, b Finding) int { return -cmp.Or(cmp.Compare(a.At(), b.At()), cmp.Compare(a.ID, b.ID)) })
	return cut(out, f.Limit), nil
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

// Statement fills the columns of the table into a query that has /*columns*/ in their place.
func Statement(sql string) string { return strings.ReplaceAll(sql, "/*columns*/", Table.SelectList()) }

func (r *Reader) rows(ctx context.Context, sql string, args ...any) ([]Row, error) {
	rows, err := r.conn.Query(ctx, Statement(sql), args...)
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
