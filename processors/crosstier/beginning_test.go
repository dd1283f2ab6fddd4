package crosstier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

// steady makes a server's stream of 200 chunks of 6 bytes.
func steady(ttftUS, gapUS int64) *wire.Stream {
	s := &wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "e", Final: true, StartedAt: base, FinishReason: "stop"}
	for at := ttftUS; s.Chunks.Len() < 200; at += gapUS {
		s.Chunks.T, s.Chunks.Bytes = append(s.Chunks.T, at), append(s.Chunks.Bytes, 6)
	}
	s.EndUS = wire.Some(s.Chunks.T[199] + 10_000)
	return s
}

// A hop may hold back the beginning only: flat, then all that was held at once, then as it is sent. A few chunks, or less than a
// second, are no fault.
func TestBeginningHeldBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		gapUS int64
		held  int
		want  []string
	}{
		{"forty chunks for 2.4 s", 60_000, 40, []string{"buffering"}},
		{"twelve chunks for 0.7 s", 60_000, 12, []string{}},
		{"eight chunks for 1.4 s", 200_000, 8, []string{"buffering"}},
		{"seven chunks for 1.2 s", 200_000, 7, []string{}},
		{"seven chunks for 2.4 s", 400_000, 7, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steady(200_000, c.gapUS)
			fs := derive(request(s, page(s, func(i int) int64 { return up + max(s.Chunks.T[i], s.Chunks.T[c.held-1]) + down })))
			require.Equal(t, c.want, kinds(fs))
			if len(fs) > 0 {
				m := numbers(t, &fs[0])
				require.Equal(t, "start", m["driver"])
				require.EqualValues(t, 1, m["releases"])
				require.EqualValues(t, []any{float64(c.held)}, m["chunks_per_release"])
			}
		})
	}
}

// A page whose own thread was busy when the answer began could not read it earlier, however long it had waited for it.
func TestBusyPageAtTheBeginning(t *testing.T) {
	const open, held = 3_000_000, 40
	for _, ttft := range []int64{200_000, 1_000_000, 3_000_000, 30_000_000} {
		s := steady(ttft, 60_000)
		free := s.Chunks.T[held-1]
		late := func(i int) int64 { return up + max(s.Chunks.T[i], free) + down }
		busy, idle := page(s, late), page(s, late)
		busy.LongFrames = []wire.LongFrame{{T: open + up + ttft + down, Dur: free - ttft}}
		idle.LongFrames = []wire.LongFrame{{T: open, Dur: ttft}} // it was free again when the answer came
		require.NotContains(t, kinds(derive(request(s, busy))), "buffering", "first chunk after %d µs", ttft)
		require.Contains(t, kinds(derive(request(s, idle))), "buffering", "first chunk after %d µs", ttft)
	}
}

// The same when the page waited for the engine in the middle of the answer.
func TestBusyPageAfterAPauseOfTheEngine(t *testing.T) {
	const open = 3_000_000
	s := steady(200_000, 60_000)
	late := make([]int64, s.Chunks.Len())
	c := wire.Client{}
	for from := 0; from < len(late); from += 50 { // each fifty chunks come after a pause of 10 s
		to := from + 49
		for i := from; i < len(late) && from > 0; i++ {
			s.Chunks.T[i] += 10_000_000
		}
		for i := from; i <= to; i++ {
			late[i] = s.Chunks.T[to]
		}
		c.LongFrames = append(c.LongFrames, wire.LongFrame{T: open + up + s.Chunks.T[from] + down, Dur: s.Chunks.T[to] - s.Chunks.T[from]})
	}
	s.EndUS = wire.Some(s.Chunks.T[len(late)-1] + 10_000)
	p := page(s, func(i int) int64 { return up + late[i] + down })
	require.Contains(t, kinds(derive(request(s, p))), "buffering", "the page was free")
	p.LongFrames = c.LongFrames
	require.NotContains(t, kinds(derive(request(s, p))), "buffering")
}
