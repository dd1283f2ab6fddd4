package clock

import "math"

// Estimate is θ at one instant, with what it rests on. Times are µs.
type Estimate struct {
	// Interval is what causality alone leaves, for any rates within Config: the truth lies in it.
	Interval
	// Offset is θ by the line that leaves most room to the bounds on either side, or the centre of Interval where that is
	// the better known.
	Offset int64
	// Uncertainty is half of the best round trip of all requests, or half of Interval where that is less.
	Uncertainty int64
	// Rate is dθ/dx of that line, as a ratio.
	Rate float64
	// RoundTrip is the best of all requests: what is left of it when the server's time is taken off. -1: not known.
	RoundTrip int64
}

// Estimate brings the bounds of several requests of one pair of clocks together. ok is as in At. More requests never make
// it less certain, and their order does not matter.
//
// Why half of the best round trip: at any one rate, the lower and the upper points of the best request leave no more
// than its round trip between two parallel lines, and the true line lies between them. The estimate's line has a rate
// that leaves as much room as there is to all bounds, which makes it the least likely to cross the true one.
func (c *Config) Estimate(requests []Bounds, x int64) (e Estimate, ok bool) {
	var all Bounds
	for _, b := range requests {
		all.Add(b)
	}
	i, ok := c.At(all, x)
	if !ok {
		return Estimate{}, false
	}
	e = Estimate{Interval: i, Rate: (i.RateLo + i.RateHi) / 2, RoundTrip: -1}
	e.Offset, e.Uncertainty = i.centre()
	even := *c
	even.Wander = 0
	slack := even.Slack
	if !i.Slackened {
		slack = 0
	}
	r, ok := even.region(all, x, slack)
	if !ok {
		return e, true // the rate changed in between: what causality leaves is all there is
	}
	rate, offset := r.roomiest(longest(requests))
	e.Rate = rate
	if e.RoundTrip = bestRoundTrip(requests, rate); e.RoundTrip < 0 {
		return e, true
	}
	half := (e.RoundTrip+1)/2 + slack.Microseconds()
	if half < e.Uncertainty {
		e.Offset, e.Uncertainty = r.base+int64(math.Round(offset)), half
	}
	return e, true
}

// roomiest returns the rate of the line that leaves most room to both sides, and its value at the asked instant. The
// longest upright chord of a convex polygon passes through one of its corners. A rate other than 0 must leave more room than it
// makes within one request, which is span µs long: a request's first and last bound alone tell nothing of the rate.
func (r *region) roomiest(span float64) (rate, offset float64) {
	best := math.Inf(-1)
	try := func(b float64) {
		hi, lo := math.Inf(1), math.Inf(-1)
		for _, h := range r.upper {
			hi = min(hi, h.v-b*h.dx)
		}
		for _, h := range r.lower {
			lo = max(lo, -h.v-b*h.dx)
		}
		room := hi - lo - span*math.Abs(b)
		d := room - best
		if d > tiny || d > -tiny && math.Abs(b) < math.Abs(rate) {
			best, rate, offset = room, b, lo+(hi-lo)/2
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range r.polygon {
		least, most = min(least, v.b), max(most, v.b)
		try(v.b)
	}
	if least < 0 && most > 0 {
		try(0)
	}
	return rate, offset
}

// longest is the time between the first and the last bound of one request, of the longest.
func longest(requests []Bounds) float64 {
	span := int64(0)
	for _, b := range requests {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, side := range [][]Point{b.Lower, b.Upper} {
			for _, p := range side {
				first, last = min(first, p.At), max(last, p.At)
			}
		}
		if last > first {
			span = max(span, last-first)
		}
	}
	return float64(span)
}

// bestRoundTrip is the least that one request's own bounds leave, between clocks that run apart at a rate; -1 where none
// has both sides.
func bestRoundTrip(requests []Bounds, rate float64) int64 {
	best := math.Inf(1)
	for _, b := range requests {
		lo, hi := math.Inf(-1), math.Inf(1)
		for _, p := range b.Lower {
			lo = max(lo, float64(p.Theta-b.Lower[0].Theta)-rate*float64(p.At-b.Lower[0].At))
		}
		if len(b.Lower) == 0 {
			continue
		}
		for _, p := range b.Upper {
			hi = min(hi, float64(p.Theta-b.Lower[0].Theta)-rate*float64(p.At-b.Lower[0].At))
		}
		best = min(best, hi-lo)
	}
	if math.IsInf(best, 1) {
		return -1
	}
	return max(0, int64(math.Ceil(best-1e-3)))
}
