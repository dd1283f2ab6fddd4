package joiner

import (
	"cmp"
	"slices"
	"time"
)

// settled is when a request is due that is to be joined at once.
var settled = time.Time{}

// behindSeconds is how old an arrival is that is not worth waiting any longer for.
const behindSeconds = 30

// note has a request joined that got something new in a second; running says that it only tells of streams that go on. A
// request that nobody has seen is joined at once while it runs, so that lists have it; one that is still being told of by
// several tiers is given a moment, and the progress of one that is listed is told now and then.
func (w *worker) note(h *held, second int64, running bool, now time.Time) {
	due := now.Add(w.cfg.Settle)
	switch {
	case second < w.now-behindSeconds:
		due = settled
	case running && h.row.running:
		due = h.row.when.Add(w.cfg.Refresh)
	case running && h.row.version == 0:
		due = settled
	}
	if !h.pending {
		h.pending, h.since, h.due = true, second, due
		w.memory.pending[h.name] = h
		return
	}
	h.since = min(h.since, second)
	if due.Before(h.due) {
		h.due = due
	}
}

// again has a request joined anew, of which something else than its records has changed: what arrived in second since.
func (w *worker) again(n name, since int64) { w.note(w.memory.get(n), since, false, time.Now()) }

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

// overdue is for how long the request waits that should have been joined first.
func (w *worker) overdue(now time.Time) time.Duration {
	late := time.Duration(0)
	for _, h := range w.memory.pending {
		if h.due != settled {
			late = max(late, now.Sub(h.due))
		}
	}
	return late
}
