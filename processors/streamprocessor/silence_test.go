package streamprocessor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// sender plays a stream in the order of time: chunks as they come, segments when the emitter flushes, and the processor's
// timer in between.
type sender struct {
	observed bool                 // segments tell how far the stream was watched
	beats    bool                 // and come though nothing is new
	flush    func() time.Duration // until the next flush
	delay    time.Duration        // of the way to the processor
}

// play returns what the processor told, each with the instant it told it at, up to until after the stream's start.
func (s sender) play(t *testing.T, p *streamProcessor, w wire.Stream, until time.Duration) (found []wire.Finding, at []time.Duration) {
	t.Helper()
	const look = 250 * time.Millisecond
	sent, seq, next := 0, uint32(0), s.flush()
	add := func(f []wire.Finding, now time.Duration) {
		for i := range f {
			found, at = append(found, f[i]), append(at, now)
		}
	}
	looked := time.Duration(0)
	for now := time.Duration(0); now <= until; now += 10 * time.Millisecond {
		if now >= next {
			n := sent
			for n < len(w.Chunks.T) && us(w.Chunks.T[n]) <= now {
				n++
			}
			if n > sent || s.beats {
				seg := w
				seg.Seq, seg.Final = seq, false
				seg.Chunks.T = w.Chunks.T[sent:n]
				if len(w.Chunks.Choice) > 0 {
					seg.Chunks.Choice = w.Chunks.Choice[sent:n]
				}
				if s.observed {
					seg.ObservedUS = wire.Some(now.Microseconds())
				}
				sent = n
				seq++
				add(p.take(&seg, start.Add(now+s.delay)), now)
			}
			next = now + s.flush()
		}
		if now-looked >= look {
			looked = now
			add(tick(p, start.Add(now+s.delay)), now)
		}
	}
	return found, at
}

func every(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// between flushes at random distances.
func between(rng *rand.Rand, lo, hi time.Duration) func() time.Duration {
	return func() time.Duration { return lo + time.Duration(rng.Int64N(int64(hi-lo+1))) }
}

// However its emitter flushes, a steady stream that runs has no finding, not even for a moment.
func TestSteadyStreamsAreNeverSilent(t *testing.T) {
	for _, gap := range []int64{8, 30, 120, 480} {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 1))
			for name, s := range map[string]sender{
				"half a second":      {flush: every(500 * time.Millisecond)},
				"every second":       {flush: every(time.Second)},
				"two":                {flush: every(2 * time.Second)},
				"five":               {flush: every(5 * time.Second)},
				"jittered":           {flush: between(rng, 700*time.Millisecond, 1300*time.Millisecond)},
				"one to two":         {flush: between(rng, time.Second, 2*time.Second)},
				"watched":            {flush: every(time.Second), observed: true},
				"watched and beats":  {flush: every(time.Second), observed: true, beats: true},
				"watched, jittered":  {flush: between(rng, time.Second, 3*time.Second), observed: true},
				"watched, slow way":  {flush: every(time.Second), observed: true, beats: true, delay: 800 * time.Millisecond},
				"unwatched slow way": {flush: every(time.Second), delay: 800 * time.Millisecond},
			} {
				w := stream("r", 400)
				for at := int64(400); at < 30_000; {
					at += gap/2 + rng.Int64N(gap+1)
					w.Chunks.T = append(w.Chunks.T, at*1000)
				}
				p := newTest(t, consumertest.NewNop(), nil)
				found, at := s.play(t, p, w, 30*time.Second)
				require.Empty(t, found, "%s, %d ms a token, seed %d, at %v", name, gap, seed, at)
			}
		}
	}
}

