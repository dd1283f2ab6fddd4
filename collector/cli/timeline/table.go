package timeline

import (
	"fmt"
	"strconv"
)

// column of the table of numbers; the table drops the columns with the highest drop first when it is too wide.
type column struct {
	title string
	width int
	drop  int // 0: never
	value func(p *painter, t *tableRow) string
}

var columns = []column{
	{"TTFB", 9, 2, func(p *painter, t *tableRow) string { return p.opt(t.ttfb) }},
	{"TTFT", 9, 0, func(p *painter, t *tableRow) string { return p.opt(t.ttft) }},
	{"TTFA", 9, 1, func(p *painter, t *tableRow) string { return p.opt(t.ttfa) }},
	{"end", 9, 0, func(p *painter, t *tableRow) string { return p.opt(t.end) }},
	{"tokens", 7, 0, func(p *painter, t *tableRow) string {
		if t.tokens == nil {
			return p.dash
		}
		return strconv.FormatInt(*t.tokens, 10)
	}},
	{"tok/s", 7, 3, func(p *painter, t *tableRow) string {
		if t.tps == nil {
			return p.dash
		}
		return fmt.Sprintf("%.1f", *t.tps)
	}},
	{"chunks", 7, 4, func(p *painter, t *tableRow) string {
		if t.chunks == nil {
			return p.dash
		}
		return strconv.Itoa(*t.chunks)
	}},
	{"longest gap", 15, 0, func(p *painter, t *tableRow) string {
		if t.worst == nil {
			return p.dash
		}
		return p.span(t.worst.length()) + " @" + strconv.Itoa(t.worst.chunk)
	}},
}

// table writes the tiers' numbers below each other.
func (l *layout) table(p *painter) {
	cols := append([]column(nil), columns...)
	for {
		total, worst := labelWidth, -1
		for i, c := range cols {
			total += c.width
			if c.drop > 0 && (worst < 0 || c.drop > cols[worst].drop) {
				worst = i
			}
		}
		if total <= p.width || worst < 0 {
			break
		}
		cols = append(cols[:worst], cols[worst+1:]...)
	}
	p.WriteString(pad("", labelWidth, false))
	for _, c := range cols {
		p.put(dim, pad(c.title, c.width, true))
	}
	p.nl()
	for _, rw := range l.rows {
		if rw.table == nil {
			continue
		}
		s := plain
		if rw.served {
			s = bold
		}
		p.put(s, pad(p.clip(clean(rw.label), labelWidth-1), labelWidth, false))
		for _, c := range cols {
			v := pad(p.clip(c.value(p, rw.table), c.width-1), c.width, true)
			if c.title == "longest gap" && len(rw.big()) > 0 {
				p.put(alert, v)
				continue
			}
			p.WriteString(v)
		}
		p.nl()
	}
}
