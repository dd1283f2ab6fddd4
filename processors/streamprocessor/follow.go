package streamprocessor

import (
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
)

// detectors is what all streams share: thresholds, read only.
type detectors struct {
	cfg   *Config
	rules map[string]*stall.Config // by query type; "" for every other one
	loop  repetition.Config
}

func newDetectors(cfg *Config) detectors {
	d := detectors{cfg: cfg, rules: map[string]*stall.Config{}, loop: cfg.loop()}
	r := cfg.rules()
	d.rules[""] = &r.Default
	for q, c := range r.ByQueryType {
		d.rules[q] = &c
	}
	return d
}

func (d *detectors) stall(queryType string) *stall.Config {
	if c, ok := d.rules[queryType]; ok {
		return c
	}
	return d.rules[""]
}

// follower follows one stream: its segments in order, and its silence. A hundred thousand are open at once, so
// what most streams don't need has no room until it is needed.
type follower struct {
	det       *detectors
	key       key
	target    unique.Handle[wire.Target]
	queryType string
	rules     *stall.Config

	tracker stall.Tracker // of choice 0
	choices []*choice
	current uint16                 // choice that spoke last
	loops   []*repetition.Detector // by choice
	times   chunkTimes

	nextSeq uint32
	content int64 // content-bearing chunks so far
	knownUS int64 // offset up to which the stream is known, or believed to have been silent
	toldUS  int64 // offset up to which records told of it
	lastUS  int64 // offset of the last content-bearing chunk

	startUnknown bool
	headless     bool // the first segment is missing
	hole         bool // segments in front of the next chunk are missing
	started      bool // a content-bearing chunk came
	sawDone      bool
	sawOther     bool // a kind of chunk that only emitters with terminal events report
	pinged       bool
	finished     bool

	changed []wire.Finding // not told yet
	told    []told
}

func newFollower(det *detectors, s *wire.Stream) *follower {
	f := new(follower)
	f.begin(det, s)
	return f
}

func (f *follower) begin(det *detectors, s *wire.Stream) {
	rules := det.stall(s.QueryType)
	*f = follower{
		det: det, key: keyOf(s), target: unique.Make(s.Target), queryType: s.QueryType, startUnknown: s.StartUnknown, rules: rules,
		tracker: stall.New(rules),
	}
}

// take follows the next segment. Findings that changed wait in f.changed.
func (f *follower) take(s *wire.Stream) {
	f.learn(s)
	c := &s.Chunks
	readable := len(c.Text) > 0 || len(c.Hashes) > 0 || len(f.loops) > 0
	for i := range c.T {
		k := c.KindAt(i)
		switch k {
		case wire.KindDone:
			f.sawDone = true
		case wire.KindRole, wire.KindUsage:
			f.sawOther = true
		case wire.KindKeepalive:
			f.pinged = true
		default:
		}
		bears := c.ContentBearing(i)
		f.add(c, i, bears)
		if bears {
			if !f.started {
				f.started = true
				f.slowStart(c.T[i], false)
			}
			f.hole = false
			if readable {
				f.times.add(f.content, c.T[i])
				f.read(c, i, k)
			}
			f.content++
			f.lastUS = c.T[i]
		}
		f.knownUS = max(f.knownUS, c.T[i])
	}
	if s.ObservedUS.OK {
		f.watch(s.ObservedUS.V)
	}
	if n := len(c.T); n > 0 {
		f.toldUS = max(f.toldUS, c.T[n-1])
	}
	f.toldUS = max(f.toldUS, s.ObservedUS.V)
	f.nextSeq = s.Seq + 1
	if s.Final && (!s.ObservedUS.OK || s.EndUS.OK || f.ended(s)) {
		f.finish(s)
	}
}

// skip gives up the segments in front of seq.
func (f *follower) skip(seq uint32) {
	f.headless = f.headless || f.nextSeq == 0
	f.hole = true
	f.nextSeq = seq
}

