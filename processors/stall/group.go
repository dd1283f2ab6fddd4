package stall

import "sort"

// Window is one stream's silence, on the emitter's wall clock (µs since the epoch). Start windows, from a
// request's arrival to its first chunk, take part as hints: a newcomer's prefill often is the cause.
type Window struct {
	Stream  string // names the stream in the result
	FromUS  int64
	UntilUS int64
	Start   bool // no stall: the wait for a first chunk
}

// Group is a silence that several streams of one emitter share: one engine-wide event.
type Group struct {
	FromUS, UntilUS int64    // median bounds of its stalls
	Streams         []string // stalled, in the order of their windows
	Waiting         []string // streams whose first chunk came out with the others: the likely cause, or fellow victims
}

// Together groups the windows of one emitter that mean the same silence: bounds equal within slackUS plus a
// tenth of the shorter window. Groups of fewer than two stalled streams are left out. Cost: O(n log n) for
// windows spread in time. windows is sorted in place.
func Together(windows []Window, slackUS int64) []Group {
	sort.SliceStable(windows, func(i, j int) bool { return windows[i].FromUS < windows[j].FromUS })
	used := make([]bool, len(windows))
	var out []Group
	for i := range windows {
		if used[i] || windows[i].Start {
			continue
		}
		a := windows[i]
		g := Group{Streams: []string{a.Stream}}
		from, until := []int64{a.FromUS}, []int64{a.UntilUS}
		for j := i + 1; j < len(windows) && windows[j].FromUS-a.FromUS <= slack(a, a, slackUS); j++ {
			b := windows[j]
			if used[j] || b.Start || !same(a, b, slackUS) {
				continue
			}
			used[j] = true
			g.Streams = append(g.Streams, b.Stream)
			from, until = append(from, b.FromUS), append(until, b.UntilUS)
		}
		if len(g.Streams) < 2 {
			continue
		}
		g.FromUS, g.UntilUS = median(from), median(until)
		out = append(out, g)
	}
	for k := range out {
		g := &out[k]
		e := Window{FromUS: g.FromUS, UntilUS: g.UntilUS}
		tol := slack(e, e, slackUS)
		lo := sort.Search(len(windows), func(i int) bool { return windows[i].FromUS >= g.FromUS-tol })
		for _, w := range windows[lo:] {
			if w.FromUS >= g.UntilUS {
				break
			}
			if w.Start && abs(w.UntilUS-g.UntilUS) <= tol {
				g.Waiting = append(g.Waiting, w.Stream)
			}
		}
	}
	return out
}

func slack(a, b Window, slackUS int64) int64 {
	return slackUS + min(a.UntilUS-a.FromUS, b.UntilUS-b.FromUS)/10
}

func same(a, b Window, slackUS int64) bool {
	tol := slack(a, b, slackUS)
	return abs(a.FromUS-b.FromUS) <= tol && abs(a.UntilUS-b.UntilUS) <= tol
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

func median(v []int64) int64 {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return v[len(v)/2]
}
