package genai

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/wire"
)

const startNs = 1_795_965_923_000_000_000

// stream is what the property tests send in each form.
type stream struct {
	at    []uint64 // ns
	bytes []int64
}

func drawStream(t *rapid.T) stream {
	var s stream
	now := uint64(startNs)
	for range rapid.IntRange(1, 50).Draw(t, "chunks") {
		now += rapid.Uint64Range(0, 5_000_000_000).Draw(t, "gap")
		s.at = append(s.at, now)
		s.bytes = append(s.bytes, rapid.Int64Range(0, 300).Draw(t, "bytes"))
	}
	return s
}

func (s stream) check(t require.TestingT, got *wire.Stream) {
	require.Equal(t, len(s.at), got.Chunks.Len())
	for i, at := range s.at {
		require.Equal(t, int64(at/1000), got.StartedAt+got.Chunks.T[i])
		require.EqualValues(t, s.bytes[i], got.Chunks.Bytes[i])
	}
}

// Whatever the order of the events, chunks are the same and their times exact to the µs.
func TestSpanEventsKeepEveryChunk(t *testing.T) {
	tr := New(NewDefaultOptions())
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		td := ptrace.NewTraces()
		sp := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		sp.SetStartTimestamp(startNs)
		sp.SetEndTimestamp(pcommon.Timestamp(s.at[len(s.at)-1]))
		sp.Attributes().PutStr("gen_ai.response.id", "r1")
		for i := range s.at {
			ev := sp.Events().AppendEmpty()
			ev.SetName("gen_ai.chunk")
			ev.SetTimestamp(pcommon.Timestamp(s.at[i]))
			ev.Attributes().PutInt("chunk.bytes", s.bytes[i])
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		require.NoError(t, err)
		bt := tr.NewBatch(testNow, nil)
		require.NoError(t, otlpwire.Spans(b, func(src *otlpwire.Source, sp *otlpwire.Span) error { bt.AddSpan(src, sp); return nil }))
		r := bt.Finish()
		require.Empty(t, r.Rejects)
		require.Len(t, r.Streams, 1)
		s.check(t, &r.Streams[0])
	})
}

// starts is the simplest memory.
type starts map[string]int64

func (m starts) StartOf(key string, first int64) int64 {
	if at, ok := m[key]; !ok || at > first {
		m[key] = first
	}
	return m[key]
}

// Chunks that come as single log records, cut into requests anywhere and shuffled within each, make one
// stream with the same chunks; the same request again makes the same segments.
func TestChunkLogsFold(t *testing.T) {
	tr := New(NewDefaultOptions())
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		mem := starts{}
		var whole wire.Stream
		for lo := 0; lo < len(s.at); {
			hi := rapid.IntRange(lo+1, len(s.at)).Draw(t, "cut")
			order := rapid.Permutation(indexes(lo, hi)).Draw(t, "order")
			ld := plog.NewLogs()
			sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
			for _, i := range order {
				lr := sl.LogRecords().AppendEmpty()
				lr.SetEventName("gen_ai.chunk")
				lr.SetTimestamp(pcommon.Timestamp(s.at[i]))
				lr.SetTraceID(pcommon.TraceID{1})
				lr.SetSpanID(pcommon.SpanID{2})
				lr.Attributes().PutInt("chunk.index", int64(i))
				lr.Attributes().PutInt("chunk.bytes", s.bytes[i])
			}
			b, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
			require.NoError(t, err)
			one := func() wire.Stream {
				bt := tr.NewBatch(testNow, mem)
				require.NoError(t, otlpwire.LogRecords(b, bt.TakeLog, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error { bt.AddLog(src, lr); return nil }))
				r := bt.Finish()
				require.Empty(t, r.Rejects)
				require.Len(t, r.Streams, 1)
				require.Equal(t, hi-lo, r.Accepted)
				return r.Streams[0]
			}
			seg := one()
			require.Equal(t, seg, one())
			require.EqualValues(t, lo, seg.Seq)
			require.Equal(t, hex.EncodeToString([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), seg.RequestID)
			if lo == 0 {
				whole = seg
			} else {
				require.Equal(t, whole.StartedAt, seg.StartedAt)
				whole.Chunks.T = append(whole.Chunks.T, seg.Chunks.T...)
				whole.Chunks.Bytes = append(whole.Chunks.Bytes, seg.Chunks.Bytes...)
			}
			lo = hi
		}
		s.check(t, &whole)
		require.True(t, whole.StartUnknown)
	})
}

