package joiner

import (
	"strconv"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// clocksOf puts out what requests of one tenant say of their pages' clocks, where that is new, and those other requests of the
// sessions in which it may show a contradiction. Those count as not joined since the records that showed it arrived, so that
// these are read again when this process ends before. Those in knowing know of it anyway.
func (w *worker) clocksOf(tenant string, reqs []*requests.Request, knowing map[string]bool) {
	o := &w.out.clocks
	for _, r := range reqs {
		h := w.memory.get(name{tenant, r.RequestID})
		for _, row := range r.ClockRows() {
			h.newClocks = true // until it is stored: when that fails, it may have worked
			o.rows = append(o.rows, row)
			o.fresh.Add(row)
		}
		if !h.newClocks {
			continue
		}
		for _, id := range r.ClockNeighbours() {
			if !knowing[id] {
				o.neighbours = append(o.neighbours, neighbour{name{tenant, id}, h.since})
			}
		}
	}
}

// Kinds of names of pages in the filter: seen, and seen more than once.
const (
	ofPage      byte = 'p'
	ofPageAgain byte = 'q'
)

func pageName(tenant, session string, origin int64) name {
	return name{tenant, session + "\x00" + strconv.FormatInt(origin, 36)}
}

// seePages notes of which pages the new records of a request are; had are those that were held of it before.
func (w *worker) seePages(tenant string, had, fresh []wire.Client, second int64) {
	type page struct {
		session string
		origin  int64
	}
	seen := map[page]bool{}
	for i := range had {
		seen[page{had[i].SessionID, had[i].TimeOrigin}] = true
	}
	for i := range fresh {
		p := page{fresh[i].SessionID, fresh[i].TimeOrigin}
		if p.session == "" || seen[p] {
			continue
		}
		seen[p] = true
		n, kind := pageName(tenant, p.session, p.origin), ofPage
		if w.filter.has(ofPage, n) {
			kind = ofPageAgain
		}
		w.filter.add(kind, n, second)
	}
}

// lone returns what tells whether a page has surely had one request only.
func (w *worker) lone(tenant string) func(session string, origin int64) bool {
	return func(session string, origin int64) bool {
		return w.within(origin/1_000_000) && !w.filter.has(ofPageAgain, pageName(tenant, session, origin))
	}
}
