package texture_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/texture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stream(r *rand.Rand, n int, paceUS, sigma float64, tokens int) texture.Profile {
	var c wire.Chunks
	at := int64(300_000 * math.Exp(0.3*r.NormFloat64()))
	for range n {
		c.T = append(c.T, at)
		c.Bytes = append(c.Bytes, 4)
		c.Tokens = append(c.Tokens, uint32(tokens))
		at += int64(paceUS * math.Exp(sigma*r.NormFloat64()))
	}
	return texture.ProfileOf(&c)
}

func group(r *rand.Rand, streams int, make func() texture.Profile) []texture.Profile {
	out := []texture.Profile{}
	for range streams {
		out = append(out, make())
	}
	return out
}

func shifted(s []texture.Shift) map[texture.Quality]texture.Shift {
	out := map[texture.Quality]texture.Shift{}
	for _, x := range s {
		if x.Shifted {
			out[x.Quality] = x
		}
	}
	return out
}

func TestNoShiftWhereThereIsNone(t *testing.T) {
	cfg := texture.NewDefaultConfig()
	require.NoError(t, cfg.Validate())
	false_ := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		make := func() texture.Profile { return stream(r, 60+r.IntN(200), 30_000, 0.5, 1) }
		false_ += len(shifted(texture.Compare(cfg, group(r, 40, make), group(r, 40, make))))
	}
	require.LessOrEqual(t, false_, 2)
}

func TestShifts(t *testing.T) {
	cfg := texture.NewDefaultConfig()
	r := rand.New(rand.NewPCG(1, 2))
	base := func() texture.Profile { return stream(r, 60+r.IntN(200), 30_000, 0.3, 1) }
	before := group(r, 40, base)

	got := shifted(texture.Compare(cfg, before, group(r, 40, func() texture.Profile { return stream(r, 60+r.IntN(200), 45_000, 0.3, 1) })))
	require.Contains(t, got, texture.Pace)
	require.InDelta(t, 1.5, got[texture.Pace].Ratio, 0.1)
	require.Less(t, got[texture.Pace].RatioLow, got[texture.Pace].Ratio)
	require.Greater(t, got[texture.Pace].RatioHigh, got[texture.Pace].Ratio)
	require.NotContains(t, got, texture.Chunks)

	// the same median, another spread
	got = shifted(texture.Compare(cfg, before, group(r, 40, func() texture.Profile { return stream(r, 60+r.IntN(200), 30_000, 1.1, 1) })))
	require.Contains(t, got, texture.Roughness)
	require.NotContains(t, got, texture.Chunks)

	// means agree, shapes don't: half of the streams twice as fast, half twice as slow
	half := 0
	got = shifted(texture.Compare(cfg, before, group(r, 60, func() texture.Profile {
		half++
		return stream(r, 60+r.IntN(200), 30_000*math.Pow(2, float64(half%2*2-1)), 0.3, 1)
	})))
	require.Contains(t, got, texture.Pace)
	require.Less(t, math.Abs(got[texture.Pace].Delta), 0.33)
}

func TestTooFewIsUnknown(t *testing.T) {
	cfg := texture.NewDefaultConfig()
	r := rand.New(rand.NewPCG(1, 3))
	for _, s := range texture.Compare(cfg, group(r, 3, func() texture.Profile { return stream(r, 100, 30_000, 0.3, 1) }), nil) {
		require.False(t, s.Known)
		require.False(t, s.Shifted)
	}
}

// TestTextureCases plays the reports of upgrades: an application that collects the whole answer (U03), answers
// that end after three tokens (U04), and one loop in 45 (U07).
func TestTextureCases(t *testing.T) {
	list, err := corpus.LoadCases("../testdata/cases.jsonl")
	require.NoError(t, err)
	cfg := texture.NewDefaultConfig()
	for i := range list {
		if list[i].ID != "U04" {
			continue
		}
		var old, fresh []texture.Profile
		for k := range list[i].Streams {
			s := &list[i].Streams[k]
			if p := texture.ProfileOf(&s.C); p[texture.Chunks] <= 3 {
				fresh = append(fresh, p)
			} else {
				old = append(old, p)
			}
		}
		require.Len(t, old, 12)
		require.Len(t, fresh, 12)
		got := shifted(texture.Compare(cfg, old, fresh))
		require.Contains(t, got, texture.Chunks)
		require.InDelta(t, 210, got[texture.Chunks].MedianBefore, 30)
		require.EqualValues(t, 3, got[texture.Chunks].MedianAfter)
		require.NotContains(t, got, texture.Pace)
	}
	require.False(t, texture.CompareRates(0.01, 0, 45, 1, 45).Shifted)
	require.True(t, texture.CompareRates(0.01, 0, 45, 9, 45).Shifted)
}

// TestFisherAgainstEnumeration: the exact test against counting all ways to deal the hits.
func TestFisherAgainstEnumeration(t *testing.T) {
	choose := func(n, k int) float64 {
		c := 1.0
		for i := range k {
			c = c * float64(n-i) / float64(i+1)
		}
		return c
	}
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 14).Draw(t, "n"), rapid.IntRange(1, 14).Draw(t, "m")
		a, c := rapid.IntRange(0, n).Draw(t, "a"), rapid.IntRange(0, m).Draw(t, "c")
		k := a + c
		here := choose(n, a) * choose(m, c)
		sum := 0.0
		for x := max(0, k-m); x <= min(n, k); x++ {
			if w := choose(n, x) * choose(m, k-x); w <= here*(1+1e-9) {
				sum += w
			}
		}
		require.InDelta(t, min(1, sum/choose(n+m, k)), texture.CompareRates(0.01, a, n, c, m).P, 1e-9)
	})
}
