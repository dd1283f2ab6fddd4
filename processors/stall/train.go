package stall

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// train is the stall finding that can still grow: one gap, or several that belong together.
type train struct {
	chunk, last int64 // chunks that ended the first and the last gap
	startUS     int64
	endUS       int64
	sumUS       int64 // of the gaps
	longestUS   int64
	flowUS      int64 // ordinary time since the last gap
	hiddenUS    int64
	keepalives  int64
	toldUS      int64 // duration at the last event
	gaps        int32
	flowGaps    int32 // ordinary gaps since the last gap
	openGapUS   int64 // length of the open gap, not in sumUS
	raised      bool
	open        bool // a silence that nothing has ended yet
	openFirst   bool // the open gap is the train's first
}

// before is what an open silence that began a finding of its own stands in front of: should it prove to be none, or to
// belong to the train before it, that goes on.
type before struct {
	train train
	prev  [2]int64
}

func (tr *train) extend(endUS, gapUS, chunk int64) {
	tr.endUS, tr.last = endUS, chunk
	tr.sumUS += gapUS
	tr.longestUS = max(tr.longestUS, gapUS)
	tr.gaps++
	tr.flowUS, tr.flowGaps = 0, 0
}

// takes reports whether a gap of g µs that starts now belongs to the train.
func (t *Tracker) takes(g int64) bool {
	tr := &t.train
	if !tr.raised || tr.gaps == 0 || int(tr.flowGaps) > t.cfg.MergeChunks {
		return false
	}
	mean := (tr.sumUS + g) / int64(tr.gaps+1)
	return tr.flowUS*4 <= mean
}

// ordinary accounts a gap that is no stall, and takes back a silence that it proved to be none.
func (t *Tracker) ordinary(g int64, dst []Event) []Event {
	if t.train.open {
		dst = t.endSilence(dst)
	}
	t.train.flowUS += g
	t.train.flowGaps++
	return dst
}

// stalled accounts a gap of g µs that ends with the chunk now coming.
func (t *Tracker) stalled(g, hidden int64, dst []Event) []Event {
	dst = t.join(g, dst)
	tr := &t.train
	end := t.lastUS + g + hidden
	op := Update
	switch {
	case tr.open:
		tr.open, tr.openGapUS, t.before = false, 0, before{}
		tr.extend(end, g, t.n)
	case t.takes(g):
		tr.extend(end, g, t.n)
	default:
		t.newTrain()
		tr.extend(end, g, t.n)
		op = Raise
	}
	tr.hiddenUS += hidden
	tr.keepalives += t.keepalives
	tr.raised = true
	f := t.stallFinding(tr)
	tr.toldUS = f.DurationUS
	return append(dst, Event{op, f})
}

func (t *Tracker) newTrain() {
	if t.train.raised {
		t.prev[0], t.prev[1] = t.prev[1], t.train.chunk
	}
	t.train = train{chunk: t.n, last: t.n, startUS: t.lastUS}
}

// join puts an open silence that began a finding of its own to the train before it, once it is long enough to belong there.
func (t *Tracker) join(g int64, dst []Event) []Event {
	if !t.train.open || !t.train.openFirst {
		return dst
	}
	own := t.train
	t.train = t.before.train
	if !t.takes(g) {
		t.train = own
		return dst
	}
	t.prev, t.before = t.before.prev, before{}
	t.train.open = true
	t.train.openFirst = false
	t.train.openGapUS = own.openGapUS
	own.open = false
	return append(dst, Event{Withdraw, t.stallFinding(&own)})
}

// openStall raises or lengthens the silence that lasts at nowUS.
func (t *Tracker) openStall(nowUS, g, hidden int64, dst []Event) []Event {
	joined := len(dst)
	dst = t.join(g, dst)
	tr := &t.train
	op := Update
	if !tr.open {
		if t.takes(g) {
			tr.openFirst = false
		} else {
			t.before = before{t.train, t.prev}
			t.newTrain()
			tr.openFirst = true
			op = Raise
		}
		tr.open, tr.raised = true, true
	} else if d := nowUS - tr.startUS; len(dst) == joined && d < tr.toldUS+tr.toldUS/2 && t.grade(tr.openGapUS) == t.grade(g) {
		tr.openGapUS = g
		return dst // not worth an event
	}
	tr.openGapUS = g
	f := t.stallFinding(tr)
	f.DurationUS = nowUS - tr.startUS
	f.Evidence.HiddenUS += hidden
	f.Evidence.Keepalives += t.keepalives
	tr.toldUS = f.DurationUS
	return append(dst, Event{op, f})
}

