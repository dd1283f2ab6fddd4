package stall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// findings keeps the last state of each finding that was not withdrawn, in the order they were raised.
type findings struct{ list []stall.Finding }

func (f *findings) take(evs []stall.Event) {
	for _, e := range evs {
		at := -1
		for i := range f.list {
			if f.list[i].Kind == e.Finding.Kind && f.list[i].Chunk == e.Finding.Chunk {
				at = i
			}
		}
		switch {
		case e.Op == stall.Withdraw:
			f.list = append(f.list[:at], f.list[at+1:]...)
		case at < 0:
			f.list = append(f.list, e.Finding)
		default:
			f.list[at] = e.Finding
		}
	}
}

func (f *findings) of(kind wire.FindingKind) []stall.Finding {
	var out []stall.Finding
	for _, x := range f.list {
		if x.Kind == kind {
			out = append(out, x)
		}
	}
	return out
}

func play(s *corpus.CaseStream) findings {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	for i := range s.C.T {
		f.take(tr.Add(stall.ChunkOf(&s.C, i), nil))
	}
	if s.ObservedUntil > 0 {
		f.take(tr.Tick(int64(s.ObservedUntil*1000), nil))
		return f
	}
	if n := s.C.Len(); n > 0 {
		f.take(tr.Finish(stall.End{AtUS: s.C.T[n-1], Done: s.Done(), Aborted: s.Aborted}, nil))
	}
	return f
}

func cases(t testing.TB) map[string]*corpus.Case {
	list, err := corpus.LoadCases("../testdata/cases.jsonl")
	require.NoError(t, err)
	out := map[string]*corpus.Case{}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	require.Len(t, out, 58)
	return out
}

func TestStallCases(t *testing.T) {
	all := cases(t)
	for _, id := range []string{"S01", "S07", "S09", "S11", "S13", "S15", "T01", "T03", "T04", "T06", "T09", "D01", "D04"} {
		t.Run(id, func(t *testing.T) {
			c := all[id]
			for i := range c.Streams {
				if c.Streams[i].Source != "server" {
					continue
				}
				f := play(&c.Streams[i])
				got := f.of(wire.FindingStall)
				var want []corpus.CaseStall
				for _, s := range c.Stalls {
					if s.Stream == i {
						want = append(want, s)
					}
				}
				require.Len(t, got, len(want))
				for k, w := range want {
					require.Equal(t, w.Chunk, got[k].Chunk)
					require.InDelta(t, w.GapMS*1000, got[k].DurationUS, 1000)
					require.False(t, got[k].Open)
				}
				require.Empty(t, f.of(wire.FindingSlowEpisode))
			}
		})
	}
}

func TestStallTrainIsOneEpisode(t *testing.T) {
	f := play(&cases(t)["S02"].Streams[0])
	got := f.of(wire.FindingStall)
	require.Len(t, got, 1)
	require.EqualValues(t, 61, got[0].Chunk)
	require.InDelta(t, 16_000_000, got[0].DurationUS, 100)
	require.EqualValues(t, 5, got[0].Evidence.Gaps)
	require.EqualValues(t, 61, got[0].Evidence.FirstChunk)
	require.EqualValues(t, 65, got[0].Evidence.LastChunk)
	require.InDelta(t, 3_200_000, got[0].Evidence.LongestUS, 100)
	require.Equal(t, stall.GradeStall, got[0].Grade)
	require.Empty(t, f.of(wire.FindingSlowEpisode))
}

func TestOpenStallNeedsNoEnd(t *testing.T) {
	f := play(&cases(t)["S06"].Streams[0])
	require.Len(t, f.list, 1)
	got := f.list[0]
	require.True(t, got.Open)
	require.Equal(t, stall.GradeFreeze, got.Grade)
	require.EqualValues(t, 5, got.Chunk)
	require.EqualValues(t, 940_000, got.StartUS)
	require.EqualValues(t, 179_060_000, got.DurationUS)
}

