package clock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

const minute = int64(60_000_000)

// even returns requests a minute apart, each with a round trip of 20 ms, of clocks that differ by theta.
func even(n int, theta func(k int) int64) []clock.Observation {
	out := make([]clock.Observation, n)
	for k := range out {
		s := 1_700_000_000_000_000 + int64(k)*minute
		out[k] = clock.Observation{ID: fmt.Sprintf("r%02d", k), Start: s}
		out[k].Sent(s+theta(k)-10_000, s)
		out[k].Received(s, s+theta(k)+10_000)
	}
	return out
}

func TestSessionIsSplitAtAStep(t *testing.T) {
	s := clock.Align(even(20, func(k int) int64 {
		theta := int64(k) * 6000 // 100 ppm
		if k >= 7 {
			theta -= 5_000_000
		}
		return theta
	}), clock.NewDefaultConfig())
	require.Empty(t, s.Strays)
	require.Len(t, s.Breaks, 1)
	b := s.Breaks[0]
	require.Equal(t, "r06", b.Before)
	require.Equal(t, "r07", b.After)
	require.True(t, b.Known)
	step, uncertainty := b.Step()
	require.InDelta(t, -5_000_000, step, float64(uncertainty))
	require.Less(t, uncertainty, int64(40_000))
	for k := range 20 {
		i, ok := s.At(fmt.Sprintf("r%02d", k), 1_700_000_000_000_000+int64(k)*minute)
		require.True(t, ok)
		want := int64(k) * 6000
		if k >= 7 {
			want -= 5_000_000
		}
		require.LessOrEqual(t, i.Lo, want)
		require.GreaterOrEqual(t, i.Hi, want)
		require.LessOrEqual(t, i.Hi-i.Lo, int64(20_000))
	}
}

func TestAWrongJoinStaysAlone(t *testing.T) {
	s := clock.Align(even(9, func(k int) int64 {
		if k == 4 {
			return 3_000_000
		}
		return 1000
	}), clock.NewDefaultConfig())
	require.Empty(t, s.Breaks)
	require.Len(t, s.Strays, 1)
	require.Equal(t, "r04", s.Strays[0].After)
	i, ok := s.At("r04", 1_700_000_000_000_000+4*minute)
	require.True(t, ok)
	require.Equal(t, int64(2_990_000), i.Lo)
	i, ok = s.At("r05", 1_700_000_000_000_000+5*minute)
	require.True(t, ok)
	require.Less(t, i.Hi, int64(20_000))
}

func TestABrokenRequestCountsForNothing(t *testing.T) {
	all := even(3, func(int) int64 { return 0 })
	all[1].Received(all[1].Start, all[1].Start-50_000)
	s := clock.Align(all, clock.NewDefaultConfig())
	require.Equal(t, []string{"r01"}, s.Broken)
	require.Empty(t, s.Breaks)
	_, ok := s.At("r01", all[1].Start)
	require.False(t, ok)
	_, ok = s.At("r02", all[2].Start)
	require.True(t, ok)
	_, ok = s.At("nobody", all[2].Start)
	require.False(t, ok)
	require.Equal(t, "r02", s.Next("r00"))
	require.Empty(t, s.Next("r02"))
	require.Empty(t, s.Next("nobody"))
}

// A simulated session without a step has no break, the truth lies within at each request's start, and neither order nor
// what is asked first matters.
func TestSessionProperty(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		s := clock.Align(w.observations, cfg)
		require.Empty(t, s.Breaks)
		require.Empty(t, s.Strays)
		require.Empty(t, s.Broken)
		again := clock.Align(shuffled(w.observations), cfg)
		for _, o := range w.observations {
			i, ok := s.At(o.ID, o.Start)
			j, same := again.At(o.ID, o.Start)
			require.Equal(t, ok, same)
			require.Equal(t, i, j)
			if !ok {
				continue
			}
			require.LessOrEqual(t, float64(i.Lo-w.theta), w.apart(o.Start)+0.02)
			require.GreaterOrEqual(t, float64(i.Hi-w.theta), w.apart(o.Start)-0.02)
			if own, ok := cfg.At(o.Bounds, o.Start); ok {
				require.GreaterOrEqual(t, i.Lo, own.Lo-1) // where bounds touch, rounding decides
				require.LessOrEqual(t, i.Hi, own.Hi+1)
			}
		}
	})
}

func BenchmarkSessionOf20(b *testing.B)  { benchmark(b, 20) }
func BenchmarkSessionOf256(b *testing.B) { benchmark(b, 256) }

func benchmark(b *testing.B, n int) {
	all := even(n, func(k int) int64 { return int64(k) * 6000 })
	cfg := clock.NewDefaultConfig()
	b.ReportAllocs()
	for b.Loop() {
		s := clock.Align(all, cfg)
		if _, ok := s.At("r03", all[3].Start); !ok {
			b.Fatal("no bounds")
		}
	}
}

func BenchmarkSessionOf256WithAStep(b *testing.B) {
	all := even(256, func(k int) int64 { return int64(k/100) * 9_000_000 })
	cfg := clock.NewDefaultConfig()
	for b.Loop() {
		clock.Align(all, cfg)
	}
}
