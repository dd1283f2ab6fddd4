package genai

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Items are a few bytes on the wire and a thousand as records: a request may make no more than so many.
func TestRecordsOfARequestAreBounded(t *testing.T) {
	opts := NewDefaultOptions()
	opts.MaxRecords = 3
	tr := New(opts)

	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	for i := range 5 {
		sp := ss.Spans().AppendEmpty()
		sp.SetStartTimestamp(startNs)
		sp.SetEndTimestamp(startNs + 1000)
		sp.Attributes().PutStr("gen_ai.operation.name", "chat")
		sp.Attributes().PutStr("gen_ai.request.model", "m")
		sp.SetTraceID(pcommon.TraceID{byte(i + 1)})
		lr := sl.LogRecords().AppendEmpty()
		lr.SetEventName("gen_ai.chunk")
		lr.SetTimestamp(startNs)
		lr.SetTraceID(pcommon.TraceID{byte(i + 1)})
	}
	b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(t, err)
	r := translateTraces(t, tr, b)
	require.Equal(t, []int{3, 2}, []int{r.Accepted, r.Rejected})
	require.ErrorContains(t, r.Rejects[0].Err, "more than 3 records")

	b, err = plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	require.NoError(t, err)
	r = translateLogs(t, tr, b, nil)
	require.Equal(t, []int{3, 2}, []int{r.Accepted, r.Rejected})
}

// A released batch leaves nothing behind for the next one.
func TestReleasedBatchesAreClean(t *testing.T) {
	tr := New(NewDefaultOptions())
	body := body(t, "span_events.traces.json")
	want := review(t, translateTraces(t, tr, body))
	for range 3 {
		b := tr.NewBatch(testNow, nil)
		logs := tr.NewBatch(testNow, nil)
		require.NoError(t, walkSpans(b, body))
		require.Equal(t, string(want), string(review(t, b.Finish())))
		b.Release()
		logs.Release()
	}
}
