package timeline

import (
	"io"
	"strconv"
	"time"

	"github.com/rivo/uniseg"

	"github.com/fermata-io/fermata/storage/requests"
)

// listColumn is a column of a list; the list drops those with the highest drop first when it is too wide.
type listColumn[T any] struct {
	title string
	drop  int
	right bool
	value func(p *painter, row *T) string
	style func(p *painter, row *T) style // nil: plain
}

var listColumns = []listColumn[requests.Summary]{
	{title: "started (UTC)", drop: 3, value: func(_ *painter, s *requests.Summary) string {
		return time.UnixMicro(s.StartedAt).UTC().Format("01-02 15:04:05")
	}},
	{title: "request", drop: 0, right: false, value: func(p *painter, s *requests.Summary) string { return p.clip(clean(s.RequestID), 40) }},
	{title: "state", drop: 0, right: false, value: func(p *painter, s *requests.Summary) string {
		m, _ := stateMark(p, s.State)
		return string(m) + " " + clean(string(s.State))
	}, style: func(p *painter, s *requests.Summary) style {
		_, st := stateMark(p, s.State)
		return st
	}},
	{title: "model", drop: 5, right: false, value: func(p *painter, s *requests.Summary) string { return p.clip(str(s.Target.Model), 24) }},
	{title: "TTFT", drop: 0, right: true, value: func(p *painter, s *requests.Summary) string { return p.opt(s.TTFTUS) }},
	{title: "longest gap", drop: 0, right: true, value: func(p *painter, s *requests.Summary) string { return p.opt(s.MaxGapUS) }},
	{title: "end", drop: 2, right: true, value: func(p *painter, s *requests.Summary) string { return p.opt(s.EndUS) }},
	{title: "tokens", drop: 4, right: true, value: func(p *painter, s *requests.Summary) string {
		if s.Tokens == nil {
			return p.dash
		}
		return strconv.FormatInt(*s.Tokens, 10)
	}},
	{title: "felt TTFT", drop: 1, right: true, value: func(p *painter, s *requests.Summary) string { return p.opt(s.PerceivedTTFTUS) }},
	{title: "tiers", drop: 6, right: false, value: func(_ *painter, s *requests.Summary) string {
		out := ""
		for _, t := range []struct {
			has  bool
			mark string
		}{{s.HasServer, "s"}, {s.HasGateway, "g"}, {s.HasClient, "c"}} {
			if t.has {
				out += t.mark
			}
		}
		return out
	}},
}

// RenderList writes a page of requests as a table.
func RenderList(w io.Writer, page *requests.Page, o Options) error {
	p := newPainter(o)
	if len(page.Requests) == 0 {
		_, err := io.WriteString(w, "no requests in this window; widen it with --since 24h\n")
		return err
	}
	renderRows(p, listColumns, page.Requests)
	return p.finish(w, page.NextCursor)
}

// finish writes what was painted, and how to get the next page.
func (p *painter) finish(w io.Writer, next string) error {
	if next != "" {
		p.put(dim, "more: --cursor "+clean(next))
		p.nl()
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// renderRows writes a table that fits the painter's width.
func renderRows[T any](p *painter, all []listColumn[T], rows []T) {
	cols := append([]listColumn[T](nil), all...)
	widths := func() (total int, w []int) {
		for _, c := range cols {
			most := uniseg.StringWidth(c.title)
			for i := range rows {
				most = max(most, uniseg.StringWidth(c.value(p, &rows[i])))
			}
			w = append(w, most)
			total += most + 2
		}
		return total - 2, w
	}
	total, wide := widths()
	for total > p.width {
		worst := -1
		for i, c := range cols {
			if c.drop > 0 && (worst < 0 || c.drop > cols[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		cols = append(cols[:worst], cols[worst+1:]...)
		total, wide = widths()
	}
	line := func(value func(c listColumn[T]) (string, style)) {
		for i, c := range cols {
			v, s := value(c)
			if i > 0 {
				p.WriteString("  ")
			}
			if i < len(cols)-1 || c.right {
				v = pad(v, wide[i], c.right)
			}
			p.put(s, v)
		}
		p.nl()
	}
	line(func(c listColumn[T]) (string, style) { return c.title, dim })
	for i := range rows {
		line(func(c listColumn[T]) (string, style) {
			if c.style == nil {
				return c.value(p, &rows[i]), plain
			}
			return c.value(p, &rows[i]), c.style(p, &rows[i])
		})
	}
}
