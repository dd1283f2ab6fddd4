package requests

// Names lists the ids by which another tier may know the request: response ids and aliases, sorted.
func (r *Records) Names() []string { return joinNames(r) }

// Answers lists the ids of the request's answers, under which an engine may have logged it.
func (r *Records) Answers() []string {
	var out []string
	add := func(name, id string) {
		if name != "" && name != id {
			out = append(out, name)
		}
	}
	for i := range r.Streams {
		add(r.Streams[i].ResponseID, r.Streams[i].RequestID)
	}
	for i := range r.Gateways {
		add(r.Gateways[i].ResponseID, r.Gateways[i].RequestID)
	}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.RequestID != "" { // else the answer's id is all it knows
			add(c.ResponseID, c.RequestID)
		}
	}
	return out
}

// OnlyAnswer reports whether pages and gateways know the id only as that of an answer: if a request got this answer, the
// records are its.
func (r *Records) OnlyAnswer(id string) bool { return onlyByResponse(*r, id) }

// ByID sorts records by the id under which they are stored.
func ByID(rec Records) map[string]*Records { return split(rec) }