// A stream that freezes is told within two seconds of the floors that it crosses.
func TestSilenceIsRaisedInTime(t *testing.T) {
	for name, s := range map[string]sender{
		"every second":           {flush: every(time.Second)},
		"half a second":          {flush: every(500 * time.Millisecond)},
		"watched":                {flush: every(time.Second), observed: true, beats: true},
		"watched, every two":     {flush: every(1900 * time.Millisecond), observed: true, beats: true},
		"watched, on a slow way": {flush: every(time.Second), observed: true, beats: true, delay: 500 * time.Millisecond},
	} {
		for phase := range int64(10) {
			w := stream("r", append([]int64{400 + 100*phase}, even(300, 30)...)...)
			silent := us(w.Chunks.T[300])
			p := newTest(t, consumertest.NewNop(), nil)
			found, at := s.play(t, p, w, silent+20*time.Second)
			require.NotEmpty(t, found, name)
			grades := map[string]time.Duration{}
			for i, f := range found {
				require.Equal(t, wire.FindingStall, f.Kind, name)
				require.EqualValues(t, 301, f.Chunk.V, name)
				require.Equal(t, w.Chunks.T[300], f.StartUS, name)
				require.True(t, f.Open)
				require.LessOrEqual(t, f.StartUS+f.DurationUS, at[i].Microseconds(), "%s: no more silence than there was", name)
				if _, ok := grades[f.Grade]; !ok {
					grades[f.Grade] = at[i] - silent
				}
			}
			require.LessOrEqual(t, grades["stall"], 3*time.Second, "%s, phase %d", name, phase)
			require.LessOrEqual(t, grades["freeze"], 7*time.Second, "%s, phase %d", name, phase)
		}
	}
}

// An emitter that tells how far it watches and goes away itself is not taken for a silent stream.
func TestSilenceOfTheEmitterIsNoSilenceOfTheStream(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	w := stream("r", append([]int64{2200}, even(100, 30)...)...)
	w.QueryType = "long_form"
	s := sender{flush: every(time.Second), observed: true, beats: true}
	found, _ := s.play(t, p, w, us(w.Chunks.T[100]))
	require.Equal(t, []wire.FindingKind{wire.FindingSlowStart}, kinds(last(found)))
	require.Empty(t, tick(p, start.Add(5*time.Minute)))
}

func kinds(found map[string]wire.Finding) []wire.FindingKind {
	out := []wire.FindingKind{}
	for _, f := range found {
		out = append(out, f.Kind)
	}
	return out
}

func requireNoneOpen(t *testing.T, found []wire.Finding) {
	t.Helper()
	for _, f := range last(found) {
		require.False(t, f.Open, "%+v", f)
	}
}

// The first token kept the limit, though its record came late.
func TestSlowStartIsTakenBack(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	head := stream("r")
	head.Final, head.ObservedUS = false, wire.Some(int64(100_000))
	found := p.take(&head, start.Add(100*time.Millisecond))
	found = append(found, tick(p, start.Add(15*time.Second))...)
	require.Len(t, last(found), 1)
	require.True(t, found[0].Open)
	rest := stream("r", append([]int64{900}, even(20, 30)...)...)
	rest.Seq, rest.FinishReason = 1, "stop"
	found = append(found, p.take(&rest, start.Add(16*time.Second))...)
	require.Empty(t, last(found))
	require.True(t, found[len(found)-1].Withdrawn)
}

// What the first segment says of the first token counts, though it comes last or too late to be taken.
func TestSlowStartWhenTheFirstSegmentComesLate(t *testing.T) {
	w := stream("r", append([]int64{900}, even(100, 30)...)...)
	w.FinishReason = "stop"
	for i, wait := range []time.Duration{3 * time.Second, 8 * time.Second} {
		p := newTest(t, consumertest.NewNop(), nil)
		segs := cut(w, 10, 60)
		found := p.take(&segs[1], start.Add(3*time.Second))
		for at := 3 * time.Second; at < 3*time.Second+wait; at += 250 * time.Millisecond {
			found = append(found, tick(p, start.Add(at))...)
		}
		found = append(found, p.take(&segs[0], start.Add(3*time.Second+wait))...)
		found = append(found, p.take(&segs[2], start.Add(4*time.Second+wait))...)
		require.Empty(t, last(found), "order %d", i)
	}
	w.Chunks.T = append([]int64(nil), w.Chunks.T...)
	for i := range w.Chunks.T {
		w.Chunks.T[i] += 2_000_000
	}
	p := newTest(t, consumertest.NewNop(), nil)
	segs := cut(w, 10, 60)
	found := p.take(&segs[1], start)
	found = append(found, tick(p, start.Add(6*time.Second))...)
	found = append(found, p.take(&segs[0], start.Add(7*time.Second))...)
	require.Equal(t, []wire.FindingKind{wire.FindingSlowStart}, kinds(last(found)))
	require.EqualValues(t, 2_900_000, found[0].DurationUS)
}

