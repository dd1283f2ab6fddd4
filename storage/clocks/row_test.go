package clocks_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/clock"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/table"
)

const start = int64(1_700_000_000_000_000)

func TestBoundsGoThereAndBack(t *testing.T) {
	r := clocks.Row{StartedAt: table.Micros(start)}
	want := clock.Bounds{
		Lower: []clock.Point{{At: start, Theta: 2_820_000_000_000}},
		Upper: []clock.Point{{At: start + 500_000, Theta: 2_820_000_030_000}, {At: start + 90_000_000_000, Theta: 2_820_000_020_000}},
	}
	r.SetBounds(want)
	require.Equal(t, want, r.Bounds())

	one := clock.Bounds{Upper: want.Upper}
	r.SetBounds(one)
	require.Equal(t, one, r.Bounds())
}

func TestPointsThatDoNotFitAreLeftOut(t *testing.T) {
	r := clocks.Row{StartedAt: table.Micros(start)}
	r.SetBounds(clock.Bounds{
		Lower: []clock.Point{{At: start, Theta: 0}, {At: start - 1, Theta: 5}},
		Upper: []clock.Point{{At: start, Theta: math.MaxInt32 + 1}, {At: start, Theta: math.MaxInt32}},
	})
	require.Equal(t, clock.Bounds{
		Lower: []clock.Point{{At: start, Theta: 0}}, Upper: []clock.Point{{At: start, Theta: math.MaxInt32}},
	}, r.Bounds())
}

func TestSameLeavesOutTheVersion(t *testing.T) {
	a := clocks.Row{RequestID: "r", Version: 1}
	b := clocks.Row{RequestID: "r", Version: 2}
	require.True(t, a.Same(&b))
	b.WallUS = table.Some(int64(3))
	require.False(t, a.Same(&b))
}
