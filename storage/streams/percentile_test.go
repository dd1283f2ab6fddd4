package streams

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPercentilesAreThoseOfSortedValues(t *testing.T) {
	check := func(t require.TestingT, v []uint32) {
		sorted := slices.Sorted(slices.Values(v))
		p50, p99 := percentiles(slices.Clone(v))
		require.Equal(t, sorted[int(math.Ceil(0.50*float64(len(v))))-1], p50)
		require.Equal(t, sorted[(len(v)*99+99)/100-1], p99)
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]uint32{1, 3, 100, math.MaxUint32}).Draw(t, "most")
		check(t, rapid.SliceOfN(rapid.Uint32Range(0, most), 1, 500).Draw(t, "values"))
	})
	for _, n := range []int{1, 2, 13, 14, 100, 5000} {
		up, down, same := make([]uint32, n), make([]uint32, n), make([]uint32, n)
		for i := range n {
			up[i], down[i] = uint32(i), uint32(n-i)
		}
		check(t, up)
		check(t, down)
		check(t, same)
		check(t, slices.Concat(up, down, same))
	}
}

func BenchmarkPercentiles(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	v := make([]uint32, 199)
	for i := range v {
		v[i] = uint32(30_000 * math.Exp(0.5*rnd.NormFloat64()))
	}
	buf := make([]uint32, len(v))
	b.Run("select", func(b *testing.B) {
		for b.Loop() {
			copy(buf, v)
			percentiles(buf)
		}
	})
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			copy(buf, v)
			slices.Sort(buf)
		}
	})
}
