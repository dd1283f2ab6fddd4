package clock

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Interval is what causality leaves of θ at one instant, in µs, and of the rate at which it changes.
type Interval struct {
	Lo, Hi int64
	// RateLo and RateHi bound dθ/dx, as ratios; within ±Config.MaxRate.
	RateLo, RateHi float64
	// Slackened says that the bounds contradict each other by no more than Config.Slack, which Lo and Hi include.
	Slackened bool
}

// centre returns the midpoint and half the width, rounded up, so that all of the interval lies within offset ± uncertainty.
func (i Interval) centre() (offset, uncertainty int64) {
	width := i.Hi - i.Lo
	return i.Lo + width/2, width - width/2
}

// At returns what bounds say of θ at an instant of the server's clock; ok is false where a side is open, or where no line
// fits: then a clock was stepped, or the two sides are not of one request. The order of points does not matter.
func (c *Config) At(b Bounds, x int64) (i Interval, ok bool) {
	give := time.Duration(0)
	r, ok := c.region(b, x, give)
	if !ok {
		give = c.Slack
		if r, ok = c.region(b, x, give); !ok {
			return Interval{}, false
		}
	}
	i = Interval{RateLo: c.MaxRate, RateHi: -c.MaxRate, Slackened: give > 0}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range r.polygon {
		lo, hi = min(lo, v.a), max(hi, v.a)
		i.RateLo, i.RateHi = min(i.RateLo, v.b), max(i.RateHi, v.b)
	}
	i.Lo, i.Hi = r.base+outward(lo, -1), r.base+outward(hi, 1)
	return i, true
}

// Empty reports whether bounds contradict each other by more than Slack, in the course of which they are loosened by
// Wander around x.
func (c *Config) Empty(b Bounds, x int64) bool {
	if !b.Closed() {
		return false
	}
	_, ok := c.region(b, x, c.Slack)
	return !ok
}

// halfPlane is a + b·dx ≤ v for an upper bound; a lower one has its signs turned.
type halfPlane struct{ dx, v float64 }

// region is all lines θ = a + b·(at − x) that fit; values of θ count from base.
type region struct {
	polygon      polygon
	base         int64
	upper, lower []halfPlane
}

func (c *Config) region(b Bounds, x int64, slack time.Duration) (r region, ok bool) {
	if !b.Closed() {
		return r, false
	}
	base := middle(b, x)
	give := float64(slack) / float64(time.Microsecond)
	upper := c.planes(b.Upper, x, base, 1, give)
	lower := c.planes(b.Lower, x, base, -1, give)
	// The first region: slopes within MaxRate, values that one bound of each side allows.
	hi, lo := math.Inf(1), math.Inf(-1)
	for _, h := range upper {
		hi = min(hi, h.v+c.MaxRate*math.Abs(h.dx))
	}
	for _, h := range lower {
		lo = max(lo, -h.v-c.MaxRate*math.Abs(h.dx))
	}
	if lo > hi+tiny {
		return r, false
	}
	p := polygon{{-c.MaxRate, lo}, {c.MaxRate, lo}, {c.MaxRate, hi}, {-c.MaxRate, hi}}
	var spare polygon
	for _, side := range []struct {
		planes []halfPlane
		sign   float64
	}{{upper, 1}, {lower, -1}} {
		for _, h := range side.planes {
			if p, spare = p.clip(h, side.sign, spare); len(p) == 0 {
				return r, false
			}
		}
	}
	return region{p, base, upper, lower}, true
}

// middle is a value of θ near all bounds, so that differences from it are small and floating point is exact to far below
// a microsecond.
func middle(b Bounds, x int64) int64 {
	nearest := func(ps []Point) Point {
		return slices.MinFunc(ps, func(p, q Point) int {
			return cmp.Or(cmp.Compare(abs(p.At-x), abs(q.At-x)), cmp.Compare(p.At, q.At), cmp.Compare(p.Theta, q.Theta))
		})
	}
	l, u := nearest(b.Lower).Theta, nearest(b.Upper).Theta
	return l + (u-l)/2
}

// planes turns points of one side into half-planes around x, loosened by wander and slack, and drops those that others
// make redundant.
func (c *Config) planes(ps []Point, x, base int64, sign, give float64) []halfPlane {
	all := make([]halfPlane, len(ps))
	for i, p := range ps {
		dx := float64(p.At - x)
		all[i] = halfPlane{dx, sign*float64(p.Theta-base) + c.Wander*math.Abs(dx) + give}
	}
	slices.SortFunc(all, func(p, q halfPlane) int { return cmp.Or(cmp.Compare(p.dx, q.dx), cmp.Compare(p.v, q.v)) })
	hull := all[:0]
	for _, p := range all {
		if n := len(hull); n > 0 && hull[n-1].dx == p.dx {
			continue
		}
		for n := len(hull); n > 1 && (hull[n-1].v-hull[n-2].v)*(p.dx-hull[n-1].dx) >= (p.v-hull[n-1].v)*(hull[n-1].dx-hull[n-2].dx); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// vertex is a line: slope b and value a at the asked instant.
type vertex struct{ b, a float64 }

// polygon is a convex region of lines, its vertices in order; it may be a segment or a single line.
type polygon []vertex

// tiny is far below the microsecond that readings are good to, and far above the rounding of floating point.
const tiny = 1e-5

// clip returns the part of a region that sign·(a + b·dx) ≤ v leaves, written over spare, and the memory of the old one.
func (p polygon) clip(h halfPlane, sign float64, spare polygon) (left, old polygon) {
	out := spare[:0]
	d := func(v vertex) float64 { return h.v - sign*(v.a+v.b*h.dx) } // not negative inside
	for i, v := range p {
		w := p[(i+1)%len(p)]
		dv, dw := d(v), d(w)
		if dv >= -tiny {
			out = append(out, v)
		}
		if dv < -tiny && dw > 0 || dv > 0 && dw < -tiny {
			t := dv / (dv - dw)
			out = append(out, vertex{v.b + t*(w.b-v.b), v.a + t*(w.a-v.a)})
		}
	}
	return out, p
}

// outward rounds to whole µs away from the region, less what floating point may have added.
func outward(v float64, dir int) int64 {
	const grain = 1e-3
	if r := math.Round(v); math.Abs(v-r) < grain {
		return int64(r)
	}
	if dir < 0 {
		return int64(math.Floor(v))
	}
	return int64(math.Ceil(v))
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
