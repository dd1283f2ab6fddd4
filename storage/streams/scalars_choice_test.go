package streams_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/streams"
)

// The gaps of answers that run side by side are their own.
func TestGapsOfChoices(t *testing.T) {
	s := wire.Stream{Chunks: wire.Chunks{
		T:      []int64{0, 0, 20, 20, 40, 60, 80, 80},
		Choice: []uint16{0, 1, 0, 1, 0, 0, 0, 1},
	}}
	sc := streams.ComputeScalars(&s)
	require.EqualValues(t, 60, sc.MaxGapUS)
	require.EqualValues(t, 8, sc.NContent)
}
