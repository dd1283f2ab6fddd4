package crosstier

import (
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// curve is the content-bearing chunks of one tier.
type curve struct {
	t      []int64 // offsets, ascending
	kind   []wire.Kind
	bytes  []int64 // cumulative, after each chunk; nil: not known
	tokens []int64 // of each chunk; nil: not known
}

func (c *curve) len() int { return len(c.t) }

// curveOf takes the content-bearing chunks, their times moved by shift.
func curveOf(c *wire.Chunks, shift int64) curve {
	var out curve
	sum := int64(0)
	for i, t := range c.T {
		if !c.ContentBearing(i) {
			continue
		}
		out.t, out.kind = append(out.t, t+shift), append(out.kind, c.KindAt(i))
		if len(c.Bytes) > 0 {
			sum += int64(c.Bytes[i])
			out.bytes = append(out.bytes, sum)
		}
		if len(c.Tokens) > 0 {
			out.tokens = append(out.tokens, int64(c.Tokens[i]))
		}
	}
	if sum == 0 {
		out.bytes = nil
	}
	return out
}

func (c *curve) first() (int64, bool) {
	if len(c.t) == 0 {
		return 0, false
	}
	return c.t[0], true
}

func (c *curve) last() int64 { return c.t[len(c.t)-1] }

func (c *curve) total() int64 {
	if len(c.bytes) == 0 {
		return 0
	}
	return c.bytes[len(c.bytes)-1]
}

// medianGap returns the lower median gap, 0 for fewer than two chunks.
func (c *curve) medianGap() int64 { return medianGap(c.t) }

func medianGap(t []int64) int64 {
	if len(t) < 2 {
		return 0
	}
	g := make([]int64, len(t)-1)
	for i := range g {
		g[i] = t[i+1] - t[i]
	}
	slices.Sort(g)
	return g[(len(g)-1)/2]
}

// pair is an upstream and a downstream curve on one ruler.
type pair struct {
	up, down       *curve
	upPos, downPos []int64 // cumulative positions after each chunk
	unit           string  // bytes, chunks, share
}

// pairOf finds a ruler for two curves; whole says that the downstream got everything. ok is false when
// positions can't be compared.
func pairOf(up, down *curve, whole bool) (p pair, ok bool) {
	p = pair{up: up, down: down}
	if up.len() == 0 || down.len() == 0 {
		return p, false
	}
	ut, dt := up.total(), down.total()
	near := func(a, b int64) bool { return abs(a-b) <= 16+max(a, b)/50 }
	switch {
	case ut > 0 && dt > 0 && (near(ut, dt) || !whole && dt < ut):
		p.unit, p.upPos, p.downPos = "bytes", up.bytes, down.bytes
	case up.len() == down.len(), !whole && down.len() < up.len():
		p.unit, p.upPos, p.downPos = "chunks", count(up.len()), count(down.len())
	case whole && ut > 0 && dt > 0:
		p.unit, p.upPos, p.downPos = "share", scaled(up.bytes), scaled(down.bytes)
	case whole && down.len() <= up.len():
		p.unit, p.upPos, p.downPos = "share", scaled(count(up.len())), scaled(count(down.len()))
	default:
		return p, false
	}
	return p, true
}

// causal reports whether no downstream chunk came before its content was sent. Both tiers' offsets count from their own
// start, and the upstream's began at downstream offset shift or later. Where it is false the positions are not of one
// answer, or one tier's times are wrong.
func (p *pair) causal(shift, slack int64) bool {
	for i, t := range p.down.t {
		if t+slack < shift+p.up.t[p.upIndex(p.downPos[i])] {
			return false
		}
	}
	return true
}

func count(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i) + 1
	}
	return out
}

// shares is the resolution of positions that are shares of the whole.
const shares = 1 << 20

func scaled(pos []int64) []int64 {
	out := make([]int64, len(pos))
	total := pos[len(pos)-1]
	for i, v := range pos {
		out[i] = v * shares / total
	}
	return out
}

// before returns the position in front of downstream chunk i.
func (p *pair) before(i int) int64 {
	if i == 0 {
		return 0
	}
	return p.downPos[i-1]
}

// upIndex returns the upstream chunk that completes position pos, or the last one.
func (p *pair) upIndex(pos int64) int {
	i := sort.Search(len(p.upPos), func(i int) bool { return p.upPos[i] >= pos })
	return min(i, len(p.upPos)-1)
}

// upNext returns the upstream chunk that holds the first content after pos, or the last one.
func (p *pair) upNext(pos int64) int {
	i := sort.Search(len(p.upPos), func(i int) bool { return p.upPos[i] > pos })
	return min(i, len(p.upPos)-1)
}

// span is how long the upstream took from the first to the last content of downstream chunks a to b.
func (p *pair) span(a, b int) (us int64, chunks int) {
	i, j := p.upNext(p.before(a)), p.upIndex(p.downPos[b])
	if j < i {
		return 0, 0
	}
	return p.up.t[j] - p.up.t[i], j - i + 1
}

// gap is how long the upstream took over the content between the end of downstream chunk a−1 and the beginning of
// chunk b.
func (p *pair) gap(a, b int) int64 {
	i := p.upIndex(p.before(a))
	j := p.upNext(p.before(b))
	return max(0, p.up.t[j]-p.up.t[i])
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
