package streamprocessor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

var errBusy = errors.New("busy")

// busySink refuses while busy is set.
type busySink struct {
	consumertest.LogsSink
	busy bool
}

func (b *busySink) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	if b.busy {
		return errBusy
	}
	return b.LogsSink.ConsumeLogs(ctx, ld)
}

// sent returns what was taken.
func (b *busySink) sent(t *testing.T) (found []wire.Finding, streams []wire.Stream) {
	t.Helper()
	for _, ld := range b.AllLogs() {
		for _, rl := range ld.ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				if lr.EventName() == streamlog.EventStream {
					s, err := streamlog.Stream(lr, 1000)
					require.NoError(t, err)
					streams = append(streams, s)
					continue
				}
				f, err := streamlog.Finding(lr)
				require.NoError(t, err)
				found = append(found, f)
			}
		}
	}
	return found, streams
}

func logsOf(s *wire.Stream) plog.Logs {
	ld := plog.NewLogs()
	streamlog.PutStream(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), s)
	return ld
}

// silent is a stream whose emitter watched a stall that lasts.
func silent(id string) wire.Stream {
	s := stream(id, append([]int64{200}, even(40, 30)...)...)
	s.ObservedUS = wire.Some(int64(9_000_000))
	return s
}

// A record of the whole stream makes the segments that wait for its first one needless.
func TestAWholeRecordWhileASegmentWaits(t *testing.T) {
	w := stream("r", append(append([]int64{200}, even(30, 30)...), append([]int64{1500}, even(30, 30)...)...)...)
	w.FinishReason = "stop"
	for i := range w.Chunks.T {
		text := fmt.Sprintf("word%d ", i)
		if i >= 54 { // too short a loop, unless it is read twice
			text = "so it goes on "
		}
		w.Chunks.Text = append(w.Chunks.Text, text)
	}
	for _, observed := range []bool{false, true} {
		whole := w
		if observed {
			whole.FinishReason, whole.ObservedUS = "", wire.Some(w.Chunks.T[len(w.Chunks.T)-1]+1)
		}
		p := newTest(t, consumertest.NewNop(), nil)
		want := newTest(t, consumertest.NewNop(), nil).take(&whole, start)
		seg := cut(w, 10)[1]
		require.Empty(t, p.take(&seg, start))
		again := whole
		require.Equal(t, want, p.take(&again, start))
		for _, e := range p.shards[keyOf(&whole).hash()%shardCount].streams {
			require.Empty(t, e.waiting)
			require.Equal(t, observed, e.f != nil)
			if observed {
				require.EqualValues(t, len(w.Chunks.T), e.f.content)
			}
		}
		require.Empty(t, tick(p, start.Add(time.Second)))
	}
}

// Behind the last segment nothing is read, in whatever order they come.
func TestNothingFollowsTheLastSegment(t *testing.T) {
	w := stream("r", append(append([]int64{200}, even(30, 30)...), append([]int64{1500}, even(30, 30)...)...)...)
	w.FinishReason = "stop"
	want := newTest(t, consumertest.NewNop(), nil).take(&w, start)
	p := newTest(t, consumertest.NewNop(), nil)
	segs := cut(w, 10)
	more := segs[1]
	more.Seq, more.FinishReason = 2, "repetition"
	var found []wire.Finding
	for _, s := range []wire.Stream{more, segs[1], segs[0]} {
		found = append(found, p.take(&s, start)...)
	}
	require.Equal(t, last(want), last(found))
}

// A record that the next stage refuses comes again, as a duplicate: what was found in it is told nevertheless.
func TestFindingsOfARefusedRecordAreTold(t *testing.T) {
	sink := &busySink{busy: true}
	p := newTest(t, sink, nil)
	w := stream("r", append(append([]int64{200}, even(30, 30)...), append([]int64{1500}, even(30, 30)...)...)...)
	w.FinishReason = "stop"
	segs := cut(w, 10)
	require.Empty(t, p.take(&segs[0], time.Now()))
	require.ErrorIs(t, p.ConsumeLogs(t.Context(), logsOf(&segs[1])), errBusy)
	tell := func(found []wire.Finding) { p.send(t.Context(), found) }
	p.tick(time.Now(), tell)
	sink.busy = false
	require.NoError(t, p.ConsumeLogs(t.Context(), logsOf(&segs[1])))
	p.tick(time.Now(), tell)
	p.tick(time.Now(), tell)
	found, _ := sink.sent(t)
	require.Len(t, found, 1)
	require.Equal(t, wire.FindingStall, found[0].Kind)
	require.False(t, found[0].Open)

	p.refused(make([]wire.Finding, 2*maxUnsent))
	require.LessOrEqual(t, len(tick(p, time.Now())), maxUnsent)
}

