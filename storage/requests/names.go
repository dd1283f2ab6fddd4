package requests

import "slices"

// Names lists the ids by which another tier may know the request: response ids and aliases, sorted.
func (r *Records) Names() []string { return joinNames(r) }

// Claims lists the ids, other than their own, under which the records say that others may have logged the request: ids of its
// answers and aliases. A trace has many requests, so its id claims nothing.
func (r *Records) Claims() []string {
	var out []string
	add := func(id, trace, response string, aliases []string) {
		for _, name := range append([]string{response}, aliases...) {
			if name != "" && name != id && name != trace {
				out = append(out, name)
			}
		}
	}
	for i := range r.Streams {
		s := &r.Streams[i]
		add(s.RequestID, s.TraceID, s.ResponseID, s.Aliases)
	}
	for i := range r.Gateways {
		g := &r.Gateways[i]
		add(g.RequestID, g.TraceID, g.ResponseID, g.Aliases)
	}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.RequestID != "" { // else the answer's id is all it knows
			add(c.RequestID, c.TraceID, c.ResponseID, c.Aliases)
		}
	}
	return out
}

// Belongs reports whether the records under an id are those of the one request that claims the id, owner: no gateway knows it,
// and it is an engine's or a page's alone, which claims nothing in turn.
func (r *Records) Belongs(id, owner string) bool {
	return owner != id && r.mayBelong(id) && !slices.Contains(r.Claims(), owner)
}

// mayBelong is what Belongs goes by that the owner has no part in.
func (r *Records) mayBelong(id string) bool {
	for i := range r.Gateways {
		if r.Gateways[i].RequestID == id {
			return false
		}
	}
	for i := range r.Clients {
		if r.Clients[i].RequestID == id && len(r.Streams) > 0 {
			return false
		}
	}
	return true
}

// ByID sorts records by the id under which they are stored.
func ByID(rec Records) map[string]*Records { return split(rec) }
