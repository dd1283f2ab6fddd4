package requestpage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fermata-io/fermata/storage/requests"
)

// span writes a time so that three digits or more tell.
func span(us int64) string {
	neg := ""
	if us < 0 {
		neg, us = "−", -us
	}
	switch {
	case us < 1000:
		return fmt.Sprintf("%s%d µs", neg, us)
	case us < 99_950:
		return fmt.Sprintf("%s%.1f ms", neg, float64(us)/1e3)
	case us < 999_500:
		return fmt.Sprintf("%s%d ms", neg, (us+500)/1000)
	default:
		return fmt.Sprintf("%s%.2f s", neg, float64(us)/1e6)
	}
}

// words makes a field's name readable: first_to_paint_us is "first to paint".
func words(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_us"), "_", " ")
}

// feltNames are the names of what people look for first.
var feltNames = map[string]string{"ttft_us": "submit to first meaningful paint", "gap_us": "more than the server's TTFT"}

// feltOf lists what is known of how the request felt, whatever parts of it the join tells.
func feltOf(p *requests.Perceived) ([]figure, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("perceived: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, fmt.Errorf("perceived: %w", err)
	}
	out := figures("", fields)
	for i := range out {
		if name, ok := feltNames[out[i].field]; ok {
			out[i].Name = name
		}
	}
	return out, nil
}

// evidenceOf lists the numbers of a finding; what is no object has none.
func evidenceOf(raw json.RawMessage) []figure {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return figures("", fields)
}

// figures lists the fields in the order of their names, objects in objects with the outer name in front.
func figures(prefix string, fields map[string]any) []figure {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var out []figure
	for _, name := range names {
		f := figure{field: prefix + name, Name: words(prefix + name)}
		switch v := fields[name].(type) {
		case nil:
			continue
		case map[string]any:
			out = append(out, figures(prefix+name+" ", v)...)
			continue
		case []any:
			if len(v) == 0 {
				continue
			}
			if list, ok := parts(v); ok {
				out = append(out, list...)
				continue
			}
			f.Value = compact(v)
		case float64:
			f.Value = fmt.Sprint(v)
			if strings.HasSuffix(name, "_us") {
				f.Value = span(int64(v))
			}
		default:
			f.Value = strings.Trim(compact(v), `"`)
		}
		out = append(out, f)
	}
	return out
}

// parts lists the parts of a sum, each with its uncertainty; ok is false for any other list.
func parts(list []any) (out []figure, ok bool) {
	for _, e := range list {
		p, _ := e.(map[string]any)
		name, named := p["part"].(string)
		us, timed := p["us"].(float64)
		if !named || !timed {
			return nil, false
		}
		f := figure{Name: words(name), Value: span(int64(us))}
		if pm, _ := p["uncertainty_us"].(float64); pm > 0 {
			f.Value += " ± " + span(int64(pm))
		}
		out = append(out, f)
	}
	return out, len(out) > 0
}

// compact writes a value as JSON.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// rank puts the felt time first and the gap second.
func rank(name string) int {
	switch name {
	case "ttft_us":
		return 0
	case "gap_us":
		return 1
	}
	return 2
}
