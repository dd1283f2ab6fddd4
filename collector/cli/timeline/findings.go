package timeline

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/fermata-io/fermata/storage/findings"
)

var findingColumns = []listColumn[findings.Finding]{
	{title: "began (UTC)", drop: 4, value: func(_ *painter, f *findings.Finding) string {
		return time.UnixMicro(f.At()).UTC().Format("01-02 15:04:05")
	}},
	{title: "request", value: func(p *painter, f *findings.Finding) string {
		if f.RequestID == "" {
			return p.dash
		}
		return p.clip(clean(f.RequestID), 36)
	}},
	{title: "what", value: func(_ *painter, f *findings.Finding) string {
		if f.Grade != nil && *f.Grade != f.Kind {
			return clean(f.Kind) + " " + clean(*f.Grade)
		}
		return clean(f.Kind)
	}, style: func(_ *painter, f *findings.Finding) style {
		switch f.Severity {
		case "critical":
			return alert
		case "warning":
			return warn
		default:
			return plain
		}
	}},
	{title: "tier", drop: 2, value: func(_ *painter, f *findings.Finding) string { return clean(f.Tier) }},
	{title: "chunk", drop: 3, right: true, value: func(p *painter, f *findings.Finding) string {
		if f.Chunk == nil {
			return p.dash
		}
		return strconv.FormatInt(*f.Chunk, 10)
	}},
	{title: "at", drop: 1, right: true, value: func(p *painter, f *findings.Finding) string { return p.span(f.StartUS) }},
	{title: "for", right: true, value: func(p *painter, f *findings.Finding) string {
		if f.Open {
			return "> " + p.span(f.DurationUS)
		}
		return p.span(f.DurationUS)
	}},
	{title: "cause", value: func(_ *painter, f *findings.Finding) string { return clean(f.Attribution) }},
	{title: "sure", drop: 6, right: true, value: func(_ *painter, f *findings.Finding) string { return fmt.Sprintf("%.0f %%", f.Confidence*100) }},
	{title: "model", drop: 5, value: func(p *painter, f *findings.Finding) string { return p.clip(str(f.Target.Model), 20) }},
}

// RenderFindings writes a page of findings as a table.
func RenderFindings(w io.Writer, page *findings.Page, o Options) error {
	p := newPainter(o)
	if len(page.Findings) == 0 {
		_, err := io.WriteString(w, "no findings\n")
		return err
	}
	renderRows(p, findingColumns, page.Findings)
	return p.finish(w, page.NextCursor)
}