func TestSlowThroughoutIsNoStall(t *testing.T) {
	for _, id := range []string{"S07", "S13"} {
		s := &cases(t)[id].Streams[0]
		cfg := stall.NewDefaultConfig()
		tr := stall.New(&cfg)
		for i := range s.C.T {
			require.Empty(t, tr.Add(stall.ChunkOf(&s.C, i), nil))
		}
		require.True(t, tr.SlowThroughout(250_000_000), id)
	}
}

func TestStutterTellsItsPeriod(t *testing.T) {
	f := play(&cases(t)["S11"].Streams[0])
	got := f.of(wire.FindingStall)
	require.Len(t, got, 6)
	require.Zero(t, got[0].Evidence.EveryChunks)
	require.Zero(t, got[1].Evidence.EveryChunks)
	for _, g := range got[2:] {
		require.EqualValues(t, 46, g.Evidence.EveryChunks)
	}
}

func TestEngineWideStall(t *testing.T) {
	c := cases(t)["S01"]
	var w []stall.Window
	for i := range c.Streams {
		s := &c.Streams[i]
		t0 := int64(s.T0 * 1000)
		f := play(s)
		for _, x := range f.of(wire.FindingStall) {
			w = append(w, stall.Window{Stream: s.Request, FromUS: t0 + x.StartUS, UntilUS: t0 + x.StartUS + x.DurationUS})
		}
		w = append(w, stall.Window{Stream: s.Request, FromUS: t0, UntilUS: t0 + stall.TimingOf(&s.C, wire.Opt[int64]{}).TTFTUS.V, Start: true})
	}
	g := stall.Together(w, 100_000)
	require.Len(t, g, 1)
	require.Equal(t, []string{"r-a", "r-b", "r-c"}, g[0].Streams)
	require.Equal(t, []string{"r-d"}, g[0].Waiting)
	require.InDelta(t, 4_000_000, g[0].FromUS, 20_000)
	require.InDelta(t, 11_400_000, g[0].UntilUS, 20_000)
}

func TestTimingCases(t *testing.T) {
	all := cases(t)
	timing := func(id string) stall.Timing {
		s := &all[id].Streams[0]
		var total wire.Opt[int64]
		if s.Usage.CompletionTokens > 0 {
			total = wire.Some(s.Usage.CompletionTokens)
		}
		return stall.TimingOf(&s.C, total)
	}
	require.Equal(t, wire.Some(int64(2_210_000)), timing("T01").TTFTUS)
	require.Equal(t, wire.Some(int64(330_000)), timing("T09").TTFTUS)

	t03 := timing("T03")
	require.Equal(t, wire.Some(int64(5_170_000)), t03.TTFTUS)
	require.EqualValues(t, 390, t03.Tokens)
	require.InDelta(t, 9000, t03.TokenUS.V, 1)

	t04 := timing("T04")
	require.False(t, t04.TTFTUS.OK)
	require.Zero(t, t04.Tokens)
	require.False(t, t04.TokenUS.OK)

	t06 := timing("T06")
	require.Equal(t, wire.Some(int64(3_400_000)), t06.TTFTUS)
	require.EqualValues(t, 71, t06.Tokens)
	require.EqualValues(t, 1, t06.Malformed)

	d01 := timing("D01")
	require.InDelta(t, 9000, d01.ChunkGapUS.V, 100)
	require.InDelta(t, 3450, d01.TokenUS.V, 50)
	d04 := timing("D04")
	require.InDelta(t, 15_000, d04.TokenUS.V, 1)

	require.True(t, stall.ImpossibleOrder(12_400_000, 2_900_000, 0))
	for us, want := range map[int64]int64{60_004_000: 60, 100_010_000: 100, 125_040_000: 125, 57_000_000: 0} {
		l, ok := stall.IdleLimit(us)
		require.Equal(t, want != 0, ok)
		require.EqualValues(t, want, l.Seconds())
	}
}
