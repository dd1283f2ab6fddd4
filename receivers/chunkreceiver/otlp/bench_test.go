package otlp

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// The benchmarks compare, in one run, what a request costs here from its bytes to the records that the
// pipeline carries, with what decoding it into pdata alone costs. They report CPU time: wall time on a busy
// machine says nothing.
const (
	benchStreams = 50
	benchChunks  = 200
)

func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

func perChunk(b *testing.B, run func()) {
	b.Helper()
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		run()
	}
	b.ReportMetric((cpu()-start)/float64(b.N)/(benchStreams*benchChunks), "cpu-ns/chunk")
}

func spanRequest(b *testing.B, attrs bool) []byte {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	for range benchStreams {
		sp := ss.Spans().AppendEmpty()
		sp.SetTraceID(pcommon.TraceID{1})
		sp.SetSpanID(pcommon.SpanID{2})
		sp.SetStartTimestamp(base)
		sp.SetEndTimestamp(base + 10_000_000_000)
		a := sp.Attributes()
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.request.model", "gpt-4o")
		a.PutStr("gen_ai.response.id", "chatcmpl-0123456789")
		a.PutStr("request_id", "0123456789abcdef0123456789abcdef")
		a.PutInt("gen_ai.usage.input_tokens", 100)
		a.PutInt("gen_ai.usage.output_tokens", benchChunks)
		for i := range benchChunks {
			ev := sp.Events().AppendEmpty()
			ev.SetName("gen_ai.chunk")
			ev.SetTimestamp(pcommon.Timestamp(base + 300_000_000 + i*30_123_456))
			if attrs {
				ev.Attributes().PutInt("chunk.index", int64(i))
			}
		}
	}
	return must[[]byte](b)(ptraceotlp.NewExportRequestFromTraces(td).MarshalProto())
}

func logRequest(b *testing.B) []byte {
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	for k := range benchStreams {
		for i := range benchChunks {
			lr := sl.LogRecords().AppendEmpty()
			lr.SetEventName("gen_ai.chunk")
			lr.SetTimestamp(pcommon.Timestamp(base + 300_000_000 + i*30_123_456))
			lr.SetTraceID(pcommon.TraceID{1, byte(k)})
			lr.SetSpanID(pcommon.SpanID{2, byte(k)})
			lr.Attributes().PutStr("gen_ai.request.model", "gpt-4o")
			lr.Attributes().PutInt("chunk.index", int64(i))
		}
	}
	return must[[]byte](b)(plogotlp.NewExportRequestFromLogs(ld).MarshalProto())
}

func ours(b *testing.B, sig signal, body []byte) {
	tr := genai.New(genai.NewDefaultOptions())
	perChunk(b, func() {
		r, release, err := translate(tr, sig, body, testNow, nil)
		if err != nil || len(r.Streams) != benchStreams {
			b.Fatal("wrong number of streams", err)
		}
		logs(r, testNow)
		release()
	})
}

func BenchmarkSpanEvents(b *testing.B) { ours(b, signalTraces, spanRequest(b, false)) }

func BenchmarkSpanEventsWithAttribute(b *testing.B) { ours(b, signalTraces, spanRequest(b, true)) }

func BenchmarkLogRecords(b *testing.B) { ours(b, signalLogs, logRequest(b)) }

func BenchmarkPdataSpanEvents(b *testing.B) {
	body := spanRequest(b, false)
	perChunk(b, func() { require.NoError(b, ptraceotlp.NewExportRequest().UnmarshalProto(body)) })
}

func BenchmarkPdataSpanEventsWithAttribute(b *testing.B) {
	body := spanRequest(b, true)
	perChunk(b, func() { require.NoError(b, ptraceotlp.NewExportRequest().UnmarshalProto(body)) })
}

func BenchmarkPdataLogRecords(b *testing.B) {
	body := logRequest(b)
	perChunk(b, func() { require.NoError(b, plogotlp.NewExportRequest().UnmarshalProto(body)) })
}