// Chunks that were lost on the way are no silence.
func TestMissingSegmentsAreNoGap(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	w := stream("r", append([]int64{200}, even(300, 30)...)...)
	w.FinishReason = "stop"
	segs := cut(w, 50, 150, 200)
	var found []wire.Finding
	for _, i := range []int{0, 2} {
		found = append(found, p.take(&segs[i], start.Add(us(segs[i].Chunks.T[0])))...)
	}
	found = append(found, tick(p, start.Add(20*time.Second))...)
	found = append(found, p.take(&segs[3], start.Add(21*time.Second))...)
	require.Empty(t, last(found))
}

// A record of the whole stream that follows its first segments says all: nothing of theirs stays open.
func TestAWholeRecordAfterSegments(t *testing.T) {
	w := stream("r", append([]int64{200}, even(100, 30)...)...)
	w.FinishReason = "stop"
	stalled := stream("r", append(append([]int64{200}, even(40, 30)...), append([]int64{12_000}, even(60, 30)...)...)...)
	stalled.FinishReason = "stop"
	for name, whole := range map[string]wire.Stream{"steady": w, "with a freeze": stalled} {
		for _, off := range []int64{0, 1, -1} {
			p := newTest(t, consumertest.NewNop(), nil)
			seg := cut(whole, 30)[0]
			found := p.take(&seg, start.Add(us(seg.Chunks.T[29])))
			found = append(found, tick(p, start.Add(12*time.Second))...)
			require.Len(t, last(found), 1, name)
			again := whole
			again.StartedAt += off
			found = append(found, p.take(&again, start.Add(14*time.Second))...)
			for at := 15 * time.Second; at < 20*time.Minute; at += 10 * time.Second {
				found = append(found, tick(p, start.Add(at))...)
			}
			requireNoneOpen(t, found)
			if name == "steady" {
				require.Empty(t, last(found))
				continue
			}
			want := newTest(t, consumertest.NewNop(), nil).take(&whole, start)
			require.Equal(t, []wire.FindingKind{wire.FindingStall}, kinds(last(want)))
			require.NotContains(t, kinds(last(found)), wire.FindingDeadStream)
			var closed bool
			for _, f := range last(found) {
				closed = closed || f.ID == want[0].ID && f.DurationUS == want[0].DurationUS
			}
			require.True(t, closed, "%v", last(found))
		}
	}
}

// A second last segment changes nothing.
func TestTwoFinalRecords(t *testing.T) {
	w := stream("r", append([]int64{200}, even(100, 30)...)...)
	w.FinishReason = "stop"
	p := newTest(t, consumertest.NewNop(), nil)
	segs := cut(w, 30)
	more := segs[1]
	more.Seq = 2
	var found []wire.Finding
	for i, s := range []wire.Stream{segs[0], segs[1], more, w, segs[1]} {
		found = append(found, p.take(&s, start.Add(time.Duration(i)*time.Second))...)
	}
	found = append(found, tick(p, start.Add(11*time.Minute))...)
	require.Empty(t, found)
}

// A segment that was overtaken by the record of the whole stream opens nothing.
func TestASegmentAfterTheWholeRecord(t *testing.T) {
	w := stream("r", append([]int64{200}, even(100, 30)...)...)
	w.FinishReason = "stop"
	p := newTest(t, consumertest.NewNop(), nil)
	seg := cut(w, 30)[0]
	require.Empty(t, p.take(&w, start))
	require.Empty(t, p.take(&seg, start))
	require.Empty(t, tick(p, start.Add(11*time.Minute)))
	other := seg
	other.StartedAt += 1000
	p.take(&other, start)
	require.NotEmpty(t, tick(p, start.Add(11*time.Minute)), "another stream of the request")
}

