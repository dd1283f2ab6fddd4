package stall_test

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

type gap struct {
	us     int64
	tokens uint32
}

func playGaps(gaps []gap) (f findings, tr stall.Tracker) {
	cfg := stall.NewDefaultConfig()
	tr = stall.New(&cfg)
	at := int64(400_000)
	f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 4, Tokens: 1}, nil))
	for _, g := range gaps {
		at += g.us
		f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 4, Tokens: g.tokens}, nil))
	}
	f.take(tr.Finish(stall.End{AtUS: at, Done: true}, nil))
	return f, tr
}

func repeat(us int64, n int) []gap {
	out := make([]gap, n)
	for i := range out {
		out[i] = gap{us, 1}
	}
	return out
}

func concat(gs ...[]gap) (out []gap) {
	for _, g := range gs {
		out = append(out, g...)
	}
	return out
}

func noisy(r *rand.Rand, us float64, sigma float64, n int) []gap {
	out := make([]gap, n)
	for i := range out {
		out[i] = gap{int64(us * math.Exp(sigma*r.NormFloat64())), 1}
	}
	return out
}

func TestSlowEpisodeBelowEveryFloor(t *testing.T) {
	f, _ := playGaps(concat(repeat(4_000, 200), repeat(150_000, 40), repeat(4_000, 100)))
	require.Len(t, f.list, 1)
	s := f.list[0]
	require.Equal(t, wire.FindingSlowEpisode, s.Kind)
	require.InDelta(t, 201, s.Chunk, 1)
	require.InDelta(t, 240, s.Evidence.LastChunk, 1)
	require.InDelta(t, 6_000_000, s.DurationUS, 200_000)
	require.InDelta(t, 150_000, s.Evidence.PaceUS, 10_000)
	require.InDelta(t, 4_000, s.Evidence.BaselineUS, 300)
	require.False(t, s.Open)
}

func TestSlowBeginning(t *testing.T) {
	f, _ := playGaps(concat(repeat(200_000, 30), repeat(10_000, 400)))
	require.Len(t, f.list, 1)
	require.Equal(t, wire.FindingSlowEpisode, f.list[0].Kind)
	require.EqualValues(t, 1, f.list[0].Chunk)
	require.InDelta(t, 6_000_000, f.list[0].DurationUS, 100_000)
}

// TestBurstsAreNoStalls: eight tokens at a time, each 400 ms, is slow and even. A pause with a catch-up is a
// stall all the same.
func TestBurstsAreNoStalls(t *testing.T) {
	var gaps []gap
	for range 40 {
		gaps = append(gaps, gap{400_000, 1})
		gaps = append(gaps, repeat(20, 7)...)
	}
	f, _ := playGaps(gaps)
	require.Empty(t, f.list)
	f, _ = playGaps(concat(repeat(30_000, 50), repeat(3_000_000, 1), repeat(10, 99), repeat(30_000, 50)))
	require.Len(t, f.list, 1)
	require.EqualValues(t, 51, f.list[0].Chunk)
	// an engine that needs half a millisecond a token
	f, _ = playGaps(concat(repeat(500, 400), repeat(700_000, 1), repeat(500, 50)))
	require.Len(t, f.list, 1)
	// a short flow between equal pauses: one finding
	gaps = repeat(20_000, 50)
	for range 12 {
		gaps = append(gaps, repeat(5_000, 9)...)
		gaps = append(gaps, gap{600_000, 1})
	}
	f, _ = playGaps(gaps)
	require.Len(t, f.list, 1)
	require.EqualValues(t, 12, f.list[0].Evidence.Gaps)
}

func TestFlushAtTheEndIsNoSlowBeginning(t *testing.T) {
	f, _ := playGaps(concat(repeat(60_000, 200), repeat(100, 50)))
	require.Empty(t, f.list)
}

func TestEarlyStallIsFoundLate(t *testing.T) {
	for _, at := range []int{0, 1, 2, 3, 6} {
		f, _ := playGaps(concat(repeat(20_000, at), repeat(2_000_000, 1), repeat(20_000, 40)))
		require.Len(t, f.list, 1, "at %d", at)
		require.EqualValues(t, at+1, f.list[0].Chunk)
		require.EqualValues(t, 2_000_000, f.list[0].DurationUS)
	}
}

func TestTokensExplainAGap(t *testing.T) {
	gaps := repeat(20_000, 50)
	gaps = append(gaps, gap{600_000, 30})
	gaps = append(gaps, repeat(20_000, 20)...)
	f, _ := playGaps(gaps)
	require.Empty(t, f.list)
	gaps[50].tokens = 2
	f, _ = playGaps(gaps)
	require.Len(t, f.list, 1)
}

