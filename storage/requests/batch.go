package requests

import (
	"context"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
)

// Requests returns several requests of a tenant by their ids; those of which nothing is known are left out. It asks as
// often as Request does for one. ids are distinct and together have no more records than ReadLimits allow; names of
// requests that are names only are not resolved.
func (s *Store) Requests(ctx context.Context, tenant string, ids []string) ([]*Request, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rec, err := s.gather(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	own := split(rec)
	asked := make(map[string]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	// What others logged under another name of one of them.
	var names []string
	for _, id := range ids {
		if own[id] == nil {
			continue
		}
		for _, n := range namesOf(id, own[id]) {
			if _, have := own[n]; !have && !asked[n] {
				asked[n] = true
				names = append(names, n)
			}
		}
	}
	if len(names) > 0 {
		more, err := s.gather(ctx, tenant, names)
		if err != nil {
			return nil, err
		}
		for id, r := range split(more) {
			own[id] = r
		}
	}
	return s.Join(ctx, tenant, ids, own, Sessions{})
}

// namesOf lists the other names under which records of a request are looked for.
func namesOf(id string, rec *Records) []string {
	names := slices.DeleteFunc(rec.Names(), func(n string) bool { return n == id })
	return names[:min(len(names), maxNames)]
}

// Sessions is what a caller of Join knows of pages' clocks beyond what is stored.
type Sessions struct {
	// Fresh are rows that are about to be stored; nil: none.
	Fresh *FreshClocks
	// Lone reports whether surely nothing is stored of a page; nil: of none that is known.
	Lone func(session string, origin int64) bool
}

// FreshClocks are rows of session_clocks that are about to be stored. The zero value is empty.
type FreshClocks struct{ of map[page][]clocks.Row }

// Add adds a row.
func (f *FreshClocks) Add(row clocks.Row) {
	if f.of == nil {
		f.of = map[page][]clocks.Row{}
	}
	row.Stored = true
	p := page{row.SessionID, int64(row.TimeOrigin)} //nolint:gosec // was an int64
	f.of[p] = append(f.of[p], row)
}

// Join assembles requests of a tenant, of which ids are distinct, from records that were read before: those of each request
// and those under its other names, by their id. Requests without records are left out.
func (s *Store) Join(ctx context.Context, tenant string, ids []string, own map[string]*Records, sessions Sessions) ([]*Request, error) {
	var known []string
	var records []Records
	var pages [][]wire.Client
	for _, id := range ids {
		r := own[id]
		if r == nil || r.Empty() {
			continue
		}
		all := *r
		for _, n := range namesOf(id, r) {
			if other := own[n]; other != nil {
				all = join(all, *other)
			}
		}
		known, records, pages = append(known, id), append(records, all), append(pages, all.Clients)
	}
	session, err := s.sessionsOf(ctx, tenant, pages, sessions)
	if err != nil {
		return nil, err
	}
	out := make([]*Request, len(known))
	for i, id := range known {
		out[i] = Assemble(tenant, id, records[i])
		// What these requests say of their pages' clocks counts for each other too.
		session = append(session, out[i].clockRows...)
	}
	of := byPage(session)
	for i, id := range known {
		all := records[i]
		all.Session = nearest(all.Clients, of)
		if slices.ContainsFunc(all.Session, func(row clocks.Row) bool { return row.RequestID != id || row.Stored }) {
			out[i] = Assemble(tenant, id, all)
		}
	}
	return out, nil
}

// split sorts records by request id.
func split(rec Records) map[string]*Records {
	out := map[string]*Records{}
	of := func(id string) *Records {
		r := out[id]
		if r == nil {
			r = &Records{}
			out[id] = r
		}
		return r
	}
	for i := range rec.Streams {
		r := of(rec.Streams[i].RequestID)
		r.Streams = append(r.Streams, rec.Streams[i])
	}
	for i := range rec.Gateways {
		r := of(rec.Gateways[i].RequestID)
		r.Gateways = append(r.Gateways, rec.Gateways[i])
	}
	for i := range rec.Clients {
		r := of(first(rec.Clients[i].RequestID, rec.Clients[i].ResponseID)) // as the table does
		r.Clients = append(r.Clients, rec.Clients[i])
	}
	return out
}
