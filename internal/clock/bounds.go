package clock

import (
	"cmp"
	"slices"
)

// Point is a bound of θ at one instant, both in µs. At is on the server's clock.
type Point struct{ At, Theta int64 }

// Bounds are what messages between two processes say of θ: it is not less than any Lower point, and not more than any
// Upper one. The zero value says nothing.
type Bounds struct{ Lower, Upper []Point }

// Sent adds a message from client to server: sent at client time c, received at server time s.
func (b *Bounds) Sent(c, s int64) { b.Lower = append(b.Lower, Point{s, c - s}) }

// Received adds a message from server to client: sent at server time s, received at client time c.
func (b *Bounds) Received(s, c int64) { b.Upper = append(b.Upper, Point{s, c - s}) }

// Add adds what other bounds say.
func (b *Bounds) Add(o Bounds) {
	b.Lower, b.Upper = append(b.Lower, o.Lower...), append(b.Upper, o.Upper...)
}

// Closed reports whether θ is bounded on both sides.
func (b *Bounds) Closed() bool { return len(b.Lower) > 0 && len(b.Upper) > 0 }

// Curve is one side's cumulative content: by instant T[i], in µs on that side's clock, Cum[i] bytes had been
// sent or received. Both ascend.
type Curve struct {
	T   []int64
	Cum []int64
}

// Positions adds a message for each content position that both curves know: the server's chunk that ends at a
// position was sent before the client had received that many bytes.
func (b *Bounds) Positions(server, client Curve) {
	j := 0
	for i, pos := range server.Cum {
		if pos == 0 || i > 0 && server.Cum[i-1] == pos {
			continue // carries no content
		}
		for j < len(client.Cum) && client.Cum[j] < pos {
			j++
		}
		if j == len(client.Cum) {
			return
		}
		b.Received(server.T[i], client.T[j])
	}
}

// Prune drops the points that no line of |slope| ≤ rate can touch, since others are tighter; where more than most are
// left on one side it keeps those that matter for evenly spread slopes. What is left is in order, and the same for any
// order of what was given.
func (b Bounds) Prune(rate float64, most int) Bounds {
	return Bounds{Lower: flip(prune(flip(b.Lower), rate, most)), Upper: prune(b.Upper, rate, most)}
}

func flip(ps []Point) []Point {
	out := make([]Point, len(ps))
	for i, p := range ps {
		out[i] = Point{p.At, -p.Theta}
	}
	return out
}

// prune keeps the points of an upper bound that matter: the vertices of the lower convex hull that a line of a slope
// between −rate and rate can touch from below.
func prune(ps []Point, rate float64, most int) []Point {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, func(a, b Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Theta, b.Theta)) })
	var hull []Point
	for _, p := range ps {
		if n := len(hull); n > 0 && hull[n-1].At == p.At {
			continue // sorted: the one before is tighter
		}
		for n := len(hull); n > 1 && slope(hull[n-2], hull[n-1]) >= slope(hull[n-1], p); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	for len(hull) > 1 && slope(hull[0], hull[1]) < -rate {
		hull = hull[1:]
	}
	for n := len(hull); n > 1 && slope(hull[n-2], hull[n-1]) > rate; n = len(hull) {
		hull = hull[:n-1]
	}
	if len(hull) <= most {
		return hull
	}
	// The vertex that a line of slope b touches is the one whose edges' slopes enclose b.
	kept := make([]Point, 0, most)
	at := 0
	for i := range most {
		b := -rate
		if most > 1 {
			b += 2 * rate * float64(i) / float64(most-1)
		}
		for at+1 < len(hull) && slope(hull[at], hull[at+1]) < b {
			at++
		}
		if len(kept) == 0 || kept[len(kept)-1] != hull[at] {
			kept = append(kept, hull[at])
		}
	}
	return kept
}

func slope(a, b Point) float64 { return float64(b.Theta-a.Theta) / float64(b.At-a.At) }
