package streamprocessor

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
)

// detectors is what all streams share: thresholds, read only.
type detectors struct {
	cfg   *Config
	rules *stall.Rules
	loop  repetition.Config
}

// follower follows one stream: its segments in order, and its silence.
type follower struct {
	det     *detectors
	stream  wire.Stream // identity and target; no chunks
	tracker stall.Tracker
	loops   []*repetition.Detector // by choice
	nextSeq uint32
	content int64 // content-bearing chunks so far
	times   chunkTimes

	knownUS  int64 // offset up to which the stream is known
	started  bool  // a content-bearing chunk came
	sawDone  bool
	sawOther bool // a kind of chunk that only emitters with terminal events report
	finished bool
	shown    map[string]wire.Finding // last state handed on, by id

	stallEvents []stall.Event
	loopEvents  []repetition.Event
	changed     map[string]wire.Finding
}

func newFollower(det *detectors, s *wire.Stream) *follower {
	f := &follower{det: det, stream: *s, changed: map[string]wire.Finding{}, shown: map[string]wire.Finding{}}
	f.stream.Chunks = wire.Chunks{}
	cfg := det.rules.For(s.QueryType)
	f.tracker = stall.New(&cfg)
	return f
}

// take follows the next segment. Findings that changed wait in f.changed.
func (f *follower) take(s *wire.Stream) {
	f.learn(s)
	c := &s.Chunks
	// Only loops ask when a chunk came, and a whole stream without text has none.
	loops := len(c.Text) > 0 || s.Seq > 0 || !s.Final
	for i := range c.T {
		k := c.KindAt(i)
		switch k {
		case wire.KindDone:
			f.sawDone = true
		case wire.KindRole, wire.KindUsage:
			f.sawOther = true
		default:
		}
		bears := c.ContentBearing(i)
		if bears && !f.started {
			f.started = true
			f.slowStart(c.T[i], false)
		}
		f.stallEvents = f.tracker.Add(stall.ChunkOf(c, i), f.stallEvents)
		if bears {
			if loops {
				f.times.add(f.content, c.T[i])
				f.read(c, i, k)
			}
			f.content++
		}
		f.knownUS = max(f.knownUS, c.T[i])
	}
	if s.ObservedUS.OK && s.ObservedUS.V > f.knownUS {
		f.watch(s.ObservedUS.V)
	}
	f.nextSeq = s.Seq + 1
	if s.Final && (!s.ObservedUS.OK || s.EndUS.OK || f.ended(s)) {
		f.finish(s)
	}
	f.collect()
}

// learn keeps what later segments tell of the stream as a whole.
func (f *follower) learn(s *wire.Stream) {
	if s.Model != "" {
		f.stream.Target = s.Target
	}
	if s.QueryType != "" {
		f.stream.QueryType = s.QueryType
	}
}

// read hands the text of a chunk, or the hashes that stand in for it, to the loop detector of its choice.
func (f *follower) read(c *wire.Chunks, i int, k wire.Kind) {
	hashed := len(c.Hashes) > 0 && c.Hashes[i] != ""
	if f.det.cfg.Loop.Disabled || !hashed && (len(c.Text) == 0 || c.Text[i] == "") {
		return
	}
	choice := 0
	if len(c.Choice) > 0 {
		choice = int(c.Choice[i])
	}
	const maxChoices = 16
	if choice >= maxChoices {
		return
	}
	for len(f.loops) <= choice {
		f.loops = append(f.loops, nil)
	}
	if f.loops[choice] == nil {
		f.loops[choice] = repetition.New(&f.det.loop)
	}
	d := f.loops[choice]
	if hashed {
		f.loopEvents = d.WriteHashes(channelOf(k), f.content, hashesOf(c.Hashes[i]), f.loopEvents)
		return
	}
	f.loopEvents = d.Write(channelOf(k), f.content, c.Text[i], f.loopEvents)
}

// hashesOf reads the hexadecimal numbers of a chunk. One that can't be read is left out: what came by OTLP was not checked.
func hashesOf(list string) []uint64 {
	out := make([]uint64, 0, 1+strings.Count(list, " "))
	for w := range strings.SplitSeq(list, " ") {
		if v, err := strconv.ParseUint(w, 16, 64); err == nil {
			out = append(out, v)
		}
	}
	return out
}

