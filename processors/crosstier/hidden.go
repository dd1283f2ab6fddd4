package crosstier

import (
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// window is a stretch of time, hidden or long frame.
type window struct{ from, until int64 }

const forever = int64(1) << 60

// hiddenWindows returns when the page was hidden, in order.
func hiddenWindows(changes []wire.VisibilityChange, shift int64) []window {
	list := slices.Clone(changes)
	slices.SortStableFunc(list, func(a, b wire.VisibilityChange) int { return int(min(max(a.T-b.T, -1), 1)) })
	var out []window
	hidden := false
	for _, c := range list {
		switch {
		case c.Hidden && !hidden:
			out = append(out, window{c.T + shift, forever})
		case !c.Hidden && hidden:
			out[len(out)-1].until = c.T + shift
		}
		hidden = c.Hidden
	}
	return out
}

// overlap is how much of from to until lies in the windows, which don't overlap each other.
func overlap(ws []window, from, until int64) int64 {
	sum := int64(0)
	for _, w := range ws {
		sum += max(0, min(until, w.until)-max(from, w.from))
	}
	return sum
}

// touches reports whether the page was hidden at some time in from to until.
func touches(ws []window, from, until int64) bool {
	return slices.ContainsFunc(ws, func(w window) bool { return w.from <= until && w.until >= from })
}
