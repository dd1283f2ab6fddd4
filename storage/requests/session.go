package requests

import (
	"context"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
)

// Limits of what a look-up reads of a session: rows of the nearest requests on either side in time, how far those of a batch
// may lie apart from it, and how many pages one request may be of.
const (
	sessionRows   = 256
	sessionAround = 3600 * 1_000_000 // µs
	maxSessions   = 4
)

// page is one clock of a page.
type page struct {
	session string
	origin  int64
}

// pagesOf lists the pages that records are of, with the earliest start of a request of each.
func pagesOf(cs []wire.Client) map[page]int64 {
	out := map[page]int64{}
	for i := range cs {
		c := &cs[i]
		if c.SessionID == "" || c.TimeOrigin <= 0 {
			continue
		}
		p := page{c.SessionID, c.TimeOrigin}
		at := max(0, c.Submit.Or(c.RequestSent.Or(0)))
		if was, ok := out[p]; !ok || at < was {
			out[p] = at
		}
	}
	return out
}

// sessionOf reads what the nearest requests of the same page say of its clock.
func (s *Store) sessionOf(ctx context.Context, tenant string, cs []wire.Client) ([]clocks.Row, error) {
	pages := pagesOf(cs)
	if len(pages) == 0 || len(pages) > maxSessions {
		return nil, nil
	}
	var out []clocks.Row
	for p, at := range pages {
		args := []any{
			clickhouse.Named("tenant", tenant), clickhouse.Named("session", p.session), clickhouse.Named("origin", uint64(p.origin)), //nolint:gosec // not negative
			clickhouse.Named("at", uint64(at)), clickhouse.Named("limit", uint32(sessionRows)), //nolint:gosec // not negative
		}
		rows, err := s.clockRows(ctx, sessionClocks, args)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return latest(out), nil
}

// sessionsOf is sessionOf for many requests at once: it reads what the requests of their pages say within an hour of
// any of them.
func (s *Store) sessionsOf(ctx context.Context, tenant string, cs []wire.Client) ([]clocks.Row, error) {
	pages := pagesOf(cs)
	if len(pages) == 0 {
		return nil, nil
	}
	var sessions []string
	from, until := int64(math.MaxInt64), int64(0)
	for p, at := range pages {
		sessions = append(sessions, p.session)
		from, until = min(from, at), max(until, at)
	}
	for i := range cs {
		until = max(until, cs[i].Submit.Or(0))
	}
	slices.Sort(sessions)
	args := []any{
		clickhouse.Named("tenant", tenant), clickhouse.Named("sessions", slices.Compact(sessions)),
		clickhouse.Named("from", uint64(max(0, from-sessionAround))), clickhouse.Named("until", uint64(until+sessionAround)),
		clickhouse.Named("most", uint32(2*sessionRows)), clickhouse.Named("limit", uint32(s.limits.Rows)), //nolint:gosec // a small limit
	}
	rows, err := s.clockRows(ctx, sessionsClocks, args)
	return latest(rows), err
}

func (s *Store) clockRows(ctx context.Context, q query, args []any) ([]clocks.Row, error) {
	off, err := s.lookUpOff(ctx)
	if err != nil {
		return nil, err
	}
	var out []clocks.Row
	scan := clocks.Table.NewScanner()
	err = s.limits.rows(ctx, s.conn, q, args, func(rs driver.Rows) error {
		row, err := scan.Scan(rs)
		row.Stored = true
		out = append(out, row)
		return err
	}, off...)
	return out, err
}

// latest keeps the greatest version of each row, in order.
func latest(rows []clocks.Row) []clocks.Row {
	slices.SortFunc(rows, clocks.Compare)
	out := rows[:0]
	for i := range rows {
		if i+1 < len(rows) && rows[i].SameIdentity(&rows[i+1]) {
			if next := &rows[i+1]; rows[i].Stored && rows[i].Same(next) {
				next.Stored = true
			}
			continue
		}
		out = append(out, rows[i])
	}
	return out
}
