package timeline

import (
	"fmt"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// Gaps worth a mark, as the default stall rule has it: at least 300 ms and 5 times the stream's own median.
const (
	markFloorUS = 300_000
	markFactor  = 5
	marksPerRow = 3
)

// point is one content-bearing chunk.
type point struct {
	t         int64 // µs on its own tier's clock, from the tier's start
	weight    int64 // bytes, else tokens, else 1
	reasoning bool
}

// gap is the pause before content-bearing chunk `chunk` (from 0).
type gap struct {
	chunk    int
	from, to int64
	open     bool // nothing has come since
	hidden   bool // the page was hidden for most of it
}

func (g gap) length() int64 { return g.to - g.from }

// points returns the content-bearing chunks.
func points(c *requests.Chunks) []point {
	if c == nil {
		return nil
	}
	w := wire.Chunks{T: c.TUS, Bytes: c.Bytes, Tokens: c.Tokens}
	if len(c.Kind) == len(c.TUS) {
		w.Kind = make([]wire.Kind, len(c.Kind))
		for i, k := range c.Kind {
			w.Kind[i], _ = wire.ParseKind(k)
		}
	}
	if len(w.Bytes) != len(w.T) {
		w.Bytes = nil
	}
	if len(w.Tokens) != len(w.T) {
		w.Tokens = nil
	}
	var out []point
	for i, t := range w.T {
		if !w.ContentBearing(i) {
			continue
		}
		p := point{t: t, weight: 1, reasoning: w.KindAt(i) == wire.KindReasoning}
		switch {
		case w.Bytes != nil:
			p.weight = max(int64(w.Bytes[i]), 1)
		case w.Tokens != nil:
			p.weight = max(int64(w.Tokens[i]), 1)
		}
		out = append(out, p)
	}
	return out
}

// curvePoints returns the points of a DOM or paint curve.
func curvePoints(c *requests.Curve) []point {
	if c == nil {
		return nil
	}
	var out []point
	for i, t := range c.TUS {
		p := point{t: t, weight: 1}
		if len(c.Bytes) == len(c.TUS) {
			if c.Bytes[i] == 0 {
				continue
			}
			p.weight = int64(c.Bytes[i])
		}
		out = append(out, p)
	}
	return out
}

// gaps returns all gaps, longest first; of equal ones the earlier first.
func gaps(pts []point) []gap {
	var out []gap
	for i := 1; i < len(pts); i++ {
		out = append(out, gap{chunk: i, from: pts[i-1].t, to: pts[i].t})
	}
	slices.SortStableFunc(out, func(a, b gap) int {
		switch {
		case a.length() > b.length():
			return -1
		case a.length() < b.length():
			return 1
		}
		return 0
	})
	return out
}

// median returns the median length of gaps, longest first; 0 when there is none.
func median(sorted []gap) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2].length()
}

// marked returns the gaps worth a mark against a median, in the order of time.
func marked(sorted []gap, median int64) []gap {
	var out []gap
	for _, g := range sorted {
		if len(out) == marksPerRow || g.length() < markFloorUS || len(sorted) > 1 && g.length() < markFactor*median {
			break
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b gap) int { return a.chunk - b.chunk })
	return out
}

// big returns the row's gaps worth a mark, in the order of time, and the silence a running stream is in.
func (rw *row) big() []gap {
	all := gaps(rw.pts)
	n := len(rw.pts)
	if rw.state == requests.StateRunning && n > 0 && rw.seen > rw.pts[n-1].t {
		g := gap{chunk: n, from: rw.pts[n-1].t, to: rw.seen, open: true}
		i, _ := slices.BinarySearchFunc(all, g, func(a, b gap) int { return int(min(max(b.length()-a.length(), -1), 1)) })
		all = slices.Insert(all, i, g)
	}
	usual := median(all)
	if rw.pace > 0 {
		usual = min(usual, rw.pace)
	}
	out := marked(all, usual)
	for i := range out {
		g := &out[i]
		over := int64(0)
		for _, h := range rw.hidden {
			over += max(0, min(h.to, g.to)-max(h.from, g.from))
		}
		g.hidden = over*2 >= g.length()
	}
	return out
}

// stall writes a gap as text.
func (rw *row) stall(p *painter, g gap) string {
	switch {
	case g.open:
		return fmt.Sprintf("silent for at least %s since %s, after chunk %d", p.span(g.length()), p.span(g.from), g.chunk-1)
	case g.hidden:
		return fmt.Sprintf("%s before chunk %d of %d, at %s, while the page was hidden", p.span(g.length()), g.chunk, len(rw.pts), p.span(g.from))
	}
	return fmt.Sprintf("%s before chunk %d of %d, at %s", p.span(g.length()), g.chunk, len(rw.pts), p.span(g.from))
}
