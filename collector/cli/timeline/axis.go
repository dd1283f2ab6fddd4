package timeline

import (
	"fmt"
	"math"
	"strings"
)

// axis maps µs of the common time to columns.
type axis struct {
	from, to int64
	cols     int
}

func (a axis) column(t int64) int {
	if a.to <= a.from {
		return 0
	}
	c := int(float64(t-a.from) / float64(a.to-a.from) * float64(a.cols))
	return min(max(c, 0), a.cols-1)
}

// niceStep returns the shortest step, in µs, that people read well and is at least as long as asked.
func niceStep(least float64) int64 {
	if least < 1 {
		return 1
	}
	for _, f := range []float64{60e6, 120e6, 300e6, 600e6, 1800e6, 3600e6, 7200e6} {
		if least > 30e6 && f >= least {
			return int64(f)
		}
	}
	mag := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*mag >= least {
			return int64(m * mag)
		}
	}
	return int64(10 * mag)
}

// draw writes the axis: a line of labels and a line of ticks. Time 0 is where the axis begins.
func (a axis) draw(p *painter) {
	const room = 10 // columns for a label
	step := niceStep(float64(a.to-a.from) * room / float64(a.cols))
	labels := []rune(strings.Repeat(" ", a.cols))
	ticks := []rune(strings.Repeat(string(p.axis), a.cols))
	for t := int64(0); t <= a.to-a.from; t += step {
		c := a.column(a.from + t)
		if c >= a.cols-1 && t > 0 {
			break
		}
		ticks[c] = p.tick
		text := []rune(tickLabel(t, step))
		if t == 0 {
			ticks[c] = p.corner
		}
		if c+len(text) <= a.cols {
			copy(labels[c:], text)
		}
	}
	p.WriteString(strings.Repeat(" ", labelWidth))
	p.put(dim, strings.TrimRight(string(labels), " "))
	p.nl()
	p.WriteString(strings.Repeat(" ", labelWidth))
	p.put(dim, string(ticks))
	p.nl()
}

func tickLabel(t, step int64) string {
	switch {
	case t == 0:
		return "0"
	case step >= 60_000_000:
		return fmt.Sprintf("%d m", t/60_000_000)
	case step >= 1_000_000:
		return fmt.Sprintf("%d s", t/1_000_000)
	case step >= 100_000:
		return fmt.Sprintf("%.1f s", float64(t)/1e6)
	case step >= 1000:
		return fmt.Sprintf("%d ms", t/1000)
	default:
		return fmt.Sprintf("%.1f ms", float64(t)/1e3)
	}
}
