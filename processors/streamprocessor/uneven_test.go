package streamprocessor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// A record that no receiver of ours validated, from Kafka for instance, must not take the Collector down.
func TestArraysOfDifferentLengths(t *testing.T) {
	sink := new(consumertest.LogsSink)
	p, err := newProcessor(processortest.NewNopSettings(Type), NewDefaultConfig(), sink)
	require.NoError(t, err)
	ld := plog.NewLogs()
	streamlog.PutStream(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty(), &wire.Stream{
		RequestID: "r", Tenant: "t", StartedAt: 1, Final: true,
		Chunks: wire.Chunks{T: []int64{1, 2, 3}, Bytes: []uint32{1}, Tokens: []uint32{1, 1}},
	})
	require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	require.Equal(t, 1, sink.LogRecordCount(), "it goes on to whoever puts it aside")
}
