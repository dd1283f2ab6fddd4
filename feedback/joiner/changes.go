package joiner

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/fermata-io/fermata/storage/requests"
)

var (
	//go:embed queries/seconds.sql
	secondsSQL string
	//go:embed queries/found.sql
	foundSQL string
	//go:embed queries/stalls.sql
	stallsSQL string
	//go:embed queries/new_stalls.sql
	newStallsSQL string
)

// name is a request id of a tenant.
type name struct{ tenant, id string }

// Kinds of names in the filter.
const (
	ofRecord byte = 'r' // records came under it
	ofAnswer byte = 'a' // a request claims it: its answer has it, or it is another name
	// ofFinding: findings of it are stored.
	ofFinding byte = 'f'
)

// noInstant stands for a time of which nothing is known.
const noInstant = math.MaxInt64

// settings limit a query; off names settings to switch off.
func settings(ctx context.Context, query string, off ...string) context.Context {
	s := clickhouse.Settings{"max_execution_time": 60, "max_memory_usage": int64(1 << 30), "log_comment": "joiner." + query, "readonly": 2}
	for _, name := range off {
		s[name] = 0
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(s))
}

// query runs a query and calls scan for each row.
func (w *worker) query(ctx context.Context, what, sql string, scan func(driver.Rows) error, args ...any) error {
	off, err := w.store.LookUpOff(ctx)
	if err != nil {
		return err
	}
	rows, err := w.conn.Query(settings(ctx, what, off...), sql, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// span is some seconds of arrivals, or one of several parts of them by id.
type span struct {
	from, until   int64 // seconds since the Unix epoch; until is not in it
	shard, shards uint32
}

// maxSeconds bounds how many seconds with arrivals are looked at in one go.
const maxSeconds = 50_000

// spans cuts what arrived since the last look, before the second until, into pieces of about MaxRequests rows.
func (w *worker) spans(ctx context.Context, until int64) ([]span, error) {
	var out []span
	cur, last, rows, seconds := span{from: w.from, shards: 1}, int64(0), 0, 0
	most := w.cfg.MaxRequests
	err := w.query(ctx, "seconds", secondsSQL, func(rs driver.Rows) error {
		var n uint64
		if err := rs.Scan(&last, &n); err != nil {
			return err
		}
		seconds++
		if rows > 0 && rows+int(n) > most {
			cur.until = last
			out = append(out, cur)
			cur, rows = span{from: last, shards: 1}, 0
		}
		rows += int(n)
		if rows > most { // one second alone
			cur.until, cur.shards = last+1, uint32(rows/most+1) //nolint:gosec // a count
			for cur.shard = range cur.shards {
				out = append(out, cur)
			}
			cur, rows = span{from: last + 1, shards: 1}, 0
		}
		return nil
	}, clickhouse.Named("from", w.from), clickhouse.Named("until", until), clickhouse.Named("limit", uint32(maxSeconds)))
	if err != nil {
		return nil, err
	}
	cur.until = until
	if seconds == maxSeconds {
		cur.until = last + 1 // the rest at the next look
	}
	if cur.from < cur.until {
		out = append(out, cur)
	}
	return out, nil
}

// take reads the rows of a span and notes their requests. When it fails its requests stay noted, but what was read of them is
// dropped, since the next try reads it again.
func (w *worker) take(ctx context.Context, s span) (err error) {
	args := []any{
		clickhouse.Named("from", s.from), clickhouse.Named("until", s.until), clickhouse.Named("shard", s.shard), clickhouse.Named("shards", s.shards),
	}
	type finding struct {
		name
		ofStream, ofGateway bool
	}
	var found []finding
	var foundErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		foundErr = w.query(ctx, "found", foundSQL, func(rs driver.Rows) error {
			var f finding
			err := rs.Scan(&f.tenant, &f.id, &f.ofStream, &f.ofGateway)
			found = append(found, f)
			return err
		}, args...)
	})
	rec, err := w.read(ctx, "arrived", arrivedSQL, args...)
	wg.Wait()
	if err = errors.Join(err, foundErr); err != nil {
		return err
	}
	var touched []*held
	defer func() {
		if err != nil {
			for _, h := range touched {
				w.memory.forget(h)
			}
		}
	}()
	unsure := map[string][]string{} // by tenant
	tenants := byTenant(rec)
	for tenant, all := range tenants {
		for id, r := range requests.ByID(all) {
			h := w.arrived(name{tenant, id}, *r, s.from)
			touched = append(touched, h)
			w.note(h, s.from, s.until, running(r))
			// A joiner before this one may have stored what it says of a clock, and no more.
			h.newClocks = h.newClocks || s.from <= w.began
			w.noteOwner(h, s, unsure)
			w.remember(h, s.from)
		}
	}
	for _, f := range found {
		w.filter.add(ofFinding, f.name, s.from)
		w.silences = w.silences || f.ofStream
		h := w.memory.all[f.name]
		if f.ofStream {
			w.noteOwner(cmp.Or(h, &held{name: f.name, first: noInstant}), s, unsure)
		}
		if f.ofGateway || f.ofStream && (h == nil || len(h.rec.Gateways)+len(h.rec.Clients) > 0) {
			h = w.memory.get(f.name)
			w.note(h, s.from, s.until, h.row.running)
		}
	}
	for tenant, ids := range unsure {
		slices.Sort(ids)
		owners, err := w.askOwners(ctx, tenant, slices.Compact(ids))
		if err != nil {
			return err
		}
		for _, o := range owners {
			w.note(w.memory.get(name{tenant, o}), s.from, s.until, false)
		}
	}
	return nil
}

