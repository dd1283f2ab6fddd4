package streamprocessor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

const t0 = int64(1_790_000_000_000_000)

var start = time.UnixMicro(t0)

func newTest(t *testing.T, next consumer.Logs, change func(*Config)) *streamProcessor {
	t.Helper()
	cfg := NewDefaultConfig()
	if change != nil {
		change(cfg)
	}
	require.NoError(t, cfg.Validate())
	p, err := newProcessor(processortest.NewNopSettings(Type), cfg, next)
	require.NoError(t, err)
	return p
}

// tick returns what the timer tells.
func tick(p *streamProcessor, now time.Time) (out []wire.Finding) {
	p.tick(now, func(found []wire.Finding) { out = append(out, found...) })
	return out
}

// stream makes a stream of chunks with the given gaps in ms, the first being the time to the first chunk.
func stream(id string, gapsMS ...int64) wire.Stream {
	s := wire.Stream{RequestID: id, Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "e", StartedAt: t0, Final: true}
	at := int64(0)
	for _, g := range gapsMS {
		at += g * 1000
		s.Chunks.T = append(s.Chunks.T, at)
	}
	return s
}

func even(n int, ms int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = ms
	}
	return out
}

// cut splits a stream into segments after the given chunks.
func cut(s wire.Stream, after ...int) []wire.Stream {
	var out []wire.Stream
	from := 0
	for i, n := range append(after, len(s.Chunks.T)) {
		seg := s
		seg.Seq, seg.Final = uint32(i), i == len(after)
		seg.Chunks.T = s.Chunks.T[from:n]
		if s.Chunks.Text != nil {
			seg.Chunks.Text = s.Chunks.Text[from:n]
		}
		if !seg.Final {
			seg.FinishReason = ""
		}
		out = append(out, seg)
		from = n
	}
	return out
}

func TestStallInAWholeStream(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	s := stream("r", append(append([]int64{200}, even(50, 30)...), append([]int64{2500}, even(50, 30)...)...)...)
	s.FinishReason = "stop"
	found := p.take(&s, start)
	require.Len(t, found, 1)
	f := found[0]
	require.Equal(t, wire.FindingStall, f.Kind)
	require.Equal(t, "stall", f.Grade)
	require.EqualValues(t, 51, f.Chunk.V)
	require.EqualValues(t, 2_500_000, f.DurationUS)
	require.False(t, f.Open)
	require.Equal(t, "engine", f.Attribution)
	require.Contains(t, string(f.Evidence), `"gaps":1`)

	again := p.take(&s, start.Add(time.Hour))
	require.Equal(t, found, again, "found again it is the same to the revision")
}

// Whatever the order of the segments, and though one comes twice, the findings end the same.
func TestSegmentsInAnyOrder(t *testing.T) {
	whole := stream("r", append(append([]int64{200}, even(60, 30)...), append([]int64{1500}, even(60, 30)...)...)...)
	whole.FinishReason = "stop"
	want := last(newTest(t, consumertest.NewNop(), nil).take(&whole, start))
	segs := cut(whole, 20, 61, 62, 90)
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {0, 2, 1, 4, 3}, {4, 3, 2, 1, 0}, {0, 0, 1, 1, 3, 2, 2, 4, 4}} {
		p := newTest(t, consumertest.NewNop(), nil)
		var got []wire.Finding
		for _, i := range order {
			s := segs[i]
			got = append(got, p.take(&s, start)...)
		}
		require.Equal(t, want, last(got), "order %v", order)
	}
}

// last keeps the state of each finding that holds: the greatest revision.
func last(found []wire.Finding) map[string]wire.Finding {
	out := map[string]wire.Finding{}
	for _, f := range found {
		if old, ok := out[f.ID]; !ok || f.Revision >= old.Revision {
			out[f.ID] = f
		}
	}
	for id, f := range out {
		f.Revision = 0 // tells only when the state was reached
		out[id] = f
		if f.Withdrawn {
			delete(out, id)
		}
	}
	return out
}

