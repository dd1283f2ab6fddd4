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
	// recordsPerRequest is how many records a request is reckoned to have when the first part of a list's window
	// is chosen; each next part is widening times as long, so that a busy tenant's page reads little and a quiet
	// one's, or a rare filter's, takes few queries.
	recordsPerRequest = 4
	widening          = 8
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

// List implements Reader.
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
	until := time.UnixMicro(min(from.at+1, f.Until.UnixMicro()))
	width, err := s.firstWidth(ctx, f, until)
	if err != nil {
		return nil, err
	}
	for ; f.Since.Before(until); width *= widening {
		since := until.Add(-width)
		if since.Before(f.Since) {
			since = f.Since
		}
		// One more than asked for tells whether there is a next page.
		if err := s.listWindow(ctx, f, since, until, from, f.Limit+1-len(page.Requests), page); err != nil {
			return nil, err
		}
		if len(page.Requests) > f.Limit {
			page.Requests = page.Requests[:f.Limit]
			last := page.Requests[f.Limit-1]
			page.NextCursor = position{at: last.StartedAt, id: last.RequestID}.cursor()
			return page, nil
		}
		until = since
	}
	return page, nil
}

// clickhouseTime is the form of an instant that a query parameter takes, to the microsecond.
func clickhouseTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

// firstWidth returns how long the newest part of the window must be to hold a page, at least one second.
func (s *Store) firstWidth(ctx context.Context, f Filter, until time.Time) (time.Duration, error) {
	want := recordsPerRequest * (f.Limit + 1)
	var start int64
	var n uint64
	args := []any{
		clickhouse.Named("tenant", f.Tenant), clickhouse.Named("since", clickhouseTime(f.Since)), clickhouse.Named("until", clickhouseTime(until)),
		clickhouse.Named("limit", uint32(want)), //nolint:gosec // at most a few thousand
	}
	err := s.limits.rows(ctx, s.conn, listStart, args, func(rs driver.Rows) error { return rs.Scan(&start, &n) })
	if err != nil {
		return 0, err
	}
	if n < uint64(want) { //nolint:gosec // not negative
		return until.Sub(f.Since), nil
	}
	return max(time.Second, until.Sub(time.UnixMicro(start))), nil
}

// listWindow appends the requests of one window, at most limit.
func (s *Store) listWindow(ctx context.Context, f Filter, since, until time.Time, from position, limit int, page *Page) error {
	args := []any{
		clickhouse.Named("tenant", f.Tenant), clickhouse.Named("since", clickhouseTime(since)), clickhouse.Named("until", clickhouseTime(until)),
		clickhouse.Named("before", clickhouseTime(time.UnixMicro(from.at))), clickhouse.Named("before_id", from.id),
		clickhouse.Named("provider", f.Provider), clickhouse.Named("deployment", f.Deployment), clickhouse.Named("model", f.Model),
		clickhouse.Named("app", f.App), clickhouse.Named("query_type", f.QueryType), clickhouse.Named("state", string(f.State)),
		clickhouse.Named("limit", uint32(limit)), //nolint:gosec // at most MaxListLimit + 1
	}
	return s.limits.rows(ctx, s.conn, listWindow, args, func(rs driver.Rows) error {
		m := Summary{Tenant: f.Tenant}
		var served uint16
		var attempts uint32
		var state, provider, deployment, model, version, app, finish, errType string
		err := rs.Scan(&m.RequestID, &m.StartedAt, &state, &served, &attempts, &m.HasServer, &m.HasGateway, &m.HasClient,
			&provider, &deployment, &model, &version, &app, &m.QueryType, &finish, &errType,
			&m.TTFTUS, &m.TTFAUS, &m.EndUS, &m.NChunks, &m.Tokens, &m.MaxGapUS, &m.QueueWaitUS, &m.PerceivedTTFTUS, &m.GapUS)
		if err != nil {
			return err
		}
		m.State, m.Attempts = State(state), int(attempts)
		if served > 0 {
			m.ServedAttempt = known(uint32(served))
		}
		m.Target = target(wire.Target{Provider: provider, Deployment: deployment, Model: model, ModelVersion: version})
		m.App, m.FinishReason, m.Error = text(app), text(finish), text(errType)
		page.Requests = append(page.Requests, m)
		return nil
	})
}

// Summary returns the request's scalars, as a list shows them.
func (r *Request) Summary() Summary {
	s := Summary{
		RequestID: r.RequestID, Tenant: r.Tenant, State: r.State, Target: r.Target, App: r.App, QueryType: r.QueryType,
		ServedAttempt: r.ServedAttempt, Attempts: len(r.Attempts), PerceivedTTFTUS: r.Perceived.TTFTUS, GapUS: r.Perceived.GapUS,
		HasGateway: r.Gateway != nil, HasClient: r.Client != nil,
	}
	server, relay := int64(0), int64(0)
	earliest := func(at *int64, v int64) {
		if *at == 0 || v < *at {
			*at = v
		}
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.Server != nil {
			s.HasServer = true
			earliest(&server, a.Server.StartedAt)
		}
		if a.Gateway != nil && a.Gateway.Stream != nil {
			earliest(&relay, a.Gateway.Stream.StartedAt)
		}
		for j := range a.OtherStreams {
			o := &a.OtherStreams[j]
			if o.Tier == string(wire.TierServer) {
				earliest(&server, o.StartedAt)
			} else {
				earliest(&relay, o.StartedAt)
			}
		}
		if a.Served && a.Server != nil {
			v := a.Server
			n := int64(v.NChunks)
			s.FinishReason, s.Error, s.TTFTUS, s.TTFAUS, s.EndUS = v.FinishReason, v.Error, v.TTFTUS, v.TTFAUS, v.EndUS
			s.NChunks, s.Tokens, s.MaxGapUS = &n, v.Tokens, v.MaxGapUS
		}
	}
	if r.Gateway != nil {
		s.QueueWaitUS = r.Gateway.Phases.QueueWaitUS
	}
	switch {
	case server > 0:
		s.StartedAt = server
	case relay > 0:
		s.StartedAt = relay
	case r.Gateway != nil:
		s.StartedAt = r.Gateway.StartedAt
	case r.Client != nil && r.Client.StartedAt != nil:
		s.StartedAt = *r.Client.StartedAt
	}
	return s
}
