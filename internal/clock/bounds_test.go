package clock_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

func TestPositionsAreReceivedAfterTheyWereSent(t *testing.T) {
	var b clock.Bounds
	b.Positions(
		clock.Curve{T: []int64{0, 100, 200, 300}, Cum: []int64{0, 5, 5, 9}},
		clock.Curve{T: []int64{1110, 1150}, Cum: []int64{4, 9}})
	require.Equal(t, clock.Bounds{Upper: []clock.Point{{At: 100, Theta: 1050}, {At: 300, Theta: 850}}}, b)
}

func TestPruneKeepsWhatMatters(t *testing.T) {
	b := clock.Bounds{
		Lower: []clock.Point{{At: 0, Theta: -10}, {At: 1_000_000, Theta: -500}, {At: 0, Theta: -20}},
		Upper: []clock.Point{{At: 0, Theta: 10}, {At: 1_000_000, Theta: 5}, {At: 500_000, Theta: 9}, {At: 2_000_000, Theta: 4000}},
	}
	require.Equal(t, clock.Bounds{
		Lower: []clock.Point{{At: 0, Theta: -10}},
		Upper: []clock.Point{{At: 0, Theta: 10}, {At: 1_000_000, Theta: 5}},
	}, b.Prune(200e-6, 8))
	require.Len(t, b.Prune(200e-6, 1).Upper, 1)
}

// Pruning loses nothing, or no more than asked for, and does not depend on the order.
func TestPruneProperty(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var all clock.Bounds
		for _, o := range w.observations {
			all.Add(o.Bounds)
		}
		if !all.Closed() {
			return
		}
		x := w.observations[0].Start
		want, ok := cfg.At(all, x)
		require.True(t, ok)
		pruned := all.Prune(cfg.MaxRate+cfg.Wander, 1<<20)
		got, ok := cfg.At(pruned, x)
		require.True(t, ok)
		require.LessOrEqual(t, got.Lo, want.Lo)
		require.GreaterOrEqual(t, got.Hi, want.Hi)
		few, ok := cfg.At(all.Prune(cfg.MaxRate+cfg.Wander, 3), x)
		require.True(t, ok)
		require.LessOrEqual(t, few.Lo, want.Lo)
		require.GreaterOrEqual(t, few.Hi, want.Hi)

		mixed := clock.Bounds{Lower: shuffled(all.Lower), Upper: shuffled(all.Upper)}
		require.Equal(t, pruned, mixed.Prune(cfg.MaxRate+cfg.Wander, 1<<20))
	})
}

func shuffled[T any](v []T) []T {
	out := make([]T, len(v))
	for i, k := range rand.New(rand.NewPCG(1, uint64(len(v)))).Perm(len(v)) {
		out[k] = v[i]
	}
	return out
}
