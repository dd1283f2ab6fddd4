package streamprocessor

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// open makes a pipeline's records of segments that each open a stream.
func open(t *testing.T, from, n int, change func(*wire.Stream)) plog.Logs {
	t.Helper()
	ld := plog.NewLogs()
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		s := stream(fmt.Sprintf("request-%020d", from+i), append([]int64{300}, even(60, 30)...)...)
		s.Final, s.StartedAt = false, time.Now().UnixMicro()
		s.Target = wire.Target{Provider: "openai", Deployment: "chat-production-1", Model: "a-model-of-some-size-70b", ModelVersion: "2026-10-01"}
		if change != nil {
			change(&s)
		}
		streamlog.PutStream(lrs.AppendEmpty(), &s)
	}
	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	ld, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
	require.NoError(t, err)
	return ld
}

// The documented state of an open stream: under 2 kB without text, about 10 kB with it.
func TestStateOfAnOpenStreamIsSmall(t *testing.T) {
	const n = 4000
	for name, c := range map[string]struct {
		most   uint64
		change func(*wire.Stream)
	}{
		"plain":      {2000, nil},
		"in a stall": {3000, func(s *wire.Stream) { s.ObservedUS = wire.Some(s.Chunks.T[60] + 8_000_000) }},
		"text": {10_500, func(s *wire.Stream) {
			for i := range s.Chunks.T {
				s.Chunks.Text = append(s.Chunks.Text, fmt.Sprintf("word%d ", i))
			}
		}},
	} {
		p := newTest(t, consumertest.NewNop(), nil)
		before := heap()
		for i := 0; i < n; i += 500 {
			require.NoError(t, p.ConsumeLogs(t.Context(), open(t, i, 500, c.change)))
		}
		tick(p, time.Now())
		each := (heap() - before) / n
		t.Logf("%s: %d bytes a stream", name, each)
		require.Less(t, each, c.most, name)
		runtime.KeepAlive(p)
	}
}

// A timer that looks at every stream makes no garbage of it.
func TestLookingAtSteadyStreamsAllocatesNothing(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	require.NoError(t, p.ConsumeLogs(t.Context(), open(t, 0, 1000, nil)))
	now := time.Now()
	require.Less(t, testing.AllocsPerRun(20, func() { tick(p, now) }), 10.0)
}

// Stopping with many open streams saves them and does not wait for anything else.
func BenchmarkSaveOpenStreams(b *testing.B) {
	p, err := newProcessor(processortest.NewNopSettings(Type), NewDefaultConfig(), consumertest.NewNop())
	require.NoError(b, err)
	p.store = &snapshots{client: mapClient{}}
	const n = 100_000
	for i := range n {
		s := cut(stream(fmt.Sprintf("request-%020d", i), append([]int64{300}, even(60, 30)...)...), 60)[0]
		p.take(&s, start)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range p.shards {
			p.shards[i].keep()
		}
		require.NoError(b, p.save(context.Background()))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/stream")
}
