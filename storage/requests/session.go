package requests

import (
	"context"
	"slices"
	"sort"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
)

// Limits of what of a session counts for one request, and of what is read of it.
const (
	sessionRows = 256 // rows of the nearest requests of the page on either side in time
	maxSessions = 4   // pages that one request may be of
	pageRows    = 8 * sessionRows
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

// nearest picks what counts for a request with these records of what is known of its pages' clocks: whoever assembles it, alone
// or with others, goes by the same rows. of are the last versions of rows by page, in their order; those of pages that cs are of
// are complete at least as far as they count.
func nearest(cs []wire.Client, of map[page][]clocks.Row) []clocks.Row {
	pages := pagesOf(cs)
	if len(pages) > maxSessions {
		return nil
	}
	var out []clocks.Row
	for p, at := range pages {
		rows := of[p]
		after := sort.Search(len(rows), func(i int) bool { return rows[i].SubmitUS > uint64(at) }) //nolint:gosec // not negative
		out = append(out, rows[max(0, after-sessionRows):min(len(rows), after+sessionRows)]...)
	}
	slices.SortFunc(out, clocks.Compare)
	return out
}

// byPage sorts rows by page, in order, and keeps the last version of each.
func byPage(rows []clocks.Row) map[page][]clocks.Row {
	of := map[page][]clocks.Row{}
	for _, row := range latest(rows) {
		p := page{row.SessionID, int64(row.TimeOrigin)} //nolint:gosec // was an int64
		of[p] = append(of[p], row)
	}
	return of
}

// sessionOf reads what counts for a request with these records of its pages' clocks.
func (s *Store) sessionOf(ctx context.Context, tenant string, cs []wire.Client) ([]clocks.Row, error) {
	pages := pagesOf(cs)
	if len(pages) == 0 || len(pages) > maxSessions {
		return nil, nil
	}
	var all []clocks.Row
	for p, at := range pages {
		rows, err := s.around(ctx, tenant, p, at)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return nearest(cs, byPage(all)), nil
}

// around reads the rows of a page that count for a request at an instant.
func (s *Store) around(ctx context.Context, tenant string, p page, at int64) ([]clocks.Row, error) {
	return s.clockRows(ctx, sessionClocks, []any{
		clickhouse.Named("tenant", tenant), clickhouse.Named("session", p.session), clickhouse.Named("origin", uint64(p.origin)), //nolint:gosec // not negative
		clickhouse.Named("at", uint64(at)), clickhouse.Named("limit", uint32(sessionRows)), //nolint:gosec // not negative
	})
}

// sessionsOf returns what counts for any of many requests, of which all are the pages' records.
func (s *Store) sessionsOf(ctx context.Context, tenant string, all [][]wire.Client, with Sessions) ([]clocks.Row, error) {
	var sessions []string
	var origins []uint64
	var fresh []clocks.Row
	seen := map[page]bool{}
	for _, cs := range all {
		for p := range pagesOf(cs) {
			if seen[p] {
				continue
			}
			seen[p] = true
			if with.Fresh != nil {
				for _, row := range with.Fresh.of[p] {
					if row.Tenant == tenant {
						fresh = append(fresh, row)
					}
				}
			}
			if with.Lone == nil || !with.Lone(p.session, p.origin) {
				sessions, origins = append(sessions, p.session), append(origins, uint64(p.origin)) //nolint:gosec // not negative
			}
		}
	}
	stored, err := s.storedOf(ctx, tenant, all, sessions, origins)
	return append(stored, fresh...), err
}

// storedOf reads what is stored of some pages and counts for any of many requests.
func (s *Store) storedOf(ctx context.Context, tenant string, all [][]wire.Client, sessions []string, origins []uint64) ([]clocks.Row, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	rows, err := s.clockRows(ctx, sessionsClocks, []any{
		clickhouse.Named("tenant", tenant), clickhouse.Named("sessions", sessions), clickhouse.Named("origins", origins),
		clickhouse.Named("most", uint32(pageRows)), clickhouse.Named("limit", uint32(s.limits.Rows)), //nolint:gosec // a small limit
	})
	if err != nil {
		return nil, err
	}
	n := map[page]int{}
	for i := range sessions {
		n[page{sessions[i], int64(origins[i])}] = 0 //nolint:gosec // was an int64
	}
	for i := range rows {
		n[page{rows[i].SessionID, int64(rows[i].TimeOrigin)}]++ //nolint:gosec // was an int64
	}
	read := len(rows)
	// Of which pages there is more, each request asks for its own part.
	for _, cs := range all {
		for p, at := range pagesOf(cs) {
			if have, asked := n[p]; !asked || have < pageRows && read < s.limits.Rows {
				continue
			}
			more, err := s.around(ctx, tenant, p, at)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

func (s *Store) clockRows(ctx context.Context, q query, args []any) ([]clocks.Row, error) {
	off, err := s.LookUpOff(ctx)
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
