package requests

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
)

// Limits of a list.
const (
	DefaultListLimit = 100
	MaxListLimit     = 1000
	// MaxListWindow is the longest window a list may ask for.
	MaxListWindow = 31 * 24 * time.Hour
)

// withDefaults completes the filter and checks it; now is used where Until is not given.
func (f Filter) withDefaults(now time.Time) (Filter, error) {
	if f.Tenant == "" {
		f.Tenant = wire.DefaultTenant
	}
	if f.Until.IsZero() {
		f.Until = now.Add(5 * time.Minute) // a sender's clock may be ahead
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-time.Hour)
	}
	switch {
	case !f.Since.Before(f.Until):
		return f, fmt.Errorf("%w: since must be before until", ErrBadFilter)
	case f.Until.Sub(f.Since) > MaxListWindow:
		return f, fmt.Errorf("%w: since lies more than %s before until", ErrBadFilter, MaxListWindow)
	case f.Limit < 0 || f.Limit > MaxListLimit:
		return f, fmt.Errorf("%w: limit must be 1 to %d", ErrBadFilter, MaxListLimit)
	}
	switch f.State {
	case "", StateRunning, StateCompleted, StateFailed, StateAborted:
	default:
		return f, fmt.Errorf("%w: state must be running, completed, failed or aborted", ErrBadFilter)
	}
	if f.Limit == 0 {
		f.Limit = DefaultListLimit
	}
	return f, nil
}

// position is a place in a list: everything after it is older, or as old with a smaller id.
type position struct {
	at int64 // µs since the Unix epoch
	id string
}

func (p position) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.at, 10) + " " + p.id))
}

func parseCursor(s string) (position, error) {
	bad := fmt.Errorf("%w: cursor is not one that a list returned", ErrBadFilter)
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return position{}, bad
	}
	at, id, ok := strings.Cut(string(b), " ")
	n, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || n < 0 || !wire.ValidID(id) {
		return position{}, bad
	}
	return position{at: n, id: id}, nil
}

// List implements Reader. It reads the requests table, which the joiner keeps a second or two behind the records.
func (s *Store) List(ctx context.Context, f Filter) (*Page, error) {
	f, err := f.withDefaults(time.Now())
	if err != nil {
		return nil, err
	}
	from := position{at: f.Until.UnixMicro()}
	if f.Cursor != "" {
		if from, err = parseCursor(f.Cursor); err != nil {
			return nil, err
		}
	}
	page := &Page{Requests: []Summary{}}
	for {
		// One more than asked for tells whether there is a next page.
		last, more, err := s.listPart(ctx, f, from, f.Limit+1-len(page.Requests), page)
		if err != nil {
			return nil, err
		}
		if len(page.Requests) > f.Limit {
			page.Requests = page.Requests[:f.Limit]
			end := page.Requests[f.Limit-1]
			page.NextCursor = position{at: end.StartedAt, id: end.RequestID}.cursor()
			return page, nil
		}
		if !more {
			return page, nil
		}
		from = last
	}
}

// clickhouseTime is the form of an instant that a query parameter takes, to the microsecond.
func clickhouseTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

// listPart appends the requests among the next candidates, at most limit: those of which a state, not always the last one,
// fits the filter. last is the place of the last candidate; more says that others may follow.
func (s *Store) listPart(ctx context.Context, f Filter, from position, limit int, page *Page) (last position, more bool, err error) {
	args := []any{
		clickhouse.Named("tenant", f.Tenant), clickhouse.Named("since", clickhouseTime(f.Since)), clickhouse.Named("until", clickhouseTime(f.Until)),
		clickhouse.Named("before", clickhouseTime(time.UnixMicro(from.at))), clickhouse.Named("before_id", from.id),
		clickhouse.Named("provider", f.Provider), clickhouse.Named("deployment", f.Deployment), clickhouse.Named("model", f.Model),
		clickhouse.Named("app", f.App), clickhouse.Named("query_type", f.QueryType), clickhouse.Named("state", string(f.State)),
		clickhouse.Named("limit", uint32(limit)), //nolint:gosec // at most MaxListLimit + 1
	}
	n := 0
	scan := Table.NewScanner()
	err = s.limits.rows(ctx, s.conn, listRequests, args, func(rs driver.Rows) error {
		row, err := scan.Scan(rs)
		if err != nil {
			return err
		}
		n++
		last = position{at: int64(row.StartedAt), id: row.RequestID}
		if !row.Gone && f.fits(&row) {
			page.Requests = append(page.Requests, row.Summary())
		}
		return nil
	})
	return last, n == limit, err
}

// fits reports whether a row is one that the filter selects.
func (f *Filter) fits(row *Row) bool {
	for _, c := range [...]struct{ want, is string }{
		{f.Provider, row.Provider},
		{f.Deployment, row.Deployment},
		{f.Model, row.Model},
		{f.App, row.App},
		{f.QueryType, row.QueryType},
		{string(f.State), row.State},
	} {
		if c.want != "" && c.want != c.is {
			return false
		}
	}
	return true
}
