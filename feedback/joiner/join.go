package joiner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fermata-io/fermata/feedback/joined"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// addedStep is how much higher than the state it adds to the joiner stores a finding of a stream.
const addedStep = 8

// joinMost bounds the requests that are joined and written together: what is read for them is held until then.
const joinMost = 5000

// writeEvery is about how long what was joined waits for what is written together with it.
const writeEvery = time.Second

// joinAll joins the requests that are due. An insert has those of many tenants. Where one tenant's can't be joined the others'
// are all the same: that is told at the end of the look, and tried again at the next. now is the database's clock, µs.
func (w *worker) joinAll(ctx context.Context, now int64) error {
	var out output
	began := time.Now()
	for _, b := range w.due(began, joinMost) {
		if len(out.joined)+len(b) > joinMost || time.Since(began) > writeEvery {
			if err := w.flush(ctx, out); err != nil {
				return err
			}
			out, began = output{}, time.Now()
		}
		if err := w.join(ctx, b, now); err != nil {
			if w.failed == nil {
				w.failed = err
			}
			continue
		}
		out.add(&w.out)
	}
	return w.flush(ctx, out)
}

// join assembles requests of one tenant and puts out what follows: what they say of clocks, findings that are new or differ from
// what is stored, and rows. now is the database's clock, µs.
func (w *worker) join(ctx context.Context, all []*held, now int64) error {
	w.out = output{joined: all, fresh: map[*held]written{}} // of a try that failed nothing is left
	tenant := all[0].tenant
	records, err := w.complete(ctx, tenant, all)
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(all))
	var answers []*held
	for _, h := range all {
		if w.isAnswer(h) {
			answers = append(answers, h)
			continue
		}
		ids = append(ids, h.id)
		for _, a := range h.rec.Claims() {
			if other := w.memory.all[name{tenant, a}]; other != nil && !other.pending && w.isAnswer(other) {
				answers = append(answers, other)
			}
		}
	}
	var states []state
	knowing := make(map[string]bool, len(ids)) // what is said of clocks from here on
	for _, id := range ids {
		knowing[id] = true
	}
	for len(ids) > 0 {
		part := ids[:min(len(ids), w.cfg.Batch)]
		ids = ids[len(part):]
		reqs, err := w.store.Join(ctx, tenant, part, records, requests.Sessions{Fresh: &w.out.clocks.fresh, Lone: w.lone(tenant)})
		if err != nil {
			return err
		}
		w.clocksOf(tenant, reqs, knowing)
		if err := w.findings(ctx, tenant, reqs); err != nil {
			return err
		}
		for _, r := range reqs {
			states = append(states, w.stateOf(r))
		}
		for _, id := range part {
			delete(knowing, id)
		}
	}
	return w.rowsOf(ctx, tenant, states, answers, now)
}

// isAnswer reports whether an id is another name only, mostly that of its answer, of a request that is held: its records belong
// there.
func (w *worker) isAnswer(h *held) bool {
	owner, ok := w.memory.owners[h.name]
	return ok && len(h.rec.Streams)+len(h.rec.Clients) > 0 && h.rec.Belongs(h.id, owner)
}

// complete reads what is not held of requests and of their other names, and returns the records by id.
func (w *worker) complete(ctx context.Context, tenant string, batch []*held) (map[string]*requests.Records, error) {
	var missing []*held
	for _, h := range batch {
		if !h.whole {
			missing = append(missing, h)
		}
	}
	if err := w.load(ctx, tenant, missing); err != nil {
		return nil, err
	}
	records := make(map[string]*requests.Records, len(batch))
	var names []*held
	missing = missing[:0]
	for _, h := range batch {
		records[h.id] = &h.rec
		for _, id := range h.rec.Names() {
			n := name{tenant, id}
			other := w.memory.all[n]
			if other == nil && w.sinceFilter(h) && !w.filter.has(ofRecord, n) {
				continue // nothing came under it
			}
			other = w.memory.get(n)
			other.first = min(other.first, h.first)
			names = append(names, other)
			if !other.whole {
				missing = append(missing, other)
			}
		}
	}
	slices.SortFunc(missing, func(a, b *held) int { return cmp.Compare(a.id, b.id) })
	if err := w.load(ctx, tenant, slices.Compact(missing)); err != nil {
		return nil, err
	}
	for _, h := range names {
		records[h.id] = &h.rec
	}
	return records, nil
}