func TestToolPauseIsNoStall(t *testing.T) {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	at := int64(0)
	add := func(k wire.Kind, gapUS int64, n int) {
		for range n {
			at += gapUS
			f.take(tr.Add(stall.Chunk{AtUS: at, Kind: k, Bytes: 3}, nil))
		}
	}
	add(wire.KindContent, 20_000, 30)
	add(wire.KindTool, 20_000, 20)
	f.take(tr.Tick(at+30_000_000, nil))
	at += 30_000_000
	add(wire.KindContent, 20_000, 30)
	require.Empty(t, f.list)
	at += 3_000_000
	add(wire.KindContent, 20_000, 1)
	require.Len(t, f.list, 1)
}

func TestHiddenTimeIsNoStall(t *testing.T) {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	at := int64(0)
	for range 40 {
		at += 20_000
		f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 3}, nil))
	}
	tr.Visibility(at+10_000, true)
	for range 10 { // throttled timers of a hidden tab
		at += 1_000_000
		f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 3}, nil))
	}
	f.take(tr.Tick(at+60_000_000, nil))
	at += 60_000_000
	tr.Visibility(at, false)
	at += 50_000
	f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 3}, nil))
	require.Empty(t, f.list)
	at += 2_000_000
	f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 3}, nil))
	require.Len(t, f.list, 1)
}

func TestOpenStallGrowsAndCloses(t *testing.T) {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	at := int64(0)
	for range 20 {
		at += 30_000
		f.take(tr.Add(stall.Chunk{AtUS: at, Bytes: 3}, nil))
	}
	f.take(tr.Tick(at+250_000, nil))
	require.Empty(t, f.list)
	f.take(tr.Tick(at+400_000, nil))
	require.Len(t, f.list, 1)
	require.Equal(t, stall.GradeHitch, f.list[0].Grade)
	f.take(tr.Add(stall.Chunk{AtUS: at + 500_000, Kind: wire.KindKeepalive}, nil))
	for _, d := range []int64{1_100_000, 2_000_000, 5_200_000} {
		f.take(tr.Tick(at+d, nil))
	}
	require.Equal(t, stall.GradeFreeze, f.list[0].Grade)
	require.True(t, f.list[0].Open)
	require.EqualValues(t, 1, f.list[0].Evidence.Keepalives)
	f.take(tr.Add(stall.Chunk{AtUS: at + 6_000_000, Bytes: 3}, nil))
	require.Len(t, f.list, 1)
	require.False(t, f.list[0].Open)
	require.EqualValues(t, 6_000_000, f.list[0].DurationUS)
	require.EqualValues(t, 20, f.list[0].Chunk)
}

func TestSilenceBeforeDoneIsTakenBack(t *testing.T) {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	for i := range int64(20) {
		f.take(tr.Add(stall.Chunk{AtUS: i * 30_000, Bytes: 3}, nil))
	}
	f.take(tr.Tick(3_000_000, nil))
	require.Len(t, f.list, 1)
	f.take(tr.Finish(stall.End{AtUS: 3_100_000, Done: true}, nil))
	require.Empty(t, f.list)
}

func TestDeadStream(t *testing.T) {
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	var f findings
	for i := range int64(20) {
		f.take(tr.Add(stall.Chunk{AtUS: i * 30_000, Bytes: 3}, nil))
	}
	f.take(tr.Finish(stall.End{AtUS: 19*30_000 + 4_000_000}, nil))
	require.Len(t, f.of(wire.FindingDeadStream), 1)
	require.Empty(t, f.of(wire.FindingStall), "no chunk ended the silence: the dead stream tells it")
	require.EqualValues(t, 19, f.of(wire.FindingDeadStream)[0].Chunk)
	require.EqualValues(t, 4_000_000, f.of(wire.FindingDeadStream)[0].DurationUS)

	// Nor is how long it takes until somebody's leaving is seen; a freeze is one all the same.
	for _, c := range []struct {
		us     int64
		stalls int
	}{{2_000_000, 0}, {6_000_000, 1}} {
		tr, f := stall.New(&cfg), findings{}
		for i := range int64(20) {
			f.take(tr.Add(stall.Chunk{AtUS: i * 30_000, Bytes: 3}, nil))
		}
		f.take(tr.Finish(stall.End{AtUS: 19*30_000 + c.us, Aborted: true}, nil))
		require.Len(t, f.of(wire.FindingStall), c.stalls, "%d", c.us)
		require.Empty(t, f.of(wire.FindingDeadStream))
	}
}

