package groupcommitprocessor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"pgregory.net/rapid"
)

const patience = 2 * time.Minute

// gate is a next consumer whose calls wait until the test lets each of them go, with an error of its choice.
type gate struct {
	calls chan plog.Logs // each call, as it comes
	let   chan error
}

func newGate() *gate { return &gate{calls: make(chan plog.Logs, 100), let: make(chan error, 100)} }

func (*gate) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (g *gate) ConsumeLogs(_ context.Context, l plog.Logs) error {
	g.calls <- l
	return <-g.let
}

func newForTest(t testing.TB, cfg *Config, next consumer.Logs) processor.Logs {
	t.Helper()
	p, err := NewFactory().CreateLogs(t.Context(), processortest.NewNopSettings(Type), cfg, next)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	return p
}

func batch(name string, n int) plog.Logs {
	l := plog.NewLogs()
	records := l.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		records.AppendEmpty().Body().SetStr(fmt.Sprintf("%s/%d", name, i))
	}
	return l
}

func bodies(l plog.Logs) []string {
	var out []string
	for _, rl := range l.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				out = append(out, lr.Body().Str())
			}
		}
	}
	sort.Strings(out)
	return out
}

// send calls ConsumeLogs in the background and returns where its answer will be.
func send(ctx context.Context, p processor.Logs, l plog.Logs) <-chan error {
	out := make(chan error, 1)
	go func() { out <- p.ConsumeLogs(ctx, l) }()
	return out
}

func waitingRecords(p processor.Logs) int {
	g := p.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, patience, time.Millisecond)
}

func TestJoinsWhatComesWhileTheConsumerIsBusy(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.MaxInFlight = 1
	next := newGate()
	p := newForTest(t, cfg, next)

	first := send(t.Context(), p, batch("a", 1))
	require.Equal(t, []string{"a/0"}, bodies(<-next.calls), "a lone caller is passed on at once")
	b, c := send(t.Context(), p, batch("b", 2)), send(t.Context(), p, batch("c", 1))
	eventually(t, func() bool { return waitingRecords(p) == 4 })

	next.let <- nil
	require.NoError(t, <-first)
	require.Equal(t, []string{"b/0", "b/1", "c/0"}, bodies(<-next.calls), "the others share one call")
	boom := errors.New("disk full")
	next.let <- boom
	require.ErrorIs(t, <-b, boom, "and its answer")
	require.ErrorIs(t, <-c, boom)
	require.Zero(t, waitingRecords(p))
}

func TestFullGroupGoesWithoutDelay(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.MaxDelay, cfg.MaxRecords = time.Second, 4
	next := newGate()
	p := newForTest(t, cfg, next)

	p.(*groupCommit).took = time.Minute

	first := send(t.Context(), p, batch("a", 1))
	<-next.calls
	b := send(t.Context(), p, batch("b", 2)) // begins a group that waits for company
	eventually(t, func() bool { return waitingRecords(p) == 3 })
	c := send(t.Context(), p, batch("c", 3)) // does not fit into it
	require.Equal(t, []string{"b/0", "b/1"}, bodies(<-next.calls))
	eventually(t, func() bool { return waitingRecords(p) == 6 })
	d := send(t.Context(), p, batch("d", 1)) // fills c's
	next.let <- nil
	next.let <- nil
	require.Equal(t, []string{"c/0", "c/1", "c/2", "d/0"}, bodies(<-next.calls))
	next.let <- nil
	for _, answer := range []<-chan error{first, b, c, d} {
		require.NoError(t, <-answer)
	}

	big := send(t.Context(), p, batch("big", 10))
	require.Len(t, bodies(<-next.calls), 10, "a batch above max_records is not split")
	next.let <- nil
	require.NoError(t, <-big)
}