// The findings of a stream for which there is no room any more don't stay open.
func TestFindingsOfStreamsThatWereGivenUpAreClosed(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), func(c *Config) { c.MaxStreams = shardCount })
	var found []wire.Finding
	for i := range 400 {
		s := stream(fmt.Sprintf("r%d", i), append([]int64{200}, even(40, 30)...)...)
		s.ObservedUS = wire.Some(int64(9_000_000))
		found = append(found, p.take(&s, start)...)
	}
	require.Len(t, last(found), 400)
	found = append(found, tick(p, start.Add(time.Second))...)
	open := 0
	for _, f := range last(found) {
		require.Equal(t, wire.FindingStall, f.Kind)
		require.Contains(t, string(f.Evidence), "baseline_us")
		if f.Open {
			open++
		}
	}
	require.LessOrEqual(t, open, shardCount)
}

// Whoever reads the stream learns that it was lost, not only who reads findings.
func TestAStreamThatIsBuriedIsEnded(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p := newTest(t, sink, nil)
	seg := cut(stream("r", append([]int64{200}, even(40, 30)...)...), 30)[0]
	p.take(&seg, start)
	p.send(t.Context(), tick(p, start.Add(11*time.Minute)))
	require.Len(t, sink.AllLogs(), 1)
	var ends []wire.Stream
	for _, rl := range sink.AllLogs()[0].ResourceLogs().All() {
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			if lr.EventName() == streamlog.EventStream {
				s, err := streamlog.Stream(lr, 10)
				require.NoError(t, err)
				ends = append(ends, s)
			}
		}
	}
	require.Len(t, ends, 1)
	require.True(t, ends[0].Final)
	require.EqualValues(t, wire.SeqLost, ends[0].Seq)
	require.Equal(t, "dead_stream", ends[0].ErrorType)
	require.Equal(t, seg.Chunks.T[29], ends[0].ObservedUS.V)
	p.send(t.Context(), tick(p, start.Add(12*time.Minute)))
	require.Len(t, sink.AllLogs(), 1, "once")
}

// A processor that can't save its streams leaves no finding open behind it.
func TestStoppingWithoutStorageClosesFindings(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p := newTest(t, sink, func(c *Config) { c.TickInterval = time.Hour })
	require.NoError(t, p.Start(t.Context(), host{}))
	s := stream("r", append([]int64{200}, even(40, 30)...)...)
	s.ObservedUS = wire.Some(int64(9_000_000))
	require.True(t, p.take(&s, start)[0].Open)
	require.NoError(t, p.Shutdown(t.Context()))
	require.Equal(t, 1, sink.LogRecordCount())
	f, err := streamlog.Finding(sink.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0))
	require.NoError(t, err)
	require.Equal(t, wire.FindingStall, f.Kind)
	require.False(t, f.Open)
}

func TestDeadStreamNamesTheLastChunk(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	s := stream("r", even(11, 30)...)
	s.Chunks.Kind = append([]wire.Kind{wire.KindRole}, make([]wire.Kind, 10)...)
	found := p.take(&s, start)
	require.Len(t, found, 1)
	require.Equal(t, wire.FindingDeadStream, found[0].Kind)
	require.EqualValues(t, 9, found[0].Chunk.V)
}

// Who leaves makes no dead stream, however it is told.
func TestAbortsAreNoDeadStreams(t *testing.T) {
	for _, change := range []func(*wire.Stream){
		func(s *wire.Stream) { s.FinishReason = "client_abort" },
		func(s *wire.Stream) { s.ErrorType = "client_disconnect" },
		func(s *wire.Stream) { s.Status = 499 },
	} {
		s := stream("r", even(11, 30)...)
		s.Chunks.Kind = append([]wire.Kind{wire.KindRole}, make([]wire.Kind, 10)...)
		change(&s)
		require.Empty(t, newTest(t, consumertest.NewNop(), nil).take(&s, start))
	}
}

