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

// Chunks behind their span's end are refused, however they are told.
func TestChunksBehindTheirSpan(t *testing.T) {
	for name, put := range map[string]func(ptrace.Span, int64){
		"fermata.chunks.t": func(sp ptrace.Span, last int64) {
			sp.Attributes().PutEmptySlice("fermata.chunks.t").AppendEmpty().SetInt(3000)
			v, _ := sp.Attributes().Get("fermata.chunks.t")
			v.Slice().AppendEmpty().SetInt(last)
		},
		"gen_ai.chunk.gaps_us": func(sp ptrace.Span, last int64) {
			v := sp.Attributes().PutEmptySlice("gen_ai.chunk.gaps_us")
			v.AppendEmpty().SetInt(3000)
			v.AppendEmpty().SetInt(last - 3000)
		},
		"events": func(sp ptrace.Span, last int64) {
			for _, us := range []int64{3000, last} {
				ev := sp.Events().AppendEmpty()
				ev.SetName("gen_ai.chunk")
				ev.SetTimestamp(pcommon.Timestamp(startNs + us*1000))
			}
		},
	} {
		for last, refused := range map[int64]bool{1_900_000: false, 2_050_000: false, 9_000_000: true} {
			td := ptrace.NewTraces()
			sp := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			sp.SetStartTimestamp(startNs)
			sp.SetEndTimestamp(startNs + 2_000_000_000)
			sp.Attributes().PutStr("fermata.request_id", "r1")
			put(sp, last)
			b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
			require.NoError(t, err)
			r := translateTraces(t, New(NewDefaultOptions()), b)
			if !refused {
				require.Equal(t, []int{1, 0}, []int{r.Accepted, r.Rejected}, "%s %d", name, last)
				continue
			}
			require.Equal(t, []int{0, 1}, []int{r.Accepted, r.Rejected}, "%s %d", name, last)
			require.ErrorContains(t, r.Rejects[0].Err, "behind the end of its span", name)
		}
	}
}