func TestCancelledCallerLosesOnlyItsAnswer(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.MaxInFlight = 1
	next := newGate()
	p := newForTest(t, cfg, next)
	first := send(t.Context(), p, batch("a", 1))
	<-next.calls

	ctx, cancel := context.WithCancel(t.Context())
	gone := send(ctx, p, batch("b", 1))
	eventually(t, func() bool { return waitingRecords(p) == 2 })
	stays := send(t.Context(), p, batch("c", 1))
	eventually(t, func() bool { return waitingRecords(p) == 3 })
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.ErrorIs(t, p.ConsumeLogs(ctx, batch("d", 1)), context.Canceled)

	next.let <- nil
	require.Equal(t, []string{"b/0", "c/0"}, bodies(<-next.calls))
	next.let <- nil
	require.NoError(t, <-first)
	require.NoError(t, <-stays)
}

func TestRefusesWhenTooMuchWaits(t *testing.T) {
	cfg := &Config{MaxRecords: 2, MaxInFlight: 1, MaxWaitingRecords: 3}
	next := newGate()
	p := newForTest(t, cfg, next)
	first := send(t.Context(), p, batch("a", 2))
	<-next.calls
	require.ErrorIs(t, p.ConsumeLogs(t.Context(), batch("b", 2)), ErrTooMuchWaiting)
	second := send(t.Context(), p, batch("c", 1))
	next.let <- nil
	next.let <- nil
	require.NoError(t, <-first)
	require.NoError(t, <-second)
}

func TestShutdownPassesOnWhatWasTaken(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.MaxDelay, cfg.MaxInFlight = time.Second, 1
	next := newGate()
	p := newForTest(t, cfg, next)
	first := send(t.Context(), p, batch("a", 1))
	<-next.calls
	second := send(t.Context(), p, batch("b", 1))
	eventually(t, func() bool { return waitingRecords(p) == 2 })

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Shutdown(ctx), context.Canceled, "the consumer is still busy")
	require.ErrorIs(t, p.ConsumeLogs(t.Context(), batch("c", 1)), ErrStopped)
	next.let <- nil
	next.let <- nil
	require.NoError(t, p.Shutdown(t.Context()))
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.Equal(t, []string{"b/0"}, bodies(<-next.calls))
}

// Whatever the batches and limits: every record of a caller that was told yes arrived once, and in one piece.
func TestEveryRecordArrivesOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := &Config{
			MaxDelay:    time.Duration(rapid.IntRange(0, 1000).Draw(rt, "delay_us")) * time.Microsecond,
			MaxRecords:  rapid.IntRange(1, 20).Draw(rt, "max_records"),
			MaxInFlight: rapid.IntRange(1, 3).Draw(rt, "in_flight"), MaxWaitingRecords: 1000,
		}
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 40).Draw(rt, "sizes")
		sink := new(consumertest.LogsSink)
		p, err := newProcessor(processortest.NewNopSettings(Type), cfg, sink)
		require.NoError(rt, err)
		var wg sync.WaitGroup
		want := plog.NewLogs()
		for i, n := range sizes {
			batch(fmt.Sprint(i), n).ResourceLogs().MoveAndAppendTo(want.ResourceLogs())
			wg.Go(func() {
				if err := p.ConsumeLogs(context.Background(), batch(fmt.Sprint(i), n)); err != nil {
					panic(err)
				}
			})
		}
		wg.Wait()
		got := plog.NewLogs()
		for _, l := range sink.AllLogs() {
			l.ResourceLogs().MoveAndAppendTo(got.ResourceLogs())
		}
		require.Equal(rt, bodies(want), bodies(got))
		require.Zero(rt, p.waiting)
		require.NoError(rt, p.Shutdown(context.Background()))
	})
}

func TestConfig(t *testing.T) {
	f := NewFactory()
	require.NoError(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
	require.NoError(t, f.CreateDefaultConfig().(*Config).Validate())

	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(component.NewIDWithName(Type, "all").String())
	require.NoError(t, err)
	cfg := f.CreateDefaultConfig()
	require.NoError(t, sub.Unmarshal(cfg))
	require.Equal(t, &Config{MaxDelay: 5 * time.Millisecond, MaxRecords: 100, MaxInFlight: 1, MaxWaitingRecords: 1000}, cfg)

	bad := &Config{MaxDelay: -1, MaxWaitingRecords: -1}
	for _, key := range []string{"max_delay", "max_records", "max_in_flight", "max_waiting_records"} {
		require.ErrorContains(t, bad.Validate(), key+": ")
	}
}
