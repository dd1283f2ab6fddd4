package clock_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

// The uncertainty is at most half of the best round trip at any instant, the offset within what causality leaves, and more
// requests never make it greater.
func TestUncertaintyIsAtMostHalfTheBestRoundTrip(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		x := w.start + rapid.Int64Range(-3_600_000_000, 3*3_600_000_000).Draw(t, "asked")
		var requests []clock.Bounds
		last := int64(math.MaxInt64 / 2)
		for _, o := range w.observations {
			requests = append(requests, o.Bounds)
			e, ok := cfg.Estimate(requests, x)
			if !ok {
				continue
			}
			require.GreaterOrEqual(t, e.Offset, e.Lo-1)
			require.LessOrEqual(t, e.Offset, e.Hi+1)
			require.LessOrEqual(t, e.Uncertainty, last+w.grain+1) // the rate by which round trips are measured gets better too
			last = e.Uncertainty
		}
		if last == math.MaxInt64/2 || w.bestRTT == math.MaxInt64 {
			return
		}
		require.LessOrEqual(t, last, (w.bestRTT+1)/2)
		again, ok := cfg.Estimate(shuffled(requests), x)
		require.True(t, ok)
		require.Equal(t, last, again.Uncertainty)
	})
}

// Two dozen requests in an hour, on delays of a broadband line that change by a factor of four, clocks that drift by
// 100 ppm: the offset at each request is right within what is stated.
func TestDriftingSession(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	wrong, all := 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		theta := func(x int64) int64 { return 47*minute + x/10_000 }
		var obs []clock.Observation
		best := int64(math.MaxInt64)
		for k := range int64(24) {
			o := clock.Observation{ID: string(rune('a' + k)), Start: k*150_000_000 + r.Int64N(20_000_000)}
			up, down := 20_000+r.Int64N(60_000), int64(math.MaxInt64)
			o.Sent(o.Start-up+theta(o.Start-up), o.Start)
			for i := range int64(40) {
				x, d := o.Start+300_000+i*30_000, 15_000+r.Int64N(45_000)
				o.Received(x, x+d+theta(x+d))
				down = min(down, d)
			}
			best = min(best, up+down)
			obs = append(obs, o)
		}
		s := clock.Align(obs, cfg)
		require.Empty(t, s.Breaks)
		for _, o := range obs {
			e, ok := s.At(o.ID, o.Start)
			require.True(t, ok)
			require.LessOrEqual(t, e.Lo, theta(o.Start))
			require.GreaterOrEqual(t, e.Hi, theta(o.Start))
			require.LessOrEqual(t, e.Uncertainty, best/2+25) // 300 ms at 100 ppm are in the round trip that clocks measure
			require.InDelta(t, 100e-6, e.Rate, 30e-6)
			if d := e.Offset - theta(o.Start); d > e.Uncertainty || d < -e.Uncertainty {
				wrong++
			}
			all++
		}
	}
	// The stated uncertainty is no hard bound: Lo and Hi are.
	require.LessOrEqual(t, wrong, all/500, "of %d", all)
}