func channelOf(k wire.Kind) repetition.Channel {
	switch k {
	case wire.KindReasoning:
		return repetition.Reasoning
	case wire.KindTool:
		return repetition.Tool
	default:
		return repetition.Content
	}
}

// watch says that the stream was silent up to atUS.
func (f *follower) watch(atUS int64) {
	if f.finished || atUS <= f.knownUS {
		return
	}
	if !f.started {
		f.slowStart(atUS, true)
	}
	f.stallEvents = f.tracker.Tick(atUS, f.stallEvents)
	f.knownUS = atUS
}

func (f *follower) slowStart(waitedUS int64, open bool) {
	if f.stream.StartUnknown {
		return
	}
	limit := f.det.cfg.slowStart(f.stream.QueryType)
	sf, ok := stall.SlowStart(waitedUS, open, limit)
	if !ok {
		return
	}
	w := f.base(wire.FindingSlowStart, "content", sf.Chunk)
	w.StartUS, w.DurationUS, w.Open, w.Severity, w.Confidence = sf.StartUS, sf.DurationUS, open, sf.Severity, sf.Confidence
	w.Evidence = evidence(map[string]any{"waited_us": waitedUS, "limit_us": limit.Microseconds()})
	f.change(w)
}

// ended reports whether the record says how the stream ended.
func (f *follower) ended(s *wire.Stream) bool {
	return f.sawDone || s.FinishReason != "" || s.ErrorType != "" || s.Status >= 400
}

// aborted are finish reasons that mean that whoever asked went away.
var aborted = []string{"client_abort", "abort", "aborted", "cancelled", "canceled", "client_disconnect"}

func (f *follower) finish(s *wire.Stream) {
	abort := slices.Contains(aborted, s.FinishReason) || s.Status == 499
	// Many emitters tell neither kinds nor reasons: that their record ends is no sign of a dead stream.
	silentEmitter := !f.sawOther && s.FinishReason == "" && s.ErrorType == "" && s.Status < 400
	done := !abort && (f.sawDone || s.FinishReason != "" || silentEmitter)
	if s.ErrorType != "" && !f.sawDone {
		done = false
	}
	at := max(f.knownUS, s.EndUS.Or(0))
	if f.content > 0 || done {
		f.stallEvents = f.tracker.Finish(stall.End{AtUS: at, Done: done, Aborted: abort}, f.stallEvents)
	}
	how := repetition.FinishStop
	switch {
	case s.FinishReason == "repetition" || s.StopReason == "repetition_detected":
		how = repetition.FinishRepetition
	case s.FinishReason == "length" || s.FinishReason == "max_tokens" || s.FinishReason == "MAX_TOKENS":
		how = repetition.FinishLimit
	case s.FinishReason == "" || abort:
		how = repetition.FinishUnknown
	}
	for _, d := range f.loops {
		if d != nil {
			f.loopEvents = d.Finish(how, f.loopEvents)
		}
	}
	f.knownUS = at
	f.finished = true
	if how == repetition.FinishRepetition {
		f.engineVerdict()
	}
}

// engineVerdict takes over a loop that the engine itself stopped at, when the text did not show it.
func (f *follower) engineVerdict() {
	for _, e := range f.loopEvents {
		if e.Op != repetition.Withdraw {
			return
		}
	}
	for _, s := range f.shown {
		if s.Kind == wire.FindingLoop && !s.Withdrawn {
			return
		}
	}
	w := f.base(wire.FindingLoop, "content", max(0, f.content-1))
	w.StartUS, w.Severity, w.Confidence = f.knownUS, stall.SeverityWarning, 1
	w.Evidence = evidence(map[string]any{"source": "engine", "to_end": true})
	f.change(w)
}

// lost ends a stream that fell silent for good.
func (f *follower) lost() {
	if f.finished {
		return
	}
	f.stallEvents = f.tracker.Finish(stall.End{AtUS: f.knownUS}, f.stallEvents)
	for _, d := range f.loops {
		if d != nil {
			f.loopEvents = d.Finish(repetition.FinishUnknown, f.loopEvents)
		}
	}
	f.finished = true
	f.collect()
}