// several reports whether more than one record can tell something of a request.
func several(r *requests.Request) bool {
	streams := 0
	for i := range r.Attempts {
		a := &r.Attempts[i]
		streams += len(a.OtherStreams)
		if a.Server != nil {
			streams++
		}
		if a.Gateway != nil && a.Gateway.Stream != nil {
			streams += 2 // its findings are to be attributed
		}
	}
	return r.Gateway != nil || r.Client != nil || streams > 1 || len(r.Conflicts) > 0
}

// findings derives what the tiers of requests show and puts out what is new.
func (w *worker) findings(ctx context.Context, tenant string, all []*requests.Request) error {
	var reqs []*requests.Request
	var names []string
	for _, r := range all {
		if !several(r) {
			continue
		}
		reqs = append(reqs, r)
		// Findings are only read if some were stored, of a request whose findings were all seen to arrive: a new one, or, once what
		// came until this joiner began is read, one that began after the filter did.
		h := w.memory.get(name{tenant, r.RequestID})
		sure := (h.young || w.from > w.began) && w.sinceFilter(h)
		for _, n := range joined.Names(r) {
			if !sure || w.filter.has(ofFinding, name{tenant, n}) {
				names = append(names, n)
			}
		}
	}
	if len(reqs) == 0 {
		return nil
	}
	byRequest := map[string][]findings.Row{}
	if len(names) > 0 {
		slices.Sort(names)
		stored, err := w.found.Rows(ctx, tenant, slices.Compact(names))
		if err != nil {
			return err
		}
		for i := range stored {
			byRequest[stored[i].RequestID] = append(byRequest[stored[i].RequestID], stored[i])
		}
	}
	for _, r := range reqs {
		var own []findings.Row
		for _, n := range joined.Names(r) {
			own = append(own, byRequest[n]...)
		}
		found, refined := joined.Derive(r, own, &w.cross)
		w.out.findings = append(w.out.findings, Changes(r, own, found, refined)...)
	}
	return nil
}

// Changes returns the rows that bring what is stored of a request to what was derived of it. stored are the last states of
// its findings.
func Changes(r *requests.Request, stored []findings.Row, found, refined []wire.Finding) []findings.Row {
	var out []findings.Row
	last := map[string]*findings.Row{}
	for i := range stored {
		last[stored[i].ID] = &stored[i]
	}
	still := map[string]bool{}
	for i := range found {
		row := findings.FromWire(&found[i], findings.OriginJoin)
		still[row.ID] = true
		if old := last[row.ID]; old != nil {
			row.Version = old.Version
			if row == *old {
				continue
			}
			row.Version++
		} else {
			row.Version = 1
		}
		out = append(out, row)
	}
	for i := range stored {
		if old := &stored[i]; old.Origin == findings.OriginJoin && old.RequestID == r.RequestID && !old.Withdrawn && !still[old.ID] {
			row := *old
			row.Withdrawn, row.Open = true, false
			row.Version++
			out = append(out, row)
		}
	}
	for i := range refined {
		if old := last[refined[i].ID]; old != nil && old.Attribution != refined[i].Attribution {
			row := *old
			row.Attribution = refined[i].Attribution
			row.Version += addedStep
			out = append(out, row)
		}
	}
	return out
}

// write stores rows of findings.
func (w *worker) write(ctx context.Context, rows []findings.Row) error {
	if len(rows) == 0 {
		return nil
	}
	b := findings.Table.NewBatch()
	for i := range rows {
		b.Append(&rows[i])
		w.filter.add(ofFinding, name{rows[i].Tenant, rows[i].RequestID}, w.now) // an insert that fails may have worked
	}
	if err := w.insert.Insert(ctx, clickhouse.Block{SQL: b.InsertSQL(), Input: b.Input()}); err != nil {
		return err
	}
	for i := range rows {
		w.tel.wrote(rows[i].Kind)
	}
	return nil
}
