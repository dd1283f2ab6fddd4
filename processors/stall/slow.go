package stall

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

const (
	cusumLimit = 8 << 8 // h: sum at which a change is believed, 1/256 octave
	cusumCap   = 2 * cusumLimit
	cusumClip  = 1 << 8 // c: most that one gap can add
	cusumDrop  = 2 << 8 // most that one gap can take away
	// slowPaceUS is the pace below which a fall is not felt: 25 chunks a second.
	slowPaceUS = 40_000
	// fastGaps is how many gaps a faster pace must hold before what came first counts as slow.
	fastGaps = 32
)

// slow looks for a lasting fall of pace: Page's cumulative sum on log2 of the pace, see the package comment.
type slow struct {
	sum     int32 // S
	back    int32 // mirrored sum, for the end
	fast    int32 // sum for a pace faster than the baseline
	baseQ   int32 // baseline, held while sum or fast > 0
	startUS int64 // where the sum left zero
	chunk   int64
	gaps    int64
	floors  int64 // gaps that are stalls themselves
	sumUS   int64
	tokens  int64
	longest int64
	// state where the mirrored sum left zero: the end, should it be one
	endUS, endChunk, endGaps, endSumUS, endTokens int64
	fastUS, fastChunk                             int64
	fastN                                         int32
	fastTokens                                    int64
	toldUS                                        int64
	active                                        bool
	sped                                          bool // a faster pace was taken as the baseline once
}

func (s *slow) paceUS() int64 { return s.sumUS / max(1, s.tokens) }

func clip(v, lo, hi int32) int32 { return min(max(v, lo), hi) }

// rests reports whether no sum runs and a gap of pace q begins none, as most gaps.
func (s *slow) rests(t *Tracker, q int32) bool {
	if s.sum != 0 || s.fast != 0 || s.active {
		return false
	}
	s.baseQ = t.pace.medianQ()
	y := q - s.baseQ
	return y <= t.slowK && (s.sped || -y <= t.slowK)
}

// add takes the gap of g µs and pace q that ends now at atUS.
func (s *slow) add(t *Tracker, g int64, q int32, tokens, atUS int64, stalled bool, dst []Event) []Event {
	if s.sum == 0 && s.fast == 0 {
		s.baseQ = t.pace.medianQ()
	}
	k := t.slowK
	y := q - s.baseQ
	if s.active {
		return s.follow(t, g, y, k, tokens, dst)
	}
	inc := clip(y-k, -cusumDrop, cusumClip)
	if s.sum == 0 {
		if inc <= 0 {
			return s.faster(t, y, k, tokens, atUS, dst)
		}
		s.startUS, s.chunk = t.lastUS, t.n
		s.gaps, s.floors, s.sumUS, s.tokens, s.longest, s.fast = 0, 0, 0, 0, 0, 0
	}
	s.sum = clip(s.sum+inc, 0, cusumCap)
	if s.sum == 0 {
		return dst
	}
	s.account(g, tokens)
	if stalled {
		s.floors++
	}
	if s.sum < cusumLimit || atUS-s.startUS < t.cfg.SlowMinDuration.Microseconds() ||
		s.floors*5 >= s.gaps*4 || // a train of stalls tells it already
		s.sumUS/s.gaps < slowPaceUS ||
		float64(s.paceUS()) < t.cfg.SlowFactor*float64(exp2q(s.baseQ)) {
		return dst
	}
	s.active, s.back = true, 0
	dst = s.absorb(t, dst)
	f := s.finding(t, atUS, t.n)
	s.toldUS = f.DurationUS
	return append(dst, Event{Raise, f})
}

func (s *slow) account(g, tokens int64) {
	s.gaps++
	s.sumUS += g
	s.tokens += tokens
	s.longest = max(s.longest, g)
}

// absorb takes back a stall that is but a part of the episode.
func (s *slow) absorb(t *Tracker, dst []Event) []Event {
	tr := &t.train
	if !tr.raised || tr.open || tr.chunk < s.chunk || float64(tr.longestUS) >= t.cfg.Ratio*float64(s.paceUS()) {
		return dst
	}
	f := t.stallFinding(tr)
	*tr = train{}
	return append(dst, Event{Withdraw, f})
}