// collect turns the detectors' events into findings, the last state of each.
func (f *follower) collect() {
	for _, e := range f.stallEvents {
		w := f.base(e.Finding.Kind, "content", e.Finding.Chunk)
		w.Grade, w.StartUS, w.DurationUS, w.Open = e.Finding.Grade, e.Finding.StartUS, e.Finding.DurationUS, e.Finding.Open
		w.Severity, w.Confidence = e.Finding.Severity, e.Finding.Confidence
		w.Evidence = evidence(e.Finding.Evidence)
		w.Withdrawn = e.Op == stall.Withdraw
		f.change(w)
	}
	f.stallEvents = f.stallEvents[:0]
	for _, e := range f.loopEvents {
		w := f.base(wire.FindingLoop, e.Finding.Channel.String(), e.Finding.Chunk)
		w.Open, w.Confidence, w.Severity = e.Finding.Open, e.Finding.Confidence, stall.SeverityWarning
		if e.Finding.Evidence.HitLimit {
			w.Severity = stall.SeverityCritical
		}
		w.StartUS = f.times.of(e.Finding.Chunk)
		w.DurationUS = max(0, f.times.of(e.Finding.LastChunk)-w.StartUS)
		w.Evidence = evidence(e.Finding.Evidence)
		w.Withdrawn = e.Op == repetition.Withdraw
		f.change(w)
	}
	f.loopEvents = f.loopEvents[:0]
}

func (f *follower) change(w wire.Finding) { f.changed[w.ID] = w }

func (f *follower) base(kind wire.FindingKind, channel string, chunk int64) wire.Finding {
	s := &f.stream
	return wire.Finding{
		ID:   wire.FindingID(kind, s.Tenant, s.RequestID, s.Tier, s.Attempt, s.Emitter, s.StartedAt, channel, chunk),
		Kind: kind, Tenant: s.Tenant, RequestID: s.RequestID, Tier: s.Tier, Attempt: s.Attempt, Emitter: s.Emitter,
		StartedAt: s.StartedAt, Channel: channel, Chunk: wire.Some(chunk), Target: s.Target, QueryType: s.QueryType,
		Attribution: attributionOf(kind, s.Tier),
	}
}

// attributionOf is what one tier alone can say: a server's own flat curve is the engine's. The join compares
// the tiers and may say more.
func attributionOf(kind wire.FindingKind, tier wire.Tier) string {
	switch {
	case kind == wire.FindingLoop, tier == wire.TierServer:
		return "engine"
	default:
		return "unknown"
	}
}

// drain returns what has changed enough to be told, and remembers it as told. A finding that was never shown
// and is withdrawn is never told. An open finding that only grew is told again after a tenth more, or when
// all is set.
func (f *follower) drain(all bool) []wire.Finding {
	if len(f.changed) == 0 {
		return nil
	}
	out := make([]wire.Finding, 0, len(f.changed))
	for id, w := range f.changed {
		old, told := f.shown[id]
		if w.Withdrawn && !told {
			delete(f.changed, id)
			continue
		}
		if told && !all && w.Open && old.Open && w.Grade == old.Grade &&
			w.DurationUS-old.DurationUS < max(time.Second.Microseconds(), old.DurationUS/10) {
			continue
		}
		w.Revision = f.revision(&w)
		if told && sameState(&old, &w) {
			delete(f.changed, id)
			continue
		}
		f.shown[id] = w
		delete(f.changed, id)
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b wire.Finding) int {
		return cmp.Or(cmp.Compare(a.StartUS, b.StartUS), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func sameState(a, b *wire.Finding) bool {
	return a.Open == b.Open && a.Withdrawn == b.Withdrawn && a.Grade == b.Grade && a.DurationUS == b.DurationUS &&
		string(a.Evidence) == string(b.Evidence)
}

// revision grows with what is known of the stream; at the same point a closed state beats an open one. The steps
// between leave room for what the join adds to a state, see package joiner.
func (f *follower) revision(w *wire.Finding) int64 {
	r := f.knownUS * 1024
	switch {
	case w.Withdrawn:
		r += 2
	case !w.Open:
		r++
	}
	return r
}

func evidence(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // numbers and names only: can't happen
		return json.RawMessage(`{"error":` + strconv.Quote(err.Error()) + `}`)
	}
	return b
}