// noteOwner notes the request that claims the name of what is held, since what is new under the name tells of it too. Where a
// request that is not held may claim it, the name goes among those to be asked for.
func (w *worker) noteOwner(h *held, s span, unsure map[string][]string) {
	if o, ok := w.memory.owners[h.name]; ok {
		w.note(w.memory.get(name{h.tenant, o}), s.from, s.until, false)
	} else if !w.sinceFilter(h) || w.filter.has(ofAnswer, h.name) {
		unsure[h.tenant] = append(unsure[h.tenant], h.id)
	}
}

// arrived adds new records to what is held of a request. Where neither the memory nor the filter knows the id, nothing can
// have been stored under it before.
func (w *worker) arrived(n name, rec requests.Records, second int64) *held {
	_, known := w.memory.all[n]
	h := w.memory.get(n)
	w.seePages(n.tenant, h.rec.Clients, rec.Clients, second)
	w.memory.add(h, rec)
	if !known && w.sinceFilter(h) && !w.filter.has(ofRecord, n) {
		h.young = second > w.began
		h.whole, h.rowKnown = true, h.young
	}
	return h
}

// sinceFilter reports whether a request began after the filter did, so that the filter knows all of its names.
func (w *worker) sinceFilter(h *held) bool {
	return w.filter.since == 0 || h.first != noInstant && w.within(h.first/1_000_000)
}

// within reports whether the filter knows every name that came up first in a second of a source's clock.
func (w *worker) within(second int64) bool {
	return w.filter.since == 0 || second >= w.filter.since+skew && second <= w.now+skew
}

// skew is how far a source's clock may be off the database's for its requests to be known as new, s.
const skew = 600

// running reports whether records only tell of streams that go on.
func running(r *requests.Records) bool {
	for i := range r.Streams {
		if s := &r.Streams[i]; s.Final || s.EndUS.OK {
			return false
		}
	}
	return len(r.Gateways)+len(r.Clients) == 0
}

// byTenant sorts records by tenant.
func byTenant(rec requests.Records) map[string]requests.Records {
	out := map[string]requests.Records{}
	for i := range rec.Streams {
		t := out[rec.Streams[i].Tenant]
		t.Streams = append(t.Streams, rec.Streams[i])
		out[rec.Streams[i].Tenant] = t
	}
	for i := range rec.Gateways {
		t := out[rec.Gateways[i].Tenant]
		t.Gateways = append(t.Gateways, rec.Gateways[i])
		out[rec.Gateways[i].Tenant] = t
	}
	for i := range rec.Clients {
		t := out[rec.Clients[i].Tenant]
		t.Clients = append(t.Clients, rec.Clients[i])
		out[rec.Clients[i].Tenant] = t
	}
	return out
}