// learn keeps what later segments tell of the stream as a whole.
func (f *follower) learn(s *wire.Stream) {
	if s.Model != "" {
		f.target = unique.Make(s.Target)
	}
	if s.QueryType != "" {
		f.queryType = s.QueryType
	}
}

// late takes a segment that comes after it was given up. What it says of the stream's beginning still counts.
func (f *follower) late(s *wire.Stream) {
	if !f.headless || s.Seq != 0 {
		return
	}
	for i := range s.Chunks.T {
		if s.Chunks.ContentBearing(i) {
			f.headless = false
			f.slowStart(s.Chunks.T[i], false)
			return
		}
	}
}

// read hands the text of a chunk, or the hashes that stand in for it, to the loop detector of its choice.
func (f *follower) read(c *wire.Chunks, i int, k wire.Kind) {
	hashed := len(c.Hashes) > 0 && c.Hashes[i] != ""
	if f.det.cfg.Loop.Disabled || !hashed && (len(c.Text) == 0 || c.Text[i] == "") {
		return
	}
	d := f.detector(choiceAt(c, i))
	switch {
	case d == nil:
	case hashed:
		f.loopEvents(d.WriteHashes(channelOf(k), f.content, hashesOf(c.Hashes[i]), nil))
	default:
		f.loopEvents(d.Write(channelOf(k), f.content, c.Text[i], nil))
	}
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
	// Of several choices the one that spoke last is silent for sure; the others may be complete.
	if t := f.trackerOf(f.current); t != nil {
		f.events(f.current, t.Tick(atUS, nil))
	}
	f.knownUS = atUS
}

// guess says that the stream seems silent up to atUS, because no record came for longer than its emitter ever took.
// A silence that is shorter than a stall is left to the records.
func (f *follower) guess(atUS int64) {
	if f.started && atUS-f.lastUS < f.rules.Stall.Microseconds() {
		return
	}
	f.watch(atUS)
}

// slowStart judges the time to the first content, or how long it has been waited for. One that was raised and then
// proved to be within the limit is taken back.
func (f *follower) slowStart(waitedUS int64, open bool) {
	if f.startUnknown || f.headless {
		return
	}
	limit := f.det.cfg.slowStart(f.queryType)
	sf, ok := stall.SlowStart(waitedUS, open, limit)
	if !ok {
		f.noSlowStart()
		return
	}
	w := f.base(wire.FindingSlowStart, "content", sf.Chunk)
	w.StartUS, w.DurationUS, w.Open, w.Severity, w.Confidence = sf.StartUS, sf.DurationUS, open, sf.Severity, sf.Confidence
	w.Evidence = evidence(map[string]any{"waited_us": waitedUS, "limit_us": limit.Microseconds()})
	f.change(w)
}

func (f *follower) noSlowStart() {
	f.withdraw(func(t *told) bool { return t.Kind != wire.FindingSlowStart })
}

// ended reports whether the record says how the stream ended.
func (f *follower) ended(s *wire.Stream) bool {
	return f.sawDone || s.FinishReason != "" || s.ErrorType != "" || s.Status >= 400
}

func (f *follower) finish(s *wire.Stream) {
	abort := wire.UserAbort(s.FinishReason) || wire.UserAbort(s.ErrorType) || s.Status == wire.StatusClientGone
	opened := f.sawOther || f.pinged && f.content == 0
	// Many emitters tell neither kinds nor reasons: that their record ends is no sign of a dead stream.
	silentEmitter := !opened && s.FinishReason == "" && s.ErrorType == "" && s.Status < 400
	done := !abort && (f.sawDone || s.FinishReason != "" || silentEmitter)
	if (s.ErrorType != "" || wire.FailedReason(s.FinishReason)) && !f.sawDone {
		done = false
	}
	at := max(f.knownUS, s.EndUS.Or(0))
	if f.content > 0 || opened || done {
		f.finishChoices(stall.End{AtUS: at, Done: done, Aborted: abort})
	}
	if !f.started {
		f.noSlowStart() // there was no first content to be late
	}
	how := repetition.FinishStop
	switch {
	case wire.LoopStopped(s.FinishReason), wire.LoopStopped(s.StopReason):
		how = repetition.FinishRepetition
	case wire.AtLimit(s.FinishReason):
		how = repetition.FinishLimit
	case s.FinishReason == "" || abort || wire.FailedReason(s.FinishReason):
		how = repetition.FinishUnknown
	}
	f.finishLoops(how)
	f.knownUS = at
	f.finished = true
	if how == repetition.FinishRepetition {
		f.engineVerdict()
	}
}

