package stall_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

func randomChunks(r *rand.Rand, n int) []stall.Chunk {
	out := make([]stall.Chunk, n)
	at := int64(0)
	for i := range out {
		g := int64(r.ExpFloat64() * 40_000)
		if r.IntN(20) == 0 {
			g *= int64(r.IntN(200))
		}
		at += g
		out[i] = stall.Chunk{AtUS: at, Kind: wire.Kind(r.IntN(4)), Bytes: uint32(r.IntN(6)), Tokens: uint32(r.IntN(3))}
	}
	return out
}

// TestHandOver: a stream that moves to another process in the middle gives the same events.
func TestHandOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		chunks := randomChunks(r, 120)
		cut := r.IntN(len(chunks))
		cfg := stall.NewDefaultConfig()
		a, b := stall.New(&cfg), stall.New(&cfg)
		for i, c := range chunks {
			ea, eb := a.Add(c, nil), b.Add(c, nil)
			require.Equal(t, ea, eb)
			if i == cut {
				state, err := b.AppendBinary(nil)
				require.NoError(t, err)
				b = stall.New(&cfg)
				require.NoError(t, b.UnmarshalBinary(state))
				require.Equal(t, a, b)
			}
			if r.IntN(10) == 0 {
				require.Equal(t, a.Tick(c.AtUS+400_000, nil), b.Tick(c.AtUS+400_000, nil))
			}
		}
		e := stall.End{AtUS: chunks[len(chunks)-1].AtUS + 1_000_000}
		require.Equal(t, a.Finish(e, nil), b.Finish(e, nil))
	})
}

func TestStateIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(stall.Tracker{}), uintptr(1024))
	cfg := stall.NewDefaultConfig()
	tr := stall.New(&cfg)
	for _, c := range randomChunks(rand.New(rand.NewPCG(1, 1)), 5000) {
		tr.Add(c, nil)
	}
	b, err := tr.AppendBinary(nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), 600)
	t.Logf("in memory %d B, encoded %d B", unsafe.Sizeof(stall.Tracker{}), len(b))
}

func FuzzUnmarshal(f *testing.F) {
	cfg := stall.NewDefaultConfig()
	for i := range uint64(4) {
		tr := stall.New(&cfg)
		for _, c := range randomChunks(rand.New(rand.NewPCG(i, 1)), int(40*i)) {
			tr.Add(c, nil)
		}
		b, _ := tr.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := stall.New(&cfg)
		if tr.UnmarshalBinary(b) != nil {
			return
		}
		out, err := tr.AppendBinary(nil)
		require.NoError(t, err)
		again := stall.New(&cfg)
		require.NoError(t, again.UnmarshalBinary(out))
		for _, c := range randomChunks(rand.New(rand.NewPCG(9, 9)), 50) { // any accepted state can go on
			tr.Add(c, nil)
			tr.Tick(c.AtUS+1, nil)
		}
		tr.Finish(stall.End{}, nil)
	})
}

// BenchmarkChunk is the cost of a chunk in the reference workload: gaps lognormal, 30 ms, σ 0.5, a stall in one
// of 200 streams of 200 chunks.
func BenchmarkChunk(b *testing.B) {
	cfg := stall.NewDefaultConfig()
	r := rand.New(rand.NewPCG(1, 1))
	gaps := make([]int64, 1<<15)
	for i := range gaps {
		gaps[i] = int64(30_000 * math.Exp(0.5*r.NormFloat64()))
	}
	gaps[1<<14] = 3_000_000
	evs := make([]stall.Event, 0, 4)
	b.ReportAllocs()
	tr := stall.New(&cfg)
	at := int64(0)
	for i := 0; b.Loop(); i++ {
		at += gaps[i&(1<<15-1)]
		evs = tr.Add(stall.Chunk{AtUS: at, Bytes: 4, Tokens: 1}, evs[:0])
	}
}
