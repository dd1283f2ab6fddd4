package stall

import (
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// burstUS is the gap below which chunks came out together: speculative decoding, one write of a proxy. Such
// gaps say nothing about the pace, and would make any pause look long beside them.
const burstUS = 1000

// burstMost is the number of chunks after which a stream without a longer gap counts as that fast.
const burstMost = 256

// coldGaps is how many early gaps are judged again when the baseline is better known.
const coldGaps = 8

// Chunk is one event of a stream.
type Chunk struct {
	AtUS   int64 // offset on the stream's clock; never decreasing
	Kind   wire.Kind
	Bytes  uint32 // of generated text; a chunk of 0 bytes and 0 tokens bears no content
	Tokens uint32 // 0: not known
}

func (c Chunk) bearing() bool {
	return c.Kind.ContentBearing() && (c.Bytes > 0 || c.Tokens > 0)
}

// End says how a stream ended.
type End struct {
	AtUS    int64
	Done    bool // a terminal event or a finish reason was seen
	Aborted bool // the user, or whoever asked, went away
}

// Tracker follows one stream. It is used by one goroutine at a time. Methods append the events they cause
// to dst and return it; with room in dst nothing is allocated.
type Tracker struct {
	cfg *Config

	pace    histogram
	startUS int64 // time of chunk 0
	lastUS  int64 // time of the last content-bearing chunk, or of the last end of hidden time's account
	n       int64 // content-bearing chunks
	tokens  int64 // tokens, as far as known

	hiddenSince int64 // while hidden
	hiddenUS    int64 // hidden time since lastUS
	keepalives  int64 // since lastUS
	maxTokens   uint32
	lastKind    wire.Kind
	hidden      bool
	ended       bool

	cold  [coldGaps]coldGap
	coldN uint8

	slowK int32 // half the fall of pace that makes a slow episode, 1/256 octave

	train  train
	before before
	prev   [2]int64 // first chunks of the two findings before the train
	slow   slow
}

// coldGap is an early gap at or above the lowest floor that no baseline could judge yet.
type coldGap struct {
	startUS int64
	gapUS   uint32
	paceQ   int32
	chunk   int32
}

// New makes a Tracker for one stream. cfg is shared and must not change.
func New(cfg *Config) Tracker {
	return Tracker{cfg: cfg, slowK: log2q(int64(cfg.SlowFactor*256))/2 - 4<<8, prev: [2]int64{-1, -1}}
}

// Chunks returns the number of content-bearing chunks so far.
func (t *Tracker) Chunks() int64 { return t.n }

// MedianUS is the running median pace: µs per token where tokens are known, else per chunk; 0 before the second chunk.
func (t *Tracker) MedianUS() int64 {
	if t.pace.n == 0 {
		return 0
	}
	return exp2q(t.pace.medianQ())
}

// SlowThroughout reports whether the stream's median pace is above limit: slow from the start, so that no
// single pause stands out. It is a property of the stream, not a finding.
func (t *Tracker) SlowThroughout(limit time.Duration) bool {
	return int(t.pace.n) >= t.cfg.MinGaps && t.MedianUS() > limit.Microseconds()
}

// Visibility tells that the page became hidden or visible. Calls come in the order of time with chunks.
func (t *Tracker) Visibility(atUS int64, hidden bool) {
	if hidden == t.hidden {
		return
	}
	if hidden {
		t.hiddenSince = max(atUS, t.lastUS)
	} else {
		t.hiddenUS += max(0, atUS-t.hiddenSince)
	}
	t.hidden = hidden
}

func (t *Tracker) hiddenUntil(atUS int64) int64 {
	h := t.hiddenUS
	if t.hidden {
		h += max(0, atUS-t.hiddenSince)
	}
	return h
}

// Add takes the next event of the stream.
func (t *Tracker) Add(c Chunk, dst []Event) []Event {
	if t.ended {
		return dst
	}
	if !c.bearing() {
		t.keepalives++
		return dst
	}
	if t.n == 0 {
		t.startUS = c.AtUS
	} else {
		dst = t.gap(c, dst)
	}
	t.n++
	t.tokens += int64(c.Tokens)
	t.maxTokens = max(t.maxTokens, c.Tokens)
	t.lastUS, t.lastKind = max(c.AtUS, t.lastUS), c.Kind
	t.hiddenUS, t.keepalives = 0, 0
	if t.hidden {
		t.hiddenSince = t.lastUS
	}
	return dst
}

// gap judges the gap that chunk c ends.
func (t *Tracker) gap(c Chunk, dst []Event) []Event {
	hidden := t.hiddenUntil(c.AtUS)
	g := max(0, c.AtUS-t.lastUS-hidden)
	if t.lastKind == wire.KindTool && c.Kind != wire.KindTool {
		return t.ordinary(g, dst) // a tool ran: neither a stall nor part of the baseline
	}
	if g < burstUS { // came with the chunk before
		if t.n >= burstMost && int(t.pace.n) < t.cfg.MinGaps { // no: a stream as fast as that
			t.pace.add(log2q(burstUS), t.cfg.Memory)
		}
		return t.ordinary(g, dst)
	}
	tokens, pace := int64(1), g
	if c.Tokens > 1 {
		tokens = int64(c.Tokens)
		pace = g / tokens
	}
	q := log2q(pace)
	if int(t.pace.n) < t.cfg.MinGaps {
		t.keepCold(g, q)
		t.pace.add(q, t.cfg.Memory)
		if int(t.pace.n) == t.cfg.MinGaps {
			dst = t.judgeCold(dst)
		}
		return dst
	}
	stalled := t.crosses(g, q)
	if stalled {
		dst = t.stalled(g, hidden, dst)
	} else {
		if t.pace.n < coldGaps {
			t.keepCold(g, q)
		}
		dst = t.ordinary(g, dst)
	}
	if int(t.pace.n) >= t.cfg.SlowMinGaps && !t.slow.rests(t, q) {
		dst = t.slow.add(t, g, q, tokens, c.AtUS, stalled, dst)
	}
	if !t.slow.active {
		t.pace.add(q, t.cfg.Memory)
	}
	if t.pace.n == coldGaps && t.coldN > 0 {
		dst = t.judgeCold(dst)
		t.coldN = 0
	}
	return dst
}

// crosses reports whether a gap of g µs and pace q is a stall against the baseline.
func (t *Tracker) crosses(g int64, q int32) bool {
	return g >= t.cfg.Hitch.Microseconds() && t.standsOut(q)
}

func (t *Tracker) standsOut(q int32) bool {
	base := float64(exp2q(t.pace.medianQ()))
	if t.slow.active {
		base = max(base, float64(t.slow.paceUS()))
	}
	return float64(exp2q(q)) >= t.cfg.Ratio*base
}

func (t *Tracker) keepCold(g int64, q int32) {
	if g < t.cfg.Hitch.Microseconds() || int(t.coldN) == len(t.cold) {
		return
	}
	t.cold[t.coldN] = coldGap{startUS: t.lastUS, gapUS: uint32(min(g, 1<<32-1)), paceQ: q, chunk: int32(t.n)} //nolint:gosec // capped
	t.coldN++
}

// judgeCold judges the gaps that came before there was a baseline, and keeps the others for a second look.
func (t *Tracker) judgeCold(dst []Event) []Event {
	kept := uint8(0)
	for i := range int(t.coldN) {
		c := t.cold[i]
		if !t.crosses(int64(c.gapUS), c.paceQ) {
			t.cold[kept] = c
			kept++
			continue
		}
		dst = t.late(c, dst)
	}
	t.coldN = kept
	return dst
}

// late raises an early gap: part of the train when it follows it, else a finding of its own.
func (t *Tracker) late(c coldGap, dst []Event) []Event {
	tr := train{
		chunk: int64(c.chunk), last: int64(c.chunk), startUS: c.startUS, endUS: c.startUS + int64(c.gapUS),
		sumUS: int64(c.gapUS), longestUS: int64(c.gapUS), gaps: 1, raised: true,
	}
	switch {
	case t.train.raised && t.train.last == tr.chunk-1 && !t.train.open:
		t.train.extend(tr.endUS, tr.sumUS, tr.chunk)
		return append(dst, Event{Update, t.stallFinding(&t.train)})
	case !t.train.raised:
		t.train = tr
	}
	return append(dst, Event{Raise, t.stallFinding(&tr)})
}

// Unseen tells that the stream may have gone on unseen until atUS: the time until then is no gap.
func (t *Tracker) Unseen(atUS int64) {
	t.lastUS = max(t.lastUS, atUS)
	t.hiddenUS, t.hiddenSince = 0, t.lastUS
}

// Tick tells that the stream was watched until nowUS without a new chunk, so that a silence shows before
// anything ends it.
func (t *Tracker) Tick(nowUS int64, dst []Event) []Event {
	if t.ended || t.n == 0 {
		return dst
	}
	dst = t.silence(nowUS, dst)
	return t.slow.tick(t, nowUS, dst)
}

// silence judges the time since the last chunk.
func (t *Tracker) silence(nowUS int64, dst []Event) []Event {
	hidden := t.hiddenUntil(nowUS)
	g := nowUS - t.lastUS - hidden
	if t.lastKind == wire.KindTool || g < t.cfg.Hitch.Microseconds() {
		return dst // a tool may be running
	}
	if int(t.pace.n) < t.cfg.MinGaps {
		if g < t.cfg.Freeze.Microseconds() {
			return dst
		}
	} else if !t.crosses(g, log2q(g/max(1, int64(t.maxTokens)))) {
		return dst
	}
	return t.openStall(nowUS, g, hidden, dst)
}

// Finish tells how the stream ended; nothing is taken after it.
func (t *Tracker) Finish(e End, dst []Event) []Event {
	if t.ended {
		return dst
	}
	t.ended = true
	at := max(e.AtUS, t.lastUS)
	if t.n > 0 {
		if int(t.pace.n) < t.cfg.MinGaps && t.pace.n > 0 {
			dst = t.judgeFew(dst)
		} else if t.coldN > 0 {
			dst = t.judgeCold(dst)
		}
		switch {
		case e.Done, at-t.lastUS < t.cfg.Freeze.Microseconds():
			// Nothing was to come, so no gap between chunks; or what was to come is not known, and how long an emitter takes
			// to see that a stream has ended is no pause of it.
			dst = t.endSilence(dst)
		default:
			dst = t.silence(at, dst)
			dst = t.closeSilence(at, e.Aborted, dst)
		}
		dst = t.slow.finish(t, at, dst)
	}
	if e.Done || e.Aborted {
		return dst
	}
	last := max(0, t.n-1)
	f := Finding{
		Kind: wire.FindingDeadStream, Chunk: last, StartUS: t.lastUS, DurationUS: at - t.lastUS,
		Severity: SeverityCritical, Confidence: 1,
		Evidence: Evidence{FirstChunk: last, LastChunk: last, LongestUS: at - t.lastUS, BaselineUS: t.MedianUS(), Keepalives: t.keepalives},
	}
	return append(dst, Event{Raise, f})
}

// judgeFew judges the gaps of a stream too short for a baseline: a lone gap must be a freeze, of two or more
// the lower median decides.
func (t *Tracker) judgeFew(dst []Event) []Event {
	if t.pace.n > 1 {
		return t.judgeCold(dst)
	}
	if t.coldN == 1 && int64(t.cold[0].gapUS) >= t.cfg.Freeze.Microseconds() && !t.train.raised {
		dst = t.late(t.cold[0], dst)
	}
	t.coldN = 0
	return dst
}
