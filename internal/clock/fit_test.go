package clock_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

func TestOneRequestIsBoundedByItsOwnRoundTrip(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	var b clock.Bounds
	b.Sent(990, 1000)      // 10 µs up, clocks alike
	b.Received(1000, 1016) // 16 µs down
	i, ok := cfg.Estimate([]clock.Bounds{b}, 1000)
	require.True(t, ok)
	require.Equal(t, int64(3), i.Offset)
	require.Equal(t, int64(13), i.Uncertainty)
	require.Equal(t, int64(26), i.RoundTrip)
	require.InDelta(t, -200e-6, i.RateLo, 1e-12)
	require.InDelta(t, 200e-6, i.RateHi, 1e-12)
}

func TestTwoRequestsGiveTheRate(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	cfg.Wander = 0
	var b clock.Bounds
	const hour = 3_600_000_000
	for x := int64(0); x <= hour; x += hour {
		theta := x / 10_000 // 100 ppm
		b.Sent(x+theta-1000, x)
		b.Received(x, x+theta+1000)
	}
	i, ok := cfg.At(b, hour/2)
	require.True(t, ok)
	require.Equal(t, int64(hour/2/10_000-1000), i.Lo)
	require.Equal(t, int64(hour/2/10_000+1000), i.Hi)
	require.InDelta(t, 100e-6, (i.RateLo+i.RateHi)/2, 1e-9)
	require.InDelta(t, 2000.0/hour, (i.RateHi-i.RateLo)/2, 1e-12)
	// Past the end the lines fan out.
	i, ok = cfg.At(b, 2*hour)
	require.True(t, ok)
	require.Equal(t, int64(2*hour/10_000-3000), i.Lo)
}

func TestContradictionIsNoNumber(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	var b clock.Bounds
	b.Sent(1_005_000, 1_000_000)
	b.Received(1_000_000, 1_003_500) // a byte that came 1.5 ms too early
	_, ok := cfg.At(b, 0)
	require.True(t, ok, "both within 1 ms of the truth")
	i, ok := cfg.At(b, 1_000_000)
	require.True(t, ok)
	require.True(t, i.Slackened)
	b.Received(1_000_000, 1_002_900) // 2.1 ms
	_, ok = cfg.At(b, 1_000_000)
	require.False(t, ok)
	require.True(t, cfg.Empty(b, 1_000_000))
}

func TestOneSideIsNotBounded(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	var up, down clock.Bounds
	up.Sent(1, 2)
	down.Received(1, 2)
	for _, b := range []clock.Bounds{{}, up, down} {
		_, ok := cfg.At(b, 0)
		require.False(t, ok)
		require.False(t, cfg.Empty(b, 0))
	}
}

// Whatever the offset, the rate, the delays and the way a proxy cuts the chunks anew, the true offset lies inside at any
// instant; more requests never widen it, and their order does not matter.
func TestTheTruthLiesWithin(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		x := w.start + rapid.Int64Range(-3_600_000_000, 3*3_600_000_000).Draw(t, "asked")
		var b clock.Bounds
		var last clock.Interval
		known := false
		for _, o := range w.observations {
			b.Add(o.Bounds)
			i, ok := cfg.At(b, x)
			require.Equal(t, b.Closed(), ok)
			if !ok {
				continue
			}
			require.LessOrEqual(t, float64(i.Lo-w.theta), w.apart(x)+0.02, "lower")
			require.GreaterOrEqual(t, float64(i.Hi-w.theta), w.apart(x)-0.02, "upper")
			require.False(t, i.Slackened)
			require.LessOrEqual(t, i.RateLo, i.RateHi+1e-12)
			if known {
				require.GreaterOrEqual(t, i.Lo, last.Lo-1) // where bounds touch, rounding decides
				require.LessOrEqual(t, i.Hi, last.Hi+1)
			}
			last, known = i, true
		}
		if !known {
			return
		}
		again, ok := cfg.At(clock.Bounds{Lower: shuffled(b.Lower), Upper: shuffled(b.Upper)}, x)
		require.True(t, ok)
		require.Equal(t, last, again)
	})
}

