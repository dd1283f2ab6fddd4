package simulate

import (
	"slices"
	"strconv"

	"github.com/fermata-io/fermata/internal/wire"
)

// natural is the cause of what nobody caused.
const natural = "natural"

// judgeStream tells what went wrong in a stream of an engine, or of a gateway that passes one on. start is its true start.
func (s *Simulator) judgeStream(j *job, w *wire.Stream, start int64) {
	ps := points(&w.Chunks)
	base := Truth{RequestID: j.p.id, Tier: string(w.Tier), Attempt: j.attempt, Channel: "content", Attribution: "engine"}
	gateway := w.Tier == wire.TierGateway
	tell := func(t Truth) {
		t.At = start + t.StartUS
		s.tell(t)
	}
	slow := s.slowStretches(j, ps, start)
	for _, e := range slow {
		t := base
		t.Kind, t.Chunk, t.StartUS, t.DurationUS, t.SlackChunks = "slow_episode", int64(e.first), e.from, e.until-e.from, 8
		t.Cause = e.cause
		tell(t)
	}
	apart := slices.DeleteFunc(pauses(ps, nothing), func(p pause) bool { // others are parts of a slow stretch
		return slices.ContainsFunc(slow, func(sl slowStretch) bool { return p.chunk >= sl.first && p.chunk <= sl.last && !sl.standsOut(p.pace) })
	})
	for _, e := range episodes(ps, apart) {
		t := base
		t.Kind, t.Grade, t.Chunk, t.StartUS, t.DurationUS, t.SlackChunks = "stall", grade(e.longest), int64(e.first), e.from, e.until-e.from, 1
		t.Cause, t.EngineEvent = s.causeOf(j, e, start)
		tell(t)
	}
	if len(ps) > 0 && ps[0].at > slowStartLimit(j.p.queryType) {
		t := base
		t.Kind, t.Chunk, t.DurationUS, t.Cause = "slow_start", 0, ps[0].at, natural
		if j.p.fault == FaultSlowStart || gateway && j.p.fault == FaultQueue {
			t.Cause = string(j.p.fault)
		}
		if gateway {
			t.Attribution = ""
		}
		tell(t)
	}
	if w.FinishReason == "" && j.p.dieAt > 0 {
		t := base
		t.Kind, t.Chunk, t.StartUS, t.Cause, t.SlackChunks = "dead_stream", int64(len(ps)), w.EndUS.V, string(FaultDead), 1
		if gateway {
			t.Attribution = ""
		}
		tell(t)
	}
	if !gateway || w.StopReason != "" { // a gateway knows of loops by what the engine says alone
		s.judgeLoop(j, w, ps, base, tell)
	}
}

// causeOf names what made a pause: a fault of the request, a silence of the whole engine, or nothing.
func (s *Simulator) causeOf(j *job, e episode, start int64) (cause, event string) {
	from, until := start+e.from, start+e.until
	for _, st := range j.e.stalls {
		if st.from < until && st.until > from {
			return string(FaultEngineStall), eventName(j.e, st)
		}
	}
	for tok, f := range j.p.causes {
		if tok == 0 {
			continue
		}
		if b := j.batchOf(tok); b < len(j.out) && b >= e.first && b <= e.last {
			return string(f), ""
		}
	}
	return natural, ""
}

// slowStretch is an episode of a slow pace.
type slowStretch struct {
	first, last int
	from, until int64
	pace        float64
	cause       string
}

// standsOut reports a pause that is one even beside the slow pace.
func (s *slowStretch) standsOut(pace float64) bool { return pace >= ratio*s.pace }

