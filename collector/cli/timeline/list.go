package timeline

import (
	"io"
	"strconv"
	"time"

	"github.com/rivo/uniseg"

	"github.com/fermata-io/fermata/storage/requests"
)

// listColumn is a column of the list; the list drops those with the highest drop first when it is too wide.
type listColumn struct {
	title string
	drop  int
	right bool
	value func(p *painter, s *requests.Summary) string
}

var listColumns = []listColumn{
	{"started (UTC)", 3, false, func(_ *painter, s *requests.Summary) string {
		return time.UnixMicro(s.StartedAt).UTC().Format("01-02 15:04:05")
	}},
	{"request", 0, false, func(p *painter, s *requests.Summary) string { return p.clip(clean(s.RequestID), 40) }},
	{"state", 0, false, func(p *painter, s *requests.Summary) string {
		m, _ := stateMark(p, s.State)
		return string(m) + " " + clean(string(s.State))
	}},
	{"model", 5, false, func(p *painter, s *requests.Summary) string { return p.clip(str(s.Target.Model), 24) }},
	{"TTFT", 0, true, func(p *painter, s *requests.Summary) string { return p.opt(s.TTFTUS) }},
	{"longest gap", 0, true, func(p *painter, s *requests.Summary) string { return p.opt(s.MaxGapUS) }},
	{"end", 2, true, func(p *painter, s *requests.Summary) string { return p.opt(s.EndUS) }},
	{"tokens", 4, true, func(p *painter, s *requests.Summary) string {
		if s.Tokens == nil {
			return p.dash
		}
		return strconv.FormatInt(*s.Tokens, 10)
	}},
	{"felt TTFT", 1, true, func(p *painter, s *requests.Summary) string { return p.opt(s.PerceivedTTFTUS) }},
	{"tiers", 6, false, func(_ *painter, s *requests.Summary) string {
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
	cols := append([]listColumn(nil), listColumns...)
	widths := func() (total int, w []int) {
		for _, c := range cols {
			most := uniseg.StringWidth(c.title)
			for i := range page.Requests {
				most = max(most, uniseg.StringWidth(c.value(p, &page.Requests[i])))
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
	line := func(value func(c listColumn) (string, style)) {
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
	line(func(c listColumn) (string, style) { return c.title, dim })
	for i := range page.Requests {
		r := &page.Requests[i]
		line(func(c listColumn) (string, style) {
			s := plain
			if c.title == "state" {
				_, s = stateMark(p, r.State)
			}
			return c.value(p, r), s
		})
	}
	if page.NextCursor != "" {
		p.put(dim, "more: --cursor "+clean(page.NextCursor))
		p.nl()
	}
	_, err := io.WriteString(w, p.String())
	return err
}
