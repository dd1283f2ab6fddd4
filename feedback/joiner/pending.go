package joiner

import (
	"slices"
	"strings"
	"time"
)

// pending is a request that got records and is not joined since.
type pending struct {
	first int64 // second in which the earliest of them arrived
	due   time.Time
}

// settled marks what is to be joined at once.
var settled = time.Time{}

// note remembers that a request got records in a second; running says that they only tell of streams that go on. A request
// that nobody has seen is joined at once while it runs, so that lists have it; one that is still being told of by several
// tiers is given a moment, and the progress of one that is listed is told now and then.
func (w *worker) note(n name, second int64, running bool, now time.Time) {
	due := now.Add(w.cfg.Settle)
	if running {
		due = settled
		if last, ok := w.written.Peek(n); ok {
			due = last.when.Add(w.cfg.Refresh)
		}
	}
	p := w.pending[n]
	if p == nil {
		w.pending[n] = &pending{first: second, due: due}
		return
	}
	p.first = min(p.first, second)
	if due.Before(p.due) {
		p.due = due
	}
}

// due lists the requests to join now, by tenant and id; all of them when there are more than one look should hold.
func (w *worker) due(now time.Time) []name {
	everything := len(w.pending) > w.cfg.MaxRequests
	var out []name
	for n, p := range w.pending {
		if everything || !p.due.After(now) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b name) int {
		if c := strings.Compare(a.tenant, b.tenant); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	return out
}

// overdue is how long the request that should have been joined first waits.
func (w *worker) overdue(now time.Time) time.Duration {
	late := time.Duration(0)
	for _, p := range w.pending {
		if p.due != settled {
			late = max(late, now.Sub(p.due))
		}
	}
	return late
}

// batches cuts requests, ordered by tenant, into lists of one tenant each.
func batches(all []name, most int) [][]name {
	var out [][]name
	for len(all) > 0 {
		n := 1
		for n < len(all) && n < most && all[n].tenant == all[0].tenant {
			n++
		}
		out = append(out, all[:n])
		all = all[n:]
	}
	return out
}
