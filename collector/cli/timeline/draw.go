package timeline

import (
	"slices"
	"strings"

	"github.com/fermata-io/fermata/storage/requests"
)

// bounds returns the axis for the rows: from the earliest start to the latest instant known.
func (l *layout) bounds(cols int) axis {
	a := axis{cols: cols}
	first := true
	for _, rw := range l.rows {
		from, to := rw.shift, rw.shift+rw.seen
		if first || from < a.from {
			a.from = from
		}
		if first || to > a.to {
			a.to = to
		}
		first = false
	}
	if a.to-a.from < 1000 {
		a.to = a.from + 1000
	}
	a.to += (a.to-a.from)/int64(cols) + 1 // a column for the end mark
	return a
}

// draw writes one row, and below it the marks of its gaps.
func (rw *row) draw(p *painter, a axis) {
	line := make([]cell, a.cols)
	at := func(own int64) int { return a.column(rw.shift + own) }
	paint := func(from, to int64, r rune, s style) {
		if to <= from {
			return
		}
		for c := at(from); c <= at(to-1) && c < a.cols; c++ {
			line[c] = cell{r, s}
		}
	}
	big := rw.big()
	first, last := rw.firstText(), rw.seen
	if rw.end != nil {
		last = *rw.end
	}
	paint(0, first, p.wait, dim)
	for _, ph := range rw.phases {
		switch ph.kind {
		case phaseQueue:
			paint(ph.from, min(ph.to, first), p.queue, warn)
		case phasePrefill:
			paint(ph.from, min(ph.to, first), p.fill, info)
		case phaseWait:
			paint(ph.from, min(ph.to, first), p.wait, plain)
		}
	}
	if rw.blind {
		paint(first, last, p.line, plain)
	} else if len(rw.pts) > 0 {
		paint(first, last, p.empty, dim)
	}
	for _, h := range rw.hidden {
		paint(max(h.from, first), min(h.to, last), p.empty, info)
	}
	rw.bars(p, line, at)
	for _, g := range big {
		s := alert
		if g.hidden {
			s = info
		}
		to := at(g.to)
		if g.open {
			to++
		}
		for c := at(g.from) + 1; c < min(to, a.cols); c++ {
			line[c] = cell{p.gap, s}
		}
	}
	rw.endMark(p, line, at(last))

	label := p.clip(clean(rw.label), labelWidth-1)
	s := plain
	if rw.served {
		s = bold
	}
	p.put(s, pad(label, labelWidth, false))
	p.cells(line)
	p.nl()
	rw.marks(p, a, big)
}

func (rw *row) firstText() int64 {
	switch {
	case len(rw.pts) > 0:
		return rw.pts[0].t
	case rw.first != nil:
		return *rw.first
	}
	return rw.seen
}

// bars draws how much text came in each column.
func (rw *row) bars(p *painter, line []cell, at func(int64) int) {
	weight := make([]int64, len(line))
	reasoning := make([]int64, len(line))
	most := int64(0)
	for _, pt := range rw.pts {
		c := at(pt.t)
		weight[c] += pt.weight
		if pt.reasoning {
			reasoning[c] += pt.weight
		}
		most = max(most, weight[c])
	}
	n := int64(len(p.levels))
	for c, w := range weight {
		if w == 0 {
			continue
		}
		s := good
		if reasoning[c]*2 > w {
			s = info
		}
		line[c] = cell{p.levels[min((w*n-1)/most, n-1)], s}
	}
}

func (rw *row) endMark(p *painter, line []cell, last int) {
	c := min(last+1, len(line)-1)
	switch rw.state {
	case requests.StateRunning:
		line[c] = cell{p.going, info}
	case requests.StateFailed:
		line[c] = cell{p.failed, alert}
	case requests.StateAborted:
		line[c] = cell{p.cut, warn}
	}
}

// marks writes the lengths of the gaps below them, where there is room.
func (rw *row) marks(p *painter, a axis, big []gap) {
	if len(big) == 0 {
		return
	}
	line := []rune(strings.Repeat(" ", a.cols))
	any := false
	// The longest gaps get their place first.
	order := slices.Clone(big)
	slices.SortStableFunc(order, func(x, y gap) int { return int(min(max(y.length()-x.length(), -1), 1)) })
	for _, g := range order {
		span := p.span(g.length())
		switch {
		case g.open:
			span += "+"
		case g.hidden:
			span += " hidden"
		}
		text := []rune(p.markL + span + p.markR)
		from, to := a.column(rw.shift+g.from)+1, a.column(rw.shift+g.to)
		start := from + (to-from-len(text))/2
		start = min(max(start, 0), a.cols-len(text))
		lo, hi := max(start-1, 0), min(start+len(text)+1, a.cols)
		if start < 0 || strings.TrimSpace(string(line[lo:hi])) != "" {
			continue
		}
		copy(line[start:], text)
		any = true
	}
	if !any {
		return
	}
	p.WriteString(strings.Repeat(" ", labelWidth))
	p.put(alert, strings.TrimRight(string(line), " "))
	p.nl()
}

// legend explains the characters that were used.
func (l *layout) legend(p *painter) {
	var parts []string
	has := func(k phaseKind, label string) bool {
		return slices.ContainsFunc(l.rows, func(rw row) bool {
			return strings.HasPrefix(rw.label, label) && slices.ContainsFunc(rw.phases, func(ph phase) bool { return ph.kind == k })
		})
	}
	if has(phaseQueue, "server") || has(phaseQueue, "gateway") {
		parts = append(parts, string(p.queue)+" queued")
	}
	if has(phaseQueue, "client") {
		parts = append(parts, string(p.queue)+" submit to send")
	}
	if has(phasePrefill, "") {
		parts = append(parts, string(p.fill)+" prefill")
	}
	parts = append(parts, string(p.wait)+" waiting for text")
	if slices.ContainsFunc(l.rows, func(rw row) bool { return len(rw.pts) > 0 }) {
		parts = append(parts, string(p.levels[1:4])+" text per column")
		if p.empty != ' ' {
			parts = append(parts, string(p.empty)+" none")
		}
	}
	if slices.ContainsFunc(l.rows, func(rw row) bool { return len(rw.big()) > 0 }) {
		parts = append(parts, string(p.gap)+" stall")
	}
	if slices.ContainsFunc(l.rows, func(rw row) bool { return rw.blind }) {
		parts = append(parts, string(p.line)+" chunk times not known")
	}
	p.WriteString(strings.Repeat(" ", labelWidth))
	p.wrap(labelWidth, "  ", parts)
}
