package simulate

import (
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// The definitions of docs/detection.md, as plainly as they can be written.
const (
	hitchUS  = 300_000
	stallUS  = 1_000_000
	freezeUS = 5_000_000
	ratio    = 5
)

// slowStartUS is the longest time to the first content by query type.
var slowStartUS = map[string]int64{"short_qa": 1_000_000, "long_form": 2_000_000, "code_completion": 300_000, "translate_summarize": 1_500_000}

// slowStartLimit returns the limit of a query type.
func slowStartLimit(queryType string) int64 {
	if d, ok := slowStartUS[queryType]; ok {
		return d
	}
	return 2_000_000
}

// point is a content-bearing chunk.
type point struct {
	at     int64
	tokens int64
	kind   wire.Kind
}

// points are the content-bearing chunks of a stream.
func points(c *wire.Chunks) []point {
	var out []point
	for i, t := range c.T {
		if c.ContentBearing(i) {
			p := point{t, 1, c.KindAt(i)}
			if len(c.Tokens) > 0 && c.Tokens[i] > 0 {
				p.tokens = int64(c.Tokens[i])
			}
			out = append(out, p)
		}
	}
	return out
}

// pause is a gap that is a stall: between chunk-1 and chunk.
type pause struct {
	chunk int
	from  int64
	us    int64
	pace  float64 // µs per token
}

// pauses applies the rule of stalls: a gap of at least a floor, and of at least five times the median pace before it. Gaps after
// a tool call and those within one write say nothing. less is time to take out of a gap.
func pauses(ps []point, less func(from, until int64) int64) []pause {
	var paces []float64 // sorted
	var out []pause
	for i := 1; i < len(ps); i++ {
		g := ps[i].at - ps[i-1].at - less(ps[i-1].at, ps[i].at)
		if g < 1000 || ps[i-1].kind == wire.KindTool && ps[i].kind != wire.KindTool {
			continue
		}
		x := float64(g) / float64(ps[i].tokens)
		if g >= hitchUS {
			m, known := median(paces)
			if len(paces) < 8 { // too few before it: what comes next counts, too
				m, known = medianOf(ps[:min(len(ps), 20)], less)
			}
			if known && x >= ratio*m {
				out = append(out, pause{i, ps[i-1].at, g, x})
			}
		}
		at := sort.SearchFloat64s(paces, x)
		paces = slices.Insert(paces, at, x)
	}
	return out
}

func median(sorted []float64) (float64, bool) {
	if len(sorted) == 0 {
		return 0, false
	}
	return sorted[(len(sorted)-1)/2], true
}

func medianOf(ps []point, less func(from, until int64) int64) (float64, bool) {
	var paces []float64
	for i := 1; i < len(ps); i++ {
		if g := ps[i].at - ps[i-1].at - less(ps[i-1].at, ps[i].at); g >= 1000 {
			paces = append(paces, float64(g)/float64(ps[i].tokens))
		}
	}
	slices.Sort(paces)
	return median(paces)
}

// episode is one stall as it is told: a pause, or several that belong together.
type episode struct {
	first, last    int // chunks
	from, until    int64
	longest, total int64
	gaps           int64
}

// episodes puts pauses together that are at most 32 gaps apart, when these take less than a quarter of the mean pause.
func episodes(ps []point, list []pause) []episode {
	var out []episode
	for _, p := range list {
		if n := len(out) - 1; n >= 0 {
			e := &out[n]
			between := p.from - ps[e.last].at
			if p.chunk-e.last-1 <= 32 && between*4 <= (e.total+p.us)/(e.gaps+1) {
				e.last, e.until = p.chunk, ps[p.chunk].at
				e.total, e.gaps, e.longest = e.total+p.us, e.gaps+1, max(e.longest, p.us)
				continue
			}
		}
		out = append(out, episode{p.chunk, p.chunk, p.from, ps[p.chunk].at, p.us, p.us, 1})
	}
	return out
}

func grade(us int64) string {
	switch {
	case us >= freezeUS:
		return "freeze"
	case us >= stallUS:
		return "stall"
	}
	return "hitch"
}

func nothing(int64, int64) int64 { return 0 }