// What waits for the next stage when the processor stops is told: the state that is saved says it was.
func TestStoppingWithStorageSendsWhatWaits(t *testing.T) {
	id := component.MustNewID("memory")
	sink := &busySink{busy: true}
	p := newTest(t, sink, func(c *Config) { c.Storage = &id; c.TickInterval = time.Hour })
	require.NoError(t, p.Start(t.Context(), host{map[component.ID]component.Component{id: &memoryStore{Client: mapClient{}}}}))
	seg := cut(stream("r", append([]int64{200}, even(40, 30)...)...), 30)[0]
	p.take(&seg, start)
	p.send(t.Context(), tick(p, start.Add(11*time.Minute)))
	s := silent("refused")
	require.ErrorIs(t, p.ConsumeLogs(t.Context(), logsOf(&s)), errBusy)
	sink.busy = false
	require.NoError(t, p.Shutdown(t.Context()))
	found, ends := sink.sent(t)
	require.Len(t, ends, 1)
	require.EqualValues(t, wire.SeqLost, ends[0].Seq)
	require.ElementsMatch(t, []wire.FindingKind{wire.FindingStall, wire.FindingDeadStream, wire.FindingStall}, kinds(last(found)))
}

// fullClient has no room.
type fullClient struct{ mapClient }

var errFull = errors.New("full")

func (fullClient) Set(context.Context, string, []byte) error { return errFull }

// A processor whose storage is full leaves no finding open behind it.
func TestStoppingWithFullStorageClosesFindings(t *testing.T) {
	id := component.MustNewID("memory")
	sink := new(busySink)
	p := newTest(t, sink, func(c *Config) { c.Storage = &id; c.TickInterval = time.Hour })
	require.NoError(t, p.Start(t.Context(), host{map[component.ID]component.Component{id: &memoryStore{Client: fullClient{mapClient{}}}}}))
	s := silent("r")
	require.True(t, p.take(&s, start)[0].Open)
	require.ErrorIs(t, p.Shutdown(t.Context()), errFull)
	found, _ := sink.sent(t)
	require.Len(t, found, 1)
	require.False(t, found[0].Open)
}

func TestEndingsThatAreDroppedAreCounted(t *testing.T) {
	tel := componenttest.NewTelemetry()
	defer func() { require.NoError(t, tel.Shutdown(context.Background())) }()
	set := processortest.NewNopSettings(Type)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	p, err := newProcessor(set, NewDefaultConfig(), &busySink{busy: true})
	require.NoError(t, err)
	p.buried = make([]wire.Stream, maxUnsent+3)
	p.send(t.Context(), nil)
	require.Len(t, p.buried, maxUnsent)
	m, err := tel.GetMetric("fermata_streams_evicted")
	require.NoError(t, err)
	points := m.Data.(metricdata.Sum[int64]).DataPoints
	require.Len(t, points, 1)
	require.EqualValues(t, 3, points[0].Value)
}

// A restart with less room closes the findings of the streams that find none.
func TestFindingsOfStreamsThatAreNotRestoredAreClosed(t *testing.T) {
	id := component.MustNewID("memory")
	h := host{map[component.ID]component.Component{id: &memoryStore{Client: mapClient{}}}}
	var found []wire.Finding
	for _, most := range []int{100_000, shardCount} {
		p := newTest(t, consumertest.NewNop(), func(c *Config) { c.Storage, c.TickInterval, c.MaxStreams = &id, time.Hour, most })
		require.NoError(t, p.Start(t.Context(), h))
		if most > shardCount {
			for i := range 400 {
				s := silent(fmt.Sprintf("r%d", i))
				found = append(found, p.take(&s, time.Now())...)
			}
		} else {
			found = append(found, tick(p, time.Now())...)
		}
		require.NoError(t, p.Shutdown(t.Context()))
	}
	open := 0
	for _, f := range last(found) {
		if f.Open {
			open++
		}
	}
	require.Len(t, last(found), 400)
	require.LessOrEqual(t, open, shardCount)
}