func (f *follower) finishLoops(how repetition.Finish) {
	for _, d := range f.loops {
		if d != nil {
			f.loopEvents(d.Finish(how, nil))
		}
	}
}

// engineVerdict takes over a loop that the engine itself stopped at, when the text did not show it.
func (f *follower) engineVerdict() {
	seen := map[string]bool{}
	for i := range f.told {
		if f.told[i].Kind == wire.FindingLoop {
			seen[f.told[i].ID] = !f.told[i].Withdrawn
		}
	}
	for i := range f.changed {
		if f.changed[i].Kind == wire.FindingLoop {
			seen[f.changed[i].ID] = !f.changed[i].Withdrawn
		}
	}
	for _, holds := range seen {
		if holds {
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
	f.finishChoices(stall.End{AtUS: f.knownUS})
	f.finishLoops(repetition.FinishUnknown)
	f.closeSlowStart()
	f.finished = true
}

// ending is the record that tells whoever reads the stream that it was lost.
func (f *follower) ending() wire.Stream {
	k := &f.key
	return wire.Stream{
		RequestID: k.requestID, Tenant: k.tenant, Tier: k.tier, Attempt: k.attempt, Emitter: k.emitter, StartedAt: k.startedAt,
		Seq: wire.SeqLost, Final: true, Target: f.target.Value(), QueryType: f.queryType, StartUnknown: f.startUnknown,
		ObservedUS: wire.Some(f.toldUS), ErrorType: string(wire.FindingDeadStream),
	}
}

// forget closes what is open in a stream that will be followed no longer. What was true of it stays.
func (f *follower) forget() {
	for i := range f.told {
		if t := &f.told[i]; t.Open {
			w := f.finding(t)
			w.Open = false
			f.change(w)
		}
	}
	f.finished = true
}

func (f *follower) closeSlowStart() {
	if !f.started {
		f.slowStart(f.knownUS, false)
	}
}

// replace lets a record of the whole stream take the place of what its segments told: findings of theirs that it does not
// show are taken back.
func (f *follower) replace(old *follower) {
	f.told = old.told
	f.knownUS = max(f.knownUS, old.knownUS)
	f.withdraw(func(t *told) bool {
		return slices.ContainsFunc(f.changed, func(w wire.Finding) bool { return w.ID == t.ID && !w.Withdrawn })
	})
}

func (f *follower) base(kind wire.FindingKind, channel string, chunk int64) wire.Finding {
	k := &f.key
	return wire.Finding{
		ID: f.id(kind, channel, chunk), Kind: kind, Tenant: k.tenant, RequestID: k.requestID, Tier: k.tier, Attempt: k.attempt,
		Emitter: k.emitter, StartedAt: k.startedAt, Channel: channel, Chunk: wire.Some(chunk), Target: f.target.Value(),
		QueryType: f.queryType, Attribution: attributionOf(kind, k.tier),
	}
}

func (f *follower) id(kind wire.FindingKind, channel string, chunk int64) string {
	k := &f.key
	return wire.FindingID(kind, k.tenant, k.requestID, k.tier, k.attempt, k.emitter, k.startedAt, channel, chunk)
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