// slowStretches checks each slow stretch that was caused: long enough, and slow enough beside what came before, or after it.
func (s *Simulator) slowStretches(j *job, ps []point, start int64) []slowStretch {
	type caused struct {
		from, until int64
		cause       Fault
	}
	var list []caused
	if j.p.every > 1 && j.next > j.p.slowFrom {
		a := j.batchOf(j.p.slowFrom)
		z := min(j.batchOf(min(j.p.slowTo, j.next)-1), len(j.out)-1)
		if a > 0 && a < len(j.out) {
			list = append(list, caused{j.out[a-1].at - start, j.out[z].at - start, FaultSlow})
		}
	}
	for _, sl := range j.e.slow {
		list = append(list, caused{sl.from - start, sl.until - start, FaultEngineSlow})
	}
	var out []slowStretch
	for _, c := range list {
		a := slices.IndexFunc(ps, func(p point) bool { return p.at > c.from })
		if a < 0 {
			continue
		}
		a = max(a, 1)
		z := a
		for z+1 < len(ps) && ps[z].at < c.until { // the step that runs when it ends is a part of it
			z++
		}
		if z >= len(ps) {
			continue
		}
		if e, ok := isSlow(ps, a, z); ok {
			e.cause = string(c.cause)
			out = append(out, e)
		}
	}
	return out
}

// isSlow judges the gaps that end with chunks a … z.
func isSlow(ps []point, a, z int) (slowStretch, bool) {
	total, toks := ps[z].at-ps[a-1].at, int64(0)
	for _, p := range ps[a : z+1] {
		toks += p.tokens
	}
	gaps := int64(z - a + 1)
	pace := float64(total) / float64(toks)
	e := slowStretch{a, z, ps[a-1].at, ps[z].at, pace, ""}
	if gaps < 10 || total < 1_000_000 || total/gaps < 40_000 {
		return e, false
	}
	if before, ok := medianOf(ps[:a], nothing); ok && a >= 5 {
		return e, pace >= 4*before
	}
	// It began slow: what comes after it is the measure, when that is enough.
	after, ok := medianOf(ps[z:], nothing)
	for z+1 < len(ps) && float64(ps[z+1].at-ps[z].at) >= 3*after*float64(ps[z+1].tokens) {
		z++ // what follows it and is slow, too
	}
	e.last, e.until = z, ps[z].at
	rest := len(ps) - 1 - z
	return e, ok && a <= 4 && rest >= 33 && (ps[len(ps)-1].at-ps[z].at)*4 >= ps[z].at-ps[0].at && pace >= 4*after
}

// judgeLoop tells of a loop that got far enough.
func (s *Simulator) judgeLoop(j *job, w *wire.Stream, ps []point, base Truth, tell func(Truth)) {
	p := j.p
	if p.loop == nil || j.next <= p.loopToken {
		return
	}
	t := base
	t.Kind, t.Cause, t.Channel = "loop", string(p.fault), p.loopChannel.String()
	if p.fault == FaultVerdict || w.Tier == wire.TierGateway {
		t.Channel, t.Chunk, t.StartUS = "content", int64(len(ps)-1), w.Chunks.T[len(w.Chunks.T)-1]
		t.SlackChunks = int64(len(ps))
		tell(t)
		return
	}
	first := j.batchOf(p.loopToken)
	if first >= len(ps) {
		return
	}
	t.Chunk, t.StartUS = int64(first), ps[first].at
	t.StartChar, t.PeriodChars, t.Match = p.loop.start, p.loop.period, p.loop.match
	looped := p.charsUntil(j.next, p.loopChannel) - p.loop.start
	t.Copies = looped / max(1, p.loop.period)
	t.DurationUS = ps[len(ps)-1].at - t.StartUS
	t.SlackChunks = 3
	if p.loop.match == "drifting" {
		t.SlackChunks = int64(len(ps))/int64(max(1, t.Copies)) + 3
	}
	tell(t)
}

func eventName(e *engine, st span) string { return e.deployment + "@" + itoa(st.from) }

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// judgeVersions tells of targets whose second version has another texture; streams of each are enough for a test.
func (s *Simulator) judgeVersions() {
	for _, e := range s.engines {
		const enough = 30
		next := e.version + "-next"
		if e.newAt == 0 || !e.retextured || s.versions[versionOf{e.deployment, e.version}] < enough || s.versions[versionOf{e.deployment, next}] < enough {
			continue
		}
		s.tell(Truth{
			Kind: "texture_shift", Tier: string(wire.TierServer), Chunk: -1, Cause: string(FaultNewVersion), Deployment: e.deployment, Version: next, At: e.newAt,
		})
		e.newAt = 0 // told once
	}
}
