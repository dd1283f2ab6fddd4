package groupcommitprocessor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"
)

// syncing stands for an exporter's queue on disk: it writes each batch and syncs it, one at a time.
type syncing struct {
	mu    sync.Mutex
	f     *os.File
	m     plog.ProtoMarshaler
	calls atomic.Int64
}

func (*syncing) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *syncing) ConsumeLogs(_ context.Context, l plog.Logs) error {
	b, err := s.m.MarshalLogs(l)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.Add(1)
	if _, err := s.f.WriteAt(b, 0); err != nil {
		return err
	}
	return s.f.Sync()
}

// BenchmarkCallers shows what a group saves: N callers post batches of 10 records to a consumer that syncs each batch.
func BenchmarkCallers(b *testing.B) {
	for _, grouped := range []bool{false, true} {
		for _, callers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("grouped=%v/callers=%d", grouped, callers), func(b *testing.B) {
				f, err := os.CreateTemp(b.TempDir(), "")
				require.NoError(b, err)
				defer func() { require.NoError(b, f.Close()) }()
				sink := &syncing{f: f}
				var next consumer.Logs = sink
				if grouped {
					p, err := newProcessor(processortest.NewNopSettings(Type), NewDefaultConfig(), sink)
					require.NoError(b, err)
					require.NoError(b, p.Start(b.Context(), componenttest.NewNopHost()))
					defer func() { require.NoError(b, p.Shutdown(context.Background())) }()
					next = p
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if err := next.ConsumeLogs(b.Context(), batch("x", 10)); err != nil {
								panic(err)
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "batches/s")
				b.ReportMetric(float64(b.N)/float64(sink.calls.Load()), "batches/sync")
			})
		}
	}
}
