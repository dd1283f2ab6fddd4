package clock

import (
	"cmp"
	"slices"
	"sort"
)

// Observation is what one request of a session says of θ.
type Observation struct {
	ID    string // of the request; distinct within a session
	Start int64  // instant on the server's clock, µs
	Bounds
}

// Break is a place in a session where no line goes on: a clock was stepped, or it stood still while its machine slept.
type Break struct {
	Before, After string // the requests next to it
	At            int64  // start of After, on the server's clock
	// What θ is at At by the requests up to Before, and by those from After on, where Known.
	Was, Is Interval
	Known   bool
}

// Step is by how much θ changed: the centre and its uncertainty, µs.
func (b *Break) Step() (us, uncertainty int64) {
	return Interval{Lo: b.Is.Lo - b.Was.Hi, Hi: b.Is.Hi - b.Was.Lo}.centre()
}

// Session is what the requests of one session say together. It is a function of the set of observations: their order
// does not matter.
type Session struct {
	// Breaks are the contradictions between neighbours in time.
	Breaks []Break
	// Strays are requests that contradict those before and after them, which agree with each other: wrong joins.
	Strays []Break
	// Broken are the ids of requests whose own bounds contradict each other; they count for nothing.
	Broken []string

	cfg    Config
	all    []Observation // by start
	pieces []piece
}

// piece is a run of observations without a contradiction, less the strays in it.
type piece struct {
	members []int
	bounds  Bounds
}

// Align brings the observations of one session together, one for each request. Those that bound neither side are left out.
func Align(obs []Observation, cfg Config) *Session {
	s := &Session{cfg: cfg}
	for _, o := range obs {
		switch {
		case len(o.Lower)+len(o.Upper) == 0:
		case cfg.Empty(o.Bounds, o.Start):
			s.Broken = append(s.Broken, o.ID)
		default:
			s.all = append(s.all, o)
		}
	}
	slices.Sort(s.Broken)
	slices.SortFunc(s.all, func(a, b Observation) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID)) })
	for from := 0; from < len(s.all); {
		n := s.fits(from)
		p := piece{}
		for i := from; i < from+n; i++ {
			p.add(s.all, i)
		}
		s.pieces = append(s.pieces, p)
		from += n
	}
	s.findStrays()
	for i := 1; i < len(s.pieces); i++ {
		was, is := &s.pieces[i-1], &s.pieces[i]
		s.Breaks = append(s.Breaks, s.between(was, is))
	}
	return s
}

func (p *piece) add(all []Observation, i int) {
	p.members = append(p.members, i)
	p.bounds.Add(all[i].Bounds)
}

// fits is how many observations from one on have a line in common, at least 1.
func (s *Session) fits(from int) int {
	rest := s.all[from:]
	ok := func(n int) bool {
		var b Bounds
		for i := range rest[:n] {
			b.Add(rest[i].Bounds)
		}
		return !s.cfg.Empty(b, rest[0].Start)
	}
	if ok(len(rest)) {
		return len(rest)
	}
	// More bounds never make a contradiction go away.
	return max(1, sort.Search(len(rest), func(n int) bool { return n > 0 && !ok(n) })-1)
}

// findStrays takes out pieces of a single request whose neighbours agree with each other.
func (s *Session) findStrays() {
	for i := 1; i+1 < len(s.pieces); i++ {
		a, p, b := &s.pieces[i-1], &s.pieces[i], &s.pieces[i+1]
		if len(p.members) > 1 {
			continue
		}
		both := piece{members: append(slices.Clone(a.members), b.members...)}
		both.bounds.Add(a.bounds)
		both.bounds.Add(b.bounds)
		if s.cfg.Empty(both.bounds, s.all[both.members[0]].Start) {
			continue
		}
		s.Strays = append(s.Strays, s.between(a, p))
		s.pieces = slices.Concat(s.pieces[:i-1], []piece{both}, s.pieces[i+2:])
		i = max(0, i-2)
	}
}

func (s *Session) between(was, is *piece) Break {
	last, next := &s.all[was.members[len(was.members)-1]], &s.all[is.members[0]]
	b := Break{Before: last.ID, After: next.ID, At: next.Start}
	var ok bool
	b.Was, ok = s.cfg.At(was.bounds, next.Start)
	b.Is, b.Known = s.cfg.At(is.bounds, next.Start)
	b.Known = b.Known && ok
	return b
}

// Next is the id of the request that began after one, empty where there is none.
func (s *Session) Next(id string) string {
	i := slices.IndexFunc(s.all, func(o Observation) bool { return o.ID == id })
	if i < 0 || i+1 == len(s.all) {
		return ""
	}
	return s.all[i+1].ID
}

// At returns θ at an instant near a request of the session, by all requests that no break separates from it; ok is
// false where they don't bound it. A stray has its own bounds alone.
func (s *Session) At(id string, x int64) (Estimate, bool) {
	i := slices.IndexFunc(s.all, func(o Observation) bool { return o.ID == id })
	if i < 0 {
		return Estimate{}, false
	}
	for k := range s.pieces {
		if !slices.Contains(s.pieces[k].members, i) {
			continue
		}
		var together []Bounds
		for _, m := range s.pieces[k].members {
			together = append(together, s.all[m].Bounds)
		}
		if e, ok := s.cfg.Estimate(together, x); ok {
			return e, true
		}
	}
	return s.cfg.Estimate([]Bounds{s.all[i].Bounds}, x)
}