// endSilence takes back an open silence that was no gap between content after all: a chunk came that
// explains it, or nothing more was to come.
func (t *Tracker) endSilence(dst []Event) []Event {
	tr := &t.train
	if !tr.open {
		return dst
	}
	tr.open = false
	if tr.openFirst {
		f := t.stallFinding(tr)
		*tr, t.prev, t.before = t.before.train, t.before.prev, before{}
		return append(dst, Event{Withdraw, f})
	}
	tr.openGapUS = 0
	return append(dst, Event{Update, t.stallFinding(tr)})
}

// closeSilence ends an open silence with the stream.
func (t *Tracker) closeSilence(atUS int64, cut bool, dst []Event) []Event {
	hidden := t.hiddenUntil(atUS)
	dst = t.join(atUS-t.lastUS-hidden, dst)
	t.before = before{}
	tr := &t.train
	if !tr.open {
		return dst
	}
	tr.open, tr.openGapUS = false, 0
	tr.extend(atUS, atUS-t.lastUS-hidden, t.n)
	tr.hiddenUS += hidden
	tr.keepalives += t.keepalives
	f := t.stallFinding(tr)
	f.Evidence.CutShort = cut
	return append(dst, Event{Update, f})
}

func (t *Tracker) grade(g int64) string {
	switch {
	case g >= t.cfg.Freeze.Microseconds():
		return GradeFreeze
	case g >= t.cfg.Stall.Microseconds():
		return GradeStall
	default:
		return GradeHitch
	}
}

func (t *Tracker) stallFinding(tr *train) Finding {
	longest, sum, gaps, last, end := tr.longestUS, tr.sumUS, int64(tr.gaps), tr.last, tr.endUS
	if tr.open {
		longest, sum, gaps, last = max(longest, tr.openGapUS), sum+tr.openGapUS, gaps+1, t.n
		end = t.lastUS + tr.openGapUS
	}
	f := Finding{
		Kind: wire.FindingStall, Grade: t.grade(longest), Chunk: tr.chunk,
		StartUS: tr.startUS, DurationUS: max(0, end-tr.startUS), Open: tr.open,
		Evidence: Evidence{
			Gaps: gaps, FirstChunk: tr.chunk, LastChunk: last, LongestUS: longest,
			BaselineUS: t.MedianUS(), PaceUS: sum / max(1, gaps),
			Keepalives: tr.keepalives, HiddenUS: tr.hiddenUS, EveryChunks: t.regular(tr),
		},
	}
	f.Severity = SeverityInfo
	switch {
	case f.Grade == GradeFreeze || f.DurationUS >= 2*t.cfg.Freeze.Microseconds():
		f.Severity = SeverityCritical
	case f.Grade == GradeStall || f.DurationUS >= 2*t.cfg.Stall.Microseconds():
		f.Severity = SeverityWarning
	}
	f.Confidence = confidence(longest, t.cfg.Ratio*float64(max(1, f.Evidence.BaselineUS)), int64(t.pace.n))
	return f
}

// confidence grows with how far a gap is beyond its limit and with the number of gaps the baseline rests on.
func confidence(gapUS int64, limitUS float64, known int64) float64 {
	over := math.Log2(max(1, float64(gapUS)/limitUS)) / 3
	c := 0.6 + 0.2*min(1, over) + 0.2*min(1, float64(known)/16)
	return math.Round(c*100) / 100
}

// regular returns the distance in chunks at which the last three findings came, 0 when they came irregularly.
func (t *Tracker) regular(tr *train) int64 {
	if t.prev[0] < 0 || tr.chunk <= t.prev[1] {
		return 0
	}
	a, b := tr.chunk-t.prev[1], t.prev[1]-t.prev[0]
	if d := a - b; d*10 > a || -d*10 > a {
		return 0
	}
	return a
}