// naive finds the least and the greatest value at x by trying the crossing of every two bounds.
func naive(b clock.Bounds, x int64, cfg *clock.Config) (lo, hi float64, ok bool) {
	type line struct{ dx, v float64 } // a + rate·dx = v
	var all []line
	base := b.Lower[0].Theta
	loosen := func(dx float64) float64 { return cfg.Wander * math.Abs(dx) }
	type bound struct {
		line
		sign float64
	}
	var bounds []bound
	for _, p := range b.Lower {
		dx := float64(p.At - x)
		bounds = append(bounds, bound{line{dx, float64(p.Theta-base) - loosen(dx)}, -1})
	}
	for _, p := range b.Upper {
		dx := float64(p.At - x)
		bounds = append(bounds, bound{line{dx, float64(p.Theta-base) + loosen(dx)}, 1})
	}
	for _, p := range bounds {
		all = append(all, p.line)
	}
	fits := func(a, rate float64) bool {
		if math.Abs(rate) > cfg.MaxRate*(1+1e-9) {
			return false
		}
		for _, p := range bounds {
			if p.sign*(a+rate*p.dx-p.v) > 1e-2 {
				return false
			}
		}
		return true
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	try := func(a, rate float64) {
		if fits(a, rate) {
			lo, hi = min(lo, a), max(hi, a)
		}
	}
	for i, p := range all {
		try(p.v-cfg.MaxRate*p.dx, cfg.MaxRate)
		try(p.v+cfg.MaxRate*p.dx, -cfg.MaxRate)
		for _, q := range all[:i] {
			if p.dx != q.dx {
				rate := (p.v - q.v) / (p.dx - q.dx)
				try(p.v-rate*p.dx, rate)
			}
		}
	}
	return lo + float64(base), hi + float64(base), lo <= hi
}

func TestAgainstEveryCrossing(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	cfg.Slack = 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := cfg
		cfg.Wander = rapid.SampledFrom([]float64{0, 0.5e-6, 1e-5}).Draw(t, "wander")
		point := rapid.Custom(func(t *rapid.T) clock.Point {
			return clock.Point{At: rapid.Int64Range(0, 3_600_000_000).Draw(t, "at"), Theta: rapid.Int64Range(-900_000, 900_000).Draw(t, "theta")}
		})
		b := clock.Bounds{Lower: rapid.SliceOfN(point, 1, 8).Draw(t, "lower"), Upper: rapid.SliceOfN(point, 1, 8).Draw(t, "upper")}
		for i := range b.Lower {
			b.Lower[i].Theta -= 700_000
		}
		for i := range b.Upper {
			b.Upper[i].Theta += 700_000
		}
		x := rapid.Int64Range(-3_600_000_000, 7_200_000_000).Draw(t, "asked")
		i, ok := cfg.At(b, x)
		lo, hi, want := naive(b, x, &cfg)
		if !want || !ok {
			// Bounds that touch in a point are decided by the last digit.
			if want != ok {
				require.Less(t, hi-lo, 1.0)
			}
			return
		}
		require.InDelta(t, lo, float64(i.Lo), 1.01)
		require.InDelta(t, hi, float64(i.Hi), 1.01)
		require.LessOrEqual(t, float64(i.Lo), lo+0.02)
		require.GreaterOrEqual(t, float64(i.Hi), hi-0.02)
	})
}

func TestConfigIsChecked(t *testing.T) {
	good := clock.NewDefaultConfig()
	require.NoError(t, good.Validate())
	bad := clock.Config{MaxRate: -1, Wander: 1, Slack: -time.Second}
	err := bad.Validate()
	for _, key := range []string{"max_rate", "wander", "slack", "points"} {
		require.ErrorContains(t, err, key)
	}
}