// TestAgainstNaiveOracle compares single gaps with the definition, computed from all gaps before each.
func TestAgainstNaiveOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(1_000, 400_000).Draw(t, "base")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		gaps := noisy(r, float64(base), 0.3, rapid.IntRange(20, 200).Draw(t, "n"))
		for range rapid.IntRange(0, 4).Draw(t, "stalls") {
			gaps[r.IntN(len(gaps))].us = rapid.Int64Range(100_000, 9_000_000).Draw(t, "us")
		}
		f, _ := playGaps(gaps)
		var got []int64
		for _, s := range f.of(wire.FindingStall) {
			require.Equal(t, gradeOf(s.Evidence.LongestUS), s.Grade)
			require.GreaterOrEqual(t, s.DurationUS, s.Evidence.LongestUS)
			got = append(got, s.Chunk, s.Evidence.LastChunk)
		}
		in := func(chunk int64) bool {
			for i := 0; i < len(got); i += 2 {
				if chunk >= got[i] && chunk <= got[i+1] {
					return true
				}
			}
			for _, s := range f.of(wire.FindingSlowEpisode) {
				if chunk >= s.Chunk && chunk <= s.Evidence.LastChunk {
					return true
				}
			}
			return false
		}
		for i := 8; i < len(gaps); i++ {
			m := float64(lowerMedian(gaps[:i]))
			ratio := float64(gaps[i].us) / m
			switch {
			case gaps[i].us >= 300_000 && ratio >= 5.8:
				require.True(t, in(int64(i+1)), "gap %d of %d µs, median %v", i, gaps[i].us, m)
			case gaps[i].us < 300_000 || ratio < 4.3:
				for k := 0; k < len(got); k += 2 {
					require.NotEqual(t, int64(i+1), got[k], "gap %d of %d µs, median %v", i, gaps[i].us, m)
				}
			}
		}
	})
}

func gradeOf(us int64) string {
	switch {
	case us >= 5_000_000:
		return stall.GradeFreeze
	case us >= 1_000_000:
		return stall.GradeStall
	}
	return stall.GradeHitch
}

func lowerMedian(g []gap) int64 {
	v := make([]int64, len(g))
	for i := range g {
		v[i] = g[i].us
	}
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return v[(len(v)-1)/2]
}

// TestMedianStaysNear compares the running median with the exact one.
func TestMedianStaysNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		gaps := noisy(r, float64(rapid.Int64Range(3_000, 3_000_000).Draw(t, "base")), 0.2, rapid.IntRange(8, 500).Draw(t, "n"))
		_, tr := playGaps(gaps)
		want := float64(lowerMedian(gaps))
		require.InEpsilon(t, want, float64(tr.MedianUS()), 0.2)
	})
}

// TestSimulatedTraffic scores workload W: lognormal gaps of 30 ms, a stall of 1.2 to 8 s in some streams.
func TestSimulatedTraffic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var hit, miss, falseAlarm int
	for range 4000 {
		gaps := noisy(r, 30_000, 0.5, 199)
		at := -1
		if r.IntN(4) == 0 {
			at = r.IntN(len(gaps))
			gaps[at].us = int64(1_200_000 + r.IntN(6_800_000))
		}
		f, _ := playGaps(gaps)
		found := false
		for _, s := range f.list {
			if s.Kind == wire.FindingStall && s.Chunk == int64(at+1) {
				found = true
			} else {
				falseAlarm++
			}
		}
		switch {
		case at >= 0 && found:
			hit++
		case at >= 0:
			miss++
		}
	}
	t.Logf("found %d, missed %d, false %d", hit, miss, falseAlarm)
	require.GreaterOrEqual(t, float64(hit), 0.99*float64(hit+miss))
	require.LessOrEqual(t, float64(falseAlarm), 0.01*float64(hit))
}

// TestSimulatedSlowEpisodes scores falls of pace below every floor.
func TestSimulatedSlowEpisodes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var hit, miss, falseAlarm, startOff int
	for range 2000 {
		base := 4_000 + r.Float64()*16_000
		sigma := 0.1 + 0.4*r.Float64()
		before, n := 30+r.IntN(300), 25+r.IntN(60)
		factor := 8 + r.Float64()*28
		slow := min(base*factor, 200_000)
		var gaps []gap
		is := r.IntN(2) == 0 && slow >= 60_000
		if is {
			gaps = concat(noisy(r, base, sigma, before), noisy(r, slow, min(sigma, 0.2), n), noisy(r, base, sigma, r.IntN(200)))
		} else {
			gaps = noisy(r, base, sigma, before+n)
		}
		f, _ := playGaps(gaps)
		got := f.of(wire.FindingSlowEpisode)
		falseAlarm += len(f.list) - min(len(got), 1)
		switch {
		case !is:
			falseAlarm += len(got)
		case len(got) == 0:
			miss++
		default:
			hit++
			if d := got[0].Chunk - int64(before+1); d > 1 || d < -1 {
				startOff++
			}
		}
	}
	t.Logf("found %d, missed %d, false %d, start more than a chunk off %d", hit, miss, falseAlarm, startOff)
	require.GreaterOrEqual(t, float64(hit), 0.99*float64(hit+miss))
	require.LessOrEqual(t, float64(falseAlarm), 0.01*float64(hit))
	require.LessOrEqual(t, float64(startOff), 0.05*float64(hit))
}