func TestObservedSilenceOfAStreamWithoutAnEnd(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	s := stream("r", 820, 30, 30, 30, 30)
	s.ObservedUS = wire.Some(int64(180_000_000))
	found := p.take(&s, start)
	require.Len(t, found, 1)
	require.True(t, found[0].Open)
	require.GreaterOrEqual(t, found[0].DurationUS, int64(179_060_000))
}

func TestDeadAfterIdleTimeout(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	seg := cut(stream("r", append([]int64{200}, even(40, 30)...)...), 30)[0]
	require.Empty(t, p.take(&seg, start))
	got := last(tick(p, start.Add(11*time.Minute)))
	kinds := map[wire.FindingKind]bool{}
	for _, f := range got {
		kinds[f.Kind] = true
	}
	require.True(t, kinds[wire.FindingDeadStream], "%v", got)
}

func TestSlowStartByQueryType(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), nil)
	for _, c := range []struct {
		queryType string
		ms        int64
		slow      bool
	}{
		{"", 1900, false}, {"", 2100, true}, {"code_completion", 350, true}, {"short_qa", 900, false}, {"short_qa", 1100, true},
	} {
		s := stream(fmt.Sprintf("r-%s-%d", c.queryType, c.ms), append([]int64{c.ms}, even(30, 20)...)...)
		s.QueryType, s.FinishReason = c.queryType, "stop"
		found := p.take(&s, start)
		require.Equal(t, c.slow, len(found) == 1 && found[0].Kind == wire.FindingSlowStart, "%+v: %v", c, found)
	}
}

func TestLoopAndItsText(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p := newTest(t, sink, nil)
	s := stream("r", even(260, 20)...)
	s.FinishReason = "length"
	for i := range s.Chunks.T {
		text := fmt.Sprintf("word%d ", i)
		if i >= 60 {
			text = []string{"the ", "same ", "three ", "words ", "again. "}[i%5]
		}
		s.Chunks.Text = append(s.Chunks.Text, text)
	}
	ld := plog.NewLogs()
	streamlog.PutStream(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), &s)
	require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	out := sink.AllLogs()[0]
	require.Equal(t, 2, out.LogRecordCount())
	lr := out.ResourceLogs().At(1).ScopeLogs().At(0).LogRecords().At(0)
	f, err := streamlog.Finding(lr)
	require.NoError(t, err)
	require.Equal(t, wire.FindingLoop, f.Kind)
	require.InDelta(t, 60, f.Chunk.V, 1)
	require.Equal(t, "critical", f.Severity)
	require.InDelta(t, s.Chunks.T[60], f.StartUS, 40_000)

	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(out)
	require.NoError(t, err)
	for _, word := range []string{"words again", "word17", "the ", "three"} {
		require.NotContains(t, string(b), word, "no text leaves the processor")
	}
	js, err := (&plog.JSONMarshaler{}).MarshalLogs(out)
	require.NoError(t, err)
	require.False(t, strings.Contains(string(js), "word17"))
}

func TestTextOfATenantThatOptedIn(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p := newTest(t, sink, func(c *Config) { c.CaptureText = []string{"lab"} })
	for _, tenant := range []string{"lab", "default"} {
		s := stream("r", 10, 10)
		s.Tenant, s.Chunks.Text = tenant, []string{"hello ", "there"}
		ld := plog.NewLogs()
		streamlog.PutStream(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), &s)
		require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	}
	for i, want := range []bool{true, false} {
		_, ok := sink.AllLogs()[i].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Get(streamlog.KeyText)
		require.Equal(t, want, ok)
	}
}

func TestSyntheticTimesAreNotJudged(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p := newTest(t, sink, nil)
	s := stream("r", append(even(30, 20), 9000, 20)...)
	s.Synthetic = true
	ld := plog.NewLogs()
	streamlog.PutStream(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), &s)
	require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	require.Equal(t, 1, sink.LogRecordCount())
}

// memoryStore is a storage extension in memory.
type memoryStore struct {
	component.StartFunc
	component.ShutdownFunc
	storage.Client
}

