package joiner

import (
	"cmp"
	"slices"
	"time"
)

// behindSeconds is how old an arrival is that is not worth waiting any longer for.
const behindSeconds = 30

// note has a request joined that got something new in the seconds from since to before until; running says that it only tells of
// streams that go on. A request that nobody has seen is joined at once while it runs, so that lists have it; one that is still being
// told of by several tiers is given a moment from when the new came, however long it took to be looked at, and the progress of one
// that is listed is told now and then.
func (w *worker) note(h *held, since, until int64, running bool) {
	came := w.at(until)
	due := came.Add(w.cfg.Settle)
	switch {
	case since < w.now-behindSeconds:
		due = came
	case running && h.row.running:
		if due = h.row.when.Add(w.cfg.Refresh); due.Before(came) {
			due = came
		}
	case running && h.row.version == 0:
		due = came
	}
	if !h.pending {
		h.pending, h.since, h.due = true, since, due
		w.memory.pending[h.name] = h
		return
	}
	h.since = min(h.since, since)
	if due.Before(h.due) {
		h.due = due
	}
}

// again has a request joined anew, of which something else than its records has changed: what arrived in second since.
func (w *worker) again(n name, since int64) { w.note(w.memory.get(n), since, since+1, false) }

// at is when a second of the database's clock began, on this process's clock.
func (w *worker) at(second int64) time.Time {
	return w.asked.Add(time.Duration(second*1_000_000-w.nowUS) * time.Microsecond)
}

// due lists the requests to join now, all of them when there are more than should be held: lists of one tenant each, of at most so
// many, in the order in which the first of each arrived. None waits for what came later, whatever its tenant is called.
func (w *worker) due(now time.Time, most int) [][]*held {
	everything := len(w.memory.pending) > w.cfg.MaxRequests
	tenants := map[string][]*held{}
	for _, h := range w.memory.pending {
		if everything || !h.due.After(now) {
			tenants[h.tenant] = append(tenants[h.tenant], h)
		}
	}
	older := func(a, b *held) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.id, b.id))
	}
	var out [][]*held
	for _, all := range tenants {
		slices.SortFunc(all, older)
		out = slices.AppendSeq(out, slices.Chunk(all, most))
	}
	slices.SortFunc(out, func(a, b []*held) int { return older(a[0], b[0]) })
	return out
}

// oldest is when the request was due that waits longest; now when none is overdue.
func (w *worker) oldest(now time.Time) time.Time {
	for _, h := range w.memory.pending {
		if h.due.Before(now) {
			now = h.due
		}
	}
	return now
}
