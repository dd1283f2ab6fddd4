package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// finding shows the parts of a finding that a person looks for.
func finding(p *painter, raw json.RawMessage) []string {
	var f struct {
		Kind        string          `json:"kind"`
		Grade       string          `json:"grade"`
		Tier        string          `json:"tier"`
		Chunk       *int64          `json:"chunk"`
		StartUS     *int64          `json:"start_us"`
		DurationUS  *int64          `json:"duration_us"`
		Open        bool            `json:"open"`
		Attribution string          `json:"attribution"`
		Evidence    json.RawMessage `json:"evidence"`
	}
	if json.Unmarshal(raw, &f) != nil || f.Kind == "" {
		return nil
	}
	kind := clean(f.Kind)
	if f.Grade != "" && f.Grade != f.Kind {
		kind += " (" + clean(f.Grade) + ")"
	}
	parts := []string{kind}
	if f.Tier != "" {
		parts = append(parts, clean(f.Tier))
	}
	if f.DurationUS != nil && *f.DurationUS != 0 {
		t := p.span(*f.DurationUS)
		if f.Open {
			t = "at least " + t
		}
		parts = append(parts, t)
	}
	if f.Chunk != nil {
		parts = append(parts, "chunk "+strconv.FormatInt(*f.Chunk, 10))
	}
	if f.StartUS != nil {
		parts = append(parts, "at "+p.span(*f.StartUS))
	}
	if f.Attribution != "" {
		parts = append(parts, "by "+clean(f.Attribution))
	}
	if s := explain(p, f.Kind, f.Evidence); s != "" {
		parts = append(parts, s)
	}
	return parts
}

// evidence is the numbers and names of a finding.
type evidence struct {
	p *painter
	m map[string]any
}

func (e evidence) number(key string) (int64, bool) {
	v, ok := e.m[key].(float64)
	return int64(v), ok
}

func (e evidence) name(key string) string {
	s, _ := e.m[key].(string)
	return clean(s)
}

// say fills a sentence in: %t is a time, %d a number. It is empty where a key is not known.
func (e evidence) say(format string, keys ...string) string {
	for _, k := range keys {
		v, ok := e.number(k)
		i := strings.IndexByte(format, '%')
		if !ok || i < 0 || i+1 == len(format) {
			return ""
		}
		s := strconv.FormatInt(v, 10)
		if format[i+1] == 't' {
			s = e.p.span(v)
		}
		format = format[:i] + s + format[i+2:]
	}
	return format
}

// Explain says in words, without an end, what the evidence of a finding shows; empty where its kind says it all.
func Explain(kind string, evidence json.RawMessage) string {
	return explain(newPainter(Options{}), kind, evidence)
}

// explain says in words what the evidence of a finding shows.
func explain(p *painter, kind string, raw json.RawMessage) string {
	e := evidence{p: p}
	if json.Unmarshal(raw, &e.m) != nil {
		return ""
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch kind {
	case "render_lag":
		if e.name("pattern") == "typing" {
			add(e.say("text went on appearing for %t after the last byte had come", "lag_us"))
			add(e.say("%d of %d chunks were shown", "shown_chunks", "received_chunks"))
			break
		}
		add(e.say("%d received chunks waited %t for their paint while the page was visible", "waiting_chunks", "waited_us"))
		if v, _ := e.number("long_frames_us"); v > 0 {
			add(e.say("long frames took %t of it", "long_frames_us"))
		}
	case "perceived_gap":
		add(e.say("the user waited %t, the server took %t", "perceived_ttft_us", "server_ttft_us"))
		for _, x := range []struct{ name, key string }{
			{"gateway", "gateway_us"}, {"way", "way_us"}, {"render", "render_us"}, {"hidden", "hidden_us"},
		} {
			if v, _ := e.number(x.key); v > 0 {
				add(x.name + " " + p.span(v))
			}
		}
	case "buffering":
		switch e.name("driver") {
		case "end":
			add("the answer was held back and came at once at the end")
		case "start":
			add("the beginning of the answer was held back, the rest came as it was made")
		case "size":
			add(e.say("text came in %d bursts, each when a buffer was full", "releases"))
			add(e.say("about %d bytes of text a burst", "bytes_per_release"))
		case "time":
			add(e.say("text came in %d bursts, by a timer", "releases"))
			add(e.say("every %t", "interval_us"))
		}
		add(e.say("first text sent at %t, received at %t", "upstream_ttft_us", "downstream_ttft_us"))
	case "loop":
		same := "the same"
		switch e.name("match") {
		case "masked":
			same = "but for digits and spaces the same"
		case "drifting":
			same = "nearly the same"
		}
		add(e.say(same+" %d characters %d times over", "period_chars", "repeats"))
		add(e.say("from character %d on", "start_char"))
		if limit, _ := e.m["hit_limit"].(bool); limit {
			add("up to the length limit")
		} else if end, _ := e.m["to_end"].(bool); end {
			add("to the end")
		}
	case "retraction":
		add(e.say("shown text was taken back %d times, %d bytes in all", "retractions", "bytes"))
	case "semantic_gap":
		add(e.say("delays change by %t from chunk to chunk, gaps deviate by %t", "jitter_us", "deviation_us"))
	case "cancel_waste":
		add(e.say("%d chunks were made after the user had gone", "waste_chunks"))
	case "clock_conflict":
		add(conflictText(&e))
	case "id_conflict":
		add(e.name("rule"))
	}
	return strings.Join(parts, ", ")
}

// conflictText says which clocks can't be right, and by how much.
func conflictText(e *evidence) string {
	switch rule := e.name("rule"); rule {
	case "impossible_order":
		return e.say("the server's first text at %t is later than the user's at %t: one of the two is measured wrong", "server_ttft_us", "user_first_text_us")
	case "page_clock_and_wall_clock_differ":
		why := "its machine slept, or the wall clock was set"
		switch e.name("cause") {
		case "slept":
			why = "its machine slept, the wall clock agrees with the server's"
		case "wall_clock_set":
			why = "the wall clock was set, the page's own agrees with the server's"
		}
		return e.say("the page's clock is %t behind its wall clock: "+why, "behind_us")
	case "page_clock_and_server_differ":
		return e.say("the page's clock is %t behind the server's", "behind_us")
	default:
		numbers, _ := e.m["numbers"].([]any)
		if len(numbers) != 6 {
			return rule
		}
		step, okS := numbers[0].(float64)
		uncertainty, okU := numbers[1].(float64)
		if !okS || !okU {
			return rule
		}
		return fmt.Sprintf("%s; a step of %s%s", rule, e.p.span(int64(step)), e.p.plusMinus(int64(uncertainty)))
	}
}