func (m *memoryStore) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return m, nil
}
func (*memoryStore) Close(context.Context) error { return nil }

type mapClient map[string][]byte

func (m mapClient) Get(_ context.Context, k string) ([]byte, error)    { return m[k], nil }
func (m mapClient) Set(_ context.Context, k string, b []byte) error    { m[k] = b; return nil }
func (m mapClient) Delete(_ context.Context, k string) error           { delete(m, k); return nil }
func (m mapClient) Batch(context.Context, ...*storage.Operation) error { return errors.ErrUnsupported }
func (m mapClient) Close(context.Context) error                        { return nil }

type host struct {
	ext map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.ext }

func TestOpenStreamsSurviveARestart(t *testing.T) {
	id := component.MustNewID("memory")
	h := host{map[component.ID]component.Component{id: &memoryStore{Client: mapClient{}}}}
	whole := stream("r", append(append([]int64{200}, even(60, 30)...), append([]int64{1500}, even(60, 30)...)...)...)
	whole.FinishReason = "stop"
	want := last(newTest(t, consumertest.NewNop(), nil).take(&whole, start))

	segs := cut(whole, 61, 90)
	var got []wire.Finding
	for i := range segs {
		p := newTest(t, consumertest.NewNop(), func(c *Config) { c.Storage = &id; c.TickInterval = time.Hour })
		require.NoError(t, p.Start(t.Context(), h))
		got = append(got, p.take(&segs[i], start)...)
		require.NoError(t, p.Shutdown(t.Context()))
	}
	require.Equal(t, want, last(got))
}

func TestNoMoreThanMaxStreams(t *testing.T) {
	p := newTest(t, consumertest.NewNop(), func(c *Config) { c.MaxStreams = 64 })
	for i := range 1000 {
		s := cut(stream(fmt.Sprintf("r%d", i), even(10, 20)...), 5)[0]
		p.take(&s, start)
	}
	n := 0
	for i := range p.shards {
		n += len(p.shards[i].streams)
	}
	require.LessOrEqual(t, n, 64)
}

func TestConfigNamesEveryProblem(t *testing.T) {
	c := NewDefaultConfig()
	c.MaxStreams, c.TickInterval, c.Stall.Ratio = 0, 0, -1
	err := c.Validate()
	for _, key := range []string{"max_streams", "tick_interval", "stall"} {
		require.ErrorContains(t, err, key)
	}
}

func TestLifecycle(t *testing.T) {
	f := NewFactory()
	require.NoError(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
	p, err := f.CreateLogs(t.Context(), processortest.NewNopSettings(Type), f.CreateDefaultConfig(), consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, p.Shutdown(t.Context()))
	require.NoError(t, p.Shutdown(t.Context()))
}

// That an engine stopped a loop is taken over, in whichever field it says so and whether or not text came.
func TestEnginesVerdict(t *testing.T) {
	for _, c := range []struct {
		finish, stop string
		loop         bool
	}{
		{"repetition", "", true},
		{"repetition_detected", "", true},
		{"REPETITION_DETECTED", "", true},
		{"repetition", "repetition_detected", true},
		{"stop", "repetition_detected", true},
		{"", "repetition_detected", true},
		{"stop", "", false},
		{"length", "stop_string", false},
	} {
		for _, segments := range []bool{false, true} {
			p := newTest(t, consumertest.NewNop(), nil)
			whole := stream("r", append([]int64{200}, even(60, 30)...)...)
			whole.FinishReason, whole.StopReason = c.finish, c.stop
			parts := []wire.Stream{whole}
			if segments {
				parts = cut(whole, 20)
			}
			var found []wire.Finding
			for i := range parts {
				found = append(found, p.take(&parts[i], start)...)
			}
			if !c.loop {
				require.Empty(t, found, c)
				continue
			}
			require.Len(t, found, 1, c)
			require.Equal(t, wire.FindingLoop, found[0].Kind)
			require.Equal(t, "engine", found[0].Attribution)
			require.Contains(t, string(found[0].Evidence), `"source":"engine"`)
		}
	}
}