func indexes(lo, hi int) []int {
	var out []int
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}

func FuzzTranslate(f *testing.F) {
	for _, n := range []string{
		"native_span.traces.json", "span_events.traces.json", "per_token.traces.json", "plain.traces.json",
		"openllmetry.traces.json", "chunk_logs.logs.json", "native.logs.json",
	} {
		f.Add(body(f, n))
	}
	tr := New(NewDefaultOptions())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, walk := range []func(*Batch) error{
			func(bt *Batch) error {
				return otlpwire.Spans(b, func(src *otlpwire.Source, sp *otlpwire.Span) error { bt.AddSpan(src, sp); return nil })
			},
			func(bt *Batch) error {
				return otlpwire.LogRecords(b, bt.TakeLog, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error { bt.AddLog(src, lr); return nil })
			},
		} {
			bt := tr.NewBatch(testNow, starts{})
			if err := walk(bt); err != nil {
				if !errors.Is(err, otlpwire.ErrMalformed) && !errors.Is(err, otlpwire.ErrTooMany) {
					t.Fatal(err)
				}
				continue
			}
			r := bt.Finish()
			if len(r.Streams) != len(r.Sources) {
				t.Fatal("sources and streams differ")
			}
			if got := r.Accepted + r.Ignored + r.Rejected; got != bt.index {
				t.Fatalf("%d items went in, %d came out", bt.index, got)
			}
			for i := range r.Streams {
				if err := r.Streams[i].Validate(testNow, NewDefaultOptions().Limits); err != nil {
					t.Fatalf("an invalid stream was accepted: %v", err)
				}
			}
			for _, j := range r.Rejects {
				if j.Err == nil {
					t.Fatal("refused without a reason")
				}
			}
		}
	})
}

func benchSpans(b *testing.B, attrs bool) {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	const spans, chunks = 50, 200
	for range spans {
		sp := ss.Spans().AppendEmpty()
		sp.SetTraceID(pcommon.TraceID{1})
		sp.SetStartTimestamp(startNs)
		sp.SetEndTimestamp(startNs + 10_000_000_000)
		sp.Attributes().PutStr("gen_ai.operation.name", "chat")
		sp.Attributes().PutStr("gen_ai.provider.name", "openai")
		sp.Attributes().PutStr("gen_ai.request.model", "gpt-4o")
		sp.Attributes().PutStr("gen_ai.response.id", "chatcmpl-0123456789")
		sp.Attributes().PutStr("request_id", "0123456789abcdef0123456789abcdef")
		sp.Attributes().PutInt("gen_ai.usage.input_tokens", 100)
		sp.Attributes().PutInt("gen_ai.usage.output_tokens", chunks)
		for i := range chunks {
			ev := sp.Events().AppendEmpty()
			ev.SetName("gen_ai.chunk")
			ev.SetTimestamp(pcommon.Timestamp(startNs + 300_000_000 + i*30_000_000))
			if attrs {
				ev.Attributes().PutInt("chunk.index", int64(i))
			}
		}
	}
	buf, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(b, err)
	tr := New(NewDefaultOptions())
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if r := translateTraces(b, tr, buf); r.Accepted != spans {
			b.Fatal(r.Rejects)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans*chunks), "ns/chunk")
}

func BenchmarkSpanEvents(b *testing.B)          { benchSpans(b, false) }
func BenchmarkSpanEventsAttribute(b *testing.B) { benchSpans(b, true) }

func BenchmarkChunkLogs(b *testing.B) {
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	const streams, chunks = 50, 200
	for k := range streams {
		for i := range chunks {
			lr := sl.LogRecords().AppendEmpty()
			lr.SetEventName("gen_ai.chunk")
			lr.SetTimestamp(pcommon.Timestamp(startNs + 300_000_000 + i*30_000_000))
			lr.SetTraceID(pcommon.TraceID{1, byte(k)})
			lr.SetSpanID(pcommon.SpanID{2, byte(k)})
			lr.Attributes().PutStr("gen_ai.request.model", "gpt-4o")
			lr.Attributes().PutInt("chunk.index", int64(i))
		}
	}
	buf, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	require.NoError(b, err)
	tr := New(NewDefaultOptions())
	b.ReportAllocs()
	for b.Loop() {
		if r := translateLogs(b, tr, buf, nil); len(r.Streams) != streams {
			b.Fatal(r.Rejects)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streams*chunks), "ns/chunk")
}
