package rollups_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/rollups"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
	"github.com/fermata-io/fermata/storage/streams"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const noon = wiretest.Day + 12*3600e6

// generated makes n requests over ten minutes: chunks of several kinds, some in segments, some logged by two emitters.
func generated(r *rand.Rand, n int) []wire.Stream {
	var out []wire.Stream
	for i := range n {
		s := wire.Stream{
			RequestID: fmt.Sprintf("r-%d", i), Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "tap", Final: true,
			StartedAt: noon + r.Int64N(600e6), Target: wire.Target{Model: []string{"m-large", "m-small"}[i%2]}, FinishReason: "stop",
		}
		at := int64(300_000)
		for k := range 2 + r.IntN(200) {
			kind := wire.KindContent
			size := uint32(r.IntN(6))
			switch {
			case k == 1:
				size++ // every stream has content
			case k == 0 || r.IntN(20) == 0:
				kind = wire.KindRole
			}
			s.Chunks.T, s.Chunks.Kind, s.Chunks.Bytes = append(s.Chunks.T, at), append(s.Chunks.Kind, kind), append(s.Chunks.Bytes, size)
			at += 5000 + int64(r.ExpFloat64()*30_000)
		}
		s.EndUS = wire.Some(at)
		if i%3 != 0 {
			out = append(out, s)
		} else {
			half := len(s.Chunks.T) / 2
			a, b := s, s
			a.Final, a.EndUS, a.FinishReason = false, wire.Opt[int64]{}, ""
			a.Chunks = wire.Chunks{T: s.Chunks.T[:half], Kind: s.Chunks.Kind[:half], Bytes: s.Chunks.Bytes[:half]}
			b.Seq, b.Chunks = 1, wire.Chunks{T: s.Chunks.T[half:], Kind: s.Chunks.Kind[half:], Bytes: s.Chunks.Bytes[half:]}
			out = append(out, a, b)
		}
		if i%7 == 0 {
			s.Emitter = "zz-copy" // the same generation, seen by another program
			out = append(out, s)
		}
	}
	return out
}

// exact computes what the rollup stands for from the joined requests themselves.
func exact(ss []wire.Stream) map[string][]int64 {
	by := map[string]requests.Records{}
	for _, s := range ss {
		rec := by[s.RequestID]
		rec.Streams = append(rec.Streams, s)
		by[s.RequestID] = rec
	}
	gaps := map[string][]int64{}
	for id, rec := range by {
		for _, a := range requests.Assemble("default", id, rec).Attempts {
			last := int64(-1)
			c := a.Server.Chunks
			for i, at := range c.TUS {
				k, _ := wire.ParseKind(c.Kind[i])
				if !k.ContentBearing() || c.Bytes[i] == 0 {
					continue
				}
				if last >= 0 {
					gaps[*a.Target.Model] = append(gaps[*a.Target.Model], at-last)
				}
				last = at
			}
		}
	}
	for _, g := range gaps {
		slices.Sort(g)
	}
	return gaps
}

func TestICLIsThatOfTheJoinedRequestsUnderReDelivery(t *testing.T) {
	db := storagetest.New(t)
	store := rollups.New(db.Conn)
	r := rand.New(rand.NewPCG(1, 2))
	all := generated(r, 400)
	insert := func(ss []wire.Stream) {
		b := streams.Table.NewBatch()
		for i := range ss {
			var row streams.Row
			streams.FromWire(&ss[i], &row)
			b.Append(&row)
		}
		db.Insert(t, b)
	}
	clock := rollups.Clock(db.Conn, 1, 0, nil)
	from := int64(0)
	refresh := func() int {
		t.Helper()
		m, err := clock.Settled(t.Context())
		require.NoError(t, err)
		n, err := store.Refresh(t.Context(), from, m)
		require.NoError(t, err)
		from = m.Safe
		return n
	}
	check := func(ss []wire.Stream) {
		t.Helper()
		got, err := store.ICLByModel(t.Context(), "default", time.UnixMicro(noon), time.UnixMicro(noon+700e6))
		require.NoError(t, err)
		want := exact(ss)
		require.Len(t, got, len(want))
		for _, g := range got {
			w := want[g.Model]
			at := func(p int) float64 { return float64(w[(len(w)*p+99)/100-1]) }
			require.Equal(t, uint32(w[len(w)-1]), g.MaxGapUS)
			require.InEpsilon(t, at(50), g.P50, 0.01)
			require.InEpsilon(t, at(90), g.P90, 0.01)
			require.InEpsilon(t, at(99), g.P99, 0.01)
			require.Equal(t, uint64(len(w)), g.Chunks-g.Streams, "one gap fewer than chunks in each stream")
		}
	}

	early := all[:len(all)/2]
	insert(early)
	require.GreaterOrEqual(t, refresh(), 10)
	check(early)

	// The rest comes late, and everything a second and third time.
	insert(all[len(all)/2:])
	insert(all)
	insert(all)
	require.Positive(t, refresh())
	check(all)
	require.Zero(t, refresh(), "nothing new, nothing computed")

	other, err := store.ICLByModel(t.Context(), "acme", time.UnixMicro(noon), time.UnixMicro(noon+700e6))
	require.NoError(t, err)
	require.Empty(t, other)
}