// Two answers in one stream: a stall of one is found though the other goes on, and the end of one is none.
func TestChoicesAreFollowedApart(t *testing.T) {
	w := wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: t0, Final: true, FinishReason: "stop"}
	for at := int64(200); at < 12_000; at += 15 {
		choice := uint16(at / 15 % 2)
		if choice == 1 && at > 3000 && at < 7000 || choice == 0 && at > 9000 {
			continue
		}
		w.Chunks.T, w.Chunks.Choice = append(w.Chunks.T, at*1000), append(w.Chunks.Choice, choice)
	}
	p := newTest(t, consumertest.NewNop(), nil)
	found := p.take(&w, start)
	require.Len(t, found, 1)
	require.Equal(t, "stall", found[0].Grade)
	require.InDelta(t, 4_000_000, found[0].DurationUS, 40_000)
	require.Contains(t, string(found[0].Evidence), `"choice":1`)

	p = newTest(t, consumertest.NewNop(), nil)
	live, _ := sender{flush: every(time.Second), observed: true, beats: true}.play(t, p, w, 12*time.Second)
	require.Equal(t, last(found), last(live))
}

// What happens while Fermata itself is down is no silence, and every answer of a stream is followed on.
func TestARestartIsNoSilence(t *testing.T) {
	id := component.MustNewID("memory")
	h := host{map[component.ID]component.Component{id: &memoryStore{Client: mapClient{}}}}
	begin := func() *streamProcessor {
		p := newTest(t, consumertest.NewNop(), func(c *Config) { c.Storage = &id; c.TickInterval = time.Hour })
		require.NoError(t, p.Start(t.Context(), h))
		return p
	}
	now := time.Now()
	w := wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: now.Add(-time.Minute).UnixMicro(), FinishReason: "stop"}
	for at := int64(200); at < 6_000; at += 15 {
		if choice := uint16(at / 15 % 2); choice == 0 || at < 2000 || at > 4000 {
			w.Chunks.T, w.Chunks.Choice = append(w.Chunks.T, at*1000), append(w.Chunks.Choice, choice)
		}
	}
	part := func(seq uint32, from, to int) wire.Stream {
		s := w
		s.Seq, s.Final = seq, to == len(w.Chunks.T)
		s.Chunks.T, s.Chunks.Choice = w.Chunks.T[from:to], w.Chunks.Choice[from:to]
		return s
	}
	p := begin()
	s := part(0, 0, 150)
	require.Empty(t, p.take(&s, now.Add(-time.Minute)))
	require.NoError(t, p.Shutdown(t.Context()))
	p = begin()
	require.Empty(t, tick(p, time.Now()))
	s = part(1, 150, len(w.Chunks.T))
	found := p.take(&s, time.Now())
	require.NoError(t, p.Shutdown(t.Context()))
	require.Len(t, found, 1)
	require.Contains(t, string(found[0].Evidence), `"choice":1`)
	require.InDelta(t, 2_000_000, found[0].DurationUS, 60_000)
}

// However a stream is played, in the end its findings are those of the whole record.
func TestPlayedLiveItEndsAsTheWhole(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := stream("r", 300+rng.Int64N(2000))
		w.FinishReason = "stop"
		at := w.Chunks.T[0]
		for range 100 + rng.IntN(200) {
			at += 1000 * (15 + rng.Int64N(30))
			if rng.IntN(70) == 0 {
				at += 1000 * (200 + rng.Int64N(7000))
			}
			w.Chunks.T = append(w.Chunks.T, at)
		}
		want := last(newTest(t, consumertest.NewNop(), nil).take(&w, start))
		s := sender{flush: between(rng, 800*time.Millisecond, 1200*time.Millisecond), observed: seed%3 > 0, beats: seed%3 == 1}
		p := newTest(t, consumertest.NewNop(), nil)
		end := us(at) - time.Millisecond // the last chunk comes with the end
		live, _ := s.play(t, p, w, end)
		rest := w
		rest.Chunks.T = w.Chunks.T[len(w.Chunks.T):]
		for i := range p.shards {
			for e := p.shards[i].first; e != nil; e = e.next {
				rest.Seq = e.f.nextSeq
				rest.Chunks.T = w.Chunks.T[e.f.content:]
			}
		}
		rest.Final = true
		live = append(live, p.take(&rest, start.Add(end+time.Second))...)
		require.Equal(t, want, last(live), "seed %d", seed)
	}
}
