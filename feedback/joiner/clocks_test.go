package joiner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/findings"
)

// slept makes two requests of one page, whose clock lost five minutes between them.
func slept() (before, after corpus.Records) {
	const sec = int64(1_000_000)
	start := time.Now().Add(-20 * time.Minute).UnixMicro()
	for k, out := range []*corpus.Records{&before, &after} {
		at := start + int64(k)*600*sec
		id := fmt.Sprintf("slept-%d", k)
		s := wire.Stream{
			RequestID: id, Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "vllm", StartedAt: at, Final: true, FinishReason: "stop",
			EndUS: wire.Some(3 * sec),
		}
		c := wire.Client{RequestID: id, Tenant: "default", SessionID: "s", TimeOrigin: start - 60*sec, Final: true, ReceivedAt: at + 5*sec}
		page := func(x int64) int64 { return x - c.TimeOrigin - int64(k)*300*sec }
		c.Submit, c.RequestSent = wire.Some(page(at-21_000)), wire.Some(page(at-20_000))
		for i := range int64(20) {
			s.Chunks.T, s.Chunks.Bytes = append(s.Chunks.T, 100_000+i*50_000), append(s.Chunks.Bytes, 4)
			c.Recv.T, c.Recv.Bytes = append(c.Recv.T, page(at+100_000+i*50_000+20_000)), append(c.Recv.Bytes, 4)
		}
		c.Done = wire.Some(page(at + 3*sec))
		out.Streams, out.Clients = []wire.Stream{s}, []wire.Client{c}
	}
	return before, after
}

func conflicts(all []findings.Finding) map[string]int {
	out := kinds(all)
	for k := range out {
		if k != "slept-0 clock_conflict" && k != "slept-1 clock_conflict" {
			delete(out, k)
		}
	}
	return out
}

// A contradiction between two requests of a page is found when the earlier one comes late, also by a joiner that takes over
// from one that was killed when it had stored what the late one says of the clock, and nothing else.
func TestContradictionSurvivesAKill(t *testing.T) {
	before, after := slept()
	r := newRig(t)
	r.store(t, after)
	r.look(t)
	require.Empty(t, conflicts(r.list(t)))

	// The one that is killed.
	r.store(t, before)
	reqs, err := r.w.store.Requests(t.Context(), "default", []string{"slept-0"})
	require.NoError(t, err)
	require.NotEmpty(t, reqs[0].ClockRows())
	require.Equal(t, []string{"slept-1"}, reqs[0].ClockNeighbours())
	r.w.clocksOf("default", reqs, nil)
	require.NoError(t, r.w.flush(t.Context(), r.w.out))
	require.NoError(t, r.w.saveProgress(t.Context()))

	// The one that takes over.
	tel, err := newTelemetry(componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	next, err := open(r.cfg, tel)
	require.NoError(t, err)
	defer func() { require.NoError(t, next.close()) }()
	r.w = next
	r.look(t)
	r.look(t)
	require.Equal(t, map[string]int{"slept-1 clock_conflict": 1}, conflicts(r.list(t)))
}

// What is not joined again yet because of a record counts as that record not being joined.
func TestNeighboursHoldProgress(t *testing.T) {
	w := &worker{cfg: NewDefaultConfig(), memory: newMemory(1 << 20), now: 1000, from: 1000, eventsFrom: 1000}
	w.again(name{"t", "b"}, 970)
	require.EqualValues(t, 970, w.handled())
}
