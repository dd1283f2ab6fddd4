package stall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// A stream that begins slow is judged by its pace in tokens, also where a chunk carries several: 24 gaps of 75 ms, then 10 ms.
func TestSlowBeginningWithSeveralTokensAChunk(t *testing.T) {
	for _, tokens := range []uint32{0, 1, 3} {
		cfg := stall.NewDefaultConfig()
		tr := stall.New(&cfg)
		var evs []stall.Event
		at := int64(200_000)
		for i := range 140 {
			evs = tr.Add(stall.Chunk{AtUS: at, Kind: wire.KindContent, Bytes: 12, Tokens: tokens}, evs)
			if i < 24 {
				at += 75_000
			} else {
				at += 10_000
			}
		}
		evs = tr.Finish(stall.End{AtUS: at, Done: true}, evs)
		require.Len(t, evs, 1, "%d tokens a chunk", tokens)
		f := evs[0].Finding
		require.Equal(t, wire.FindingSlowEpisode, f.Kind)
		require.EqualValues(t, 1, f.Chunk)
		require.Equal(t, int64(200_000), f.StartUS)
		require.InDelta(t, 24*75_000, f.DurationUS, 100_000)
		n := max(1, int64(tokens))
		require.InDelta(t, 75_000/n, f.Evidence.PaceUS, float64(4_000/n))
		require.InDelta(t, 10_000/n, f.Evidence.BaselineUS, float64(500/n))
	}
}