// follow takes a gap while an episode runs, and finds its end.
func (s *slow) follow(t *Tracker, g int64, y, k int32, tokens int64, dst []Event) []Event {
	if s.back == 0 {
		s.endUS, s.endChunk, s.endGaps, s.endSumUS, s.endTokens = t.lastUS, t.n-1, s.gaps, s.sumUS, s.tokens
	}
	s.account(g, tokens)
	s.back = clip(s.back+clip(k-y, -cusumDrop, cusumClip), 0, cusumCap)
	if s.back >= cusumLimit {
		s.gaps, s.sumUS, s.tokens = s.endGaps, s.endSumUS, s.endTokens
		f := s.finding(t, s.endUS, s.endChunk)
		f.Open = false
		*s = slow{sped: s.sped}
		return append(dst, Event{Update, f})
	}
	if d := t.lastUS + g - s.startUS; d >= s.toldUS+s.toldUS/2 {
		f := s.finding(t, t.lastUS+g, t.n)
		s.toldUS = f.DurationUS
		dst = append(dst, Event{Update, f})
	}
	return dst
}

// faster looks for a pace that stays SlowFactor times faster than what came before: then the stream's
// beginning was the slow episode, and the faster pace is the baseline.
func (s *slow) faster(t *Tracker, y, k int32, tokens, atUS int64, dst []Event) []Event {
	if s.sped {
		return dst
	}
	inc := clip(-y-k, -cusumDrop, cusumClip)
	if s.fast == 0 {
		if inc <= 0 {
			return dst
		}
		s.fastUS, s.fastChunk, s.fastN, s.fastTokens = t.lastUS, t.n-1, 0, 0
	}
	s.fast = clip(s.fast+inc, 0, cusumCap)
	s.fastN++
	s.fastTokens += tokens
	before, after := s.fastUS-t.startUS, atUS-s.fastUS
	if s.fast < cusumLimit || s.fastN < fastGaps || after*4 < before {
		return dst
	}
	base := after / s.fastTokens
	s.sped, s.fast = true, 0
	gap := before / max(1, s.fastChunk)
	slowQ := s.baseQ
	t.pace.reset()
	for range min(s.fastN, int32(t.cfg.SlowMinGaps)) { //nolint:gosec // small; the new baseline
		t.pace.add(log2q(base), t.cfg.Memory)
	}
	if before < t.cfg.SlowMinDuration.Microseconds() || gap < slowPaceUS || after/int64(s.fastN) < 1000 ||
		float64(exp2q(slowQ)) < t.cfg.SlowFactor*float64(base) {
		return dst
	}
	e := slow{startUS: t.startUS, chunk: 1, gaps: s.fastChunk, sumUS: before, tokens: max(s.fastChunk, t.tokens+tokens-s.fastTokens), baseQ: log2q(base), longest: t.train.longestUS}
	f := e.finding(t, s.fastUS, s.fastChunk)
	f.Open = false
	return append(dst, Event{Raise, f})
}

// tick lengthens an open episode in a silence.
func (s *slow) tick(t *Tracker, nowUS int64, dst []Event) []Event {
	if !s.active || t.train.open || nowUS-s.startUS < s.toldUS+s.toldUS/2 {
		return dst
	}
	f := s.finding(t, nowUS, t.n-1)
	s.toldUS = f.DurationUS
	return append(dst, Event{Update, f})
}

// finish closes an open episode with the stream.
func (s *slow) finish(t *Tracker, atUS int64, dst []Event) []Event {
	if !s.active {
		return dst
	}
	end := atUS
	if t.train.raised && t.train.last == t.n { // the end is a silence of its own
		end = t.lastUS
	}
	f := s.finding(t, end, t.n-1)
	f.Open = false
	s.active = false
	return append(dst, Event{Update, f})
}

func (s *slow) finding(t *Tracker, endUS, last int64) Finding {
	base := exp2q(s.baseQ)
	pace := s.paceUS()
	f := Finding{
		Kind: wire.FindingSlowEpisode, Chunk: s.chunk, StartUS: s.startUS, DurationUS: endUS - s.startUS, Open: true,
		Severity: SeverityWarning,
		Evidence: Evidence{
			Gaps: s.gaps, FirstChunk: s.chunk, LastChunk: last, LongestUS: s.longest, BaselineUS: base, PaceUS: pace,
		},
	}
	if f.DurationUS >= 2*t.cfg.Freeze.Microseconds() {
		f.Severity = SeverityCritical
	}
	over := math.Log2(max(1, float64(pace)/(t.cfg.SlowFactor*float64(max(1, base))))) / 3
	f.Confidence = math.Round(100*(0.7+0.15*min(1, over)+0.15*min(1, float64(s.gaps)/32))) / 100
	return f
}
