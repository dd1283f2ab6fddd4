package streamprocessor

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/fermata-io/fermata/internal/wire"
)

// Whole streams of 200 chunks without text, as packed records bring them: what following them costs for each chunk.
func BenchmarkWholeStream(b *testing.B) {
	p, err := newProcessor(processortest.NewNopSettings(Type), NewDefaultConfig(), consumertest.NewNop())
	require.NoError(b, err)
	require.NoError(b, p.Start(b.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(b, p.Shutdown(b.Context())) }()
	const chunks = 200
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]wire.Stream, 64)
	for i := range all {
		s := &all[i]
		*s = wire.Stream{RequestID: "r" + strconv.Itoa(i), Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: int64(i + 1), Final: true, FinishReason: "stop"}
		at := int64(300_000)
		for range chunks {
			s.Chunks.T = append(s.Chunks.T, at)
			at += int64(30_000 * math.Exp(0.5*rnd.NormFloat64()))
		}
	}
	now := time.Now()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.take(&all[i%len(all)], now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
}
