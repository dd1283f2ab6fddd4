package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
)

// Streams in one request: a request of log records is large as it is.
const (
	perMessage     = 100
	perLogsMessage = 25
)

// resource fills in what an SDK in a pod says of itself.
func resource(r pcommon.Resource) {
	a := r.Attributes()
	a.PutStr("service.name", "chat-api")
	a.PutStr("service.instance.id", "i-0a1b2c3d4e")
	a.PutStr("deployment.environment.name", "prod")
	a.PutStr("telemetry.sdk.language", "go")
	a.PutStr("k8s.pod.name", "chat-api-5d9f7c9b6-x2x7p")
}

func ids(s *wire.Stream) (trace pcommon.TraceID, span pcommon.SpanID) {
	id, _ := strconv.ParseUint(s.RequestID, 16, 64)
	binary.BigEndian.PutUint64(trace[:8], id)
	r := rand.NewPCG(id, 1)
	binary.BigEndian.PutUint64(trace[8:], r.Uint64())
	binary.BigEndian.PutUint64(span[:], r.Uint64())
	return trace, span
}

func ns(s *wire.Stream, us int64) pcommon.Timestamp {
	return pcommon.Timestamp((s.StartedAt + us) * 1000) //nolint:gosec // an instant of our time
}

// eachMessage calls f for the streams of each message.
func eachMessage(w *ingestbench.Workload, size int, f func(streams []wire.Stream) ([]byte, error)) ([][]byte, error) {
	var out [][]byte
	for from := 0; from < w.Len(); from += size {
		var ss []wire.Stream
		for i := from; i < min(from+size, w.Len()); i++ {
			ss = append(ss, w.Stream(i))
		}
		b, err := f(ss)
		if err != nil {
			return nil, fmt.Errorf("make messages: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// spanMessages carries each stream as a span with one bare event for each chunk.
func spanMessages(w *ingestbench.Workload) ([][]byte, error) {
	return eachMessage(w, perMessage, func(streams []wire.Stream) ([]byte, error) {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		resource(rs.Resource())
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName("llm-stream")
		for i := range streams {
			s := &streams[i]
			sp := ss.Spans().AppendEmpty()
			trace, span := ids(s)
			sp.SetTraceID(trace)
			sp.SetSpanID(span)
			sp.SetName("chat " + s.Model)
			sp.SetKind(ptrace.SpanKindClient)
			sp.SetStartTimestamp(ns(s, 0))
			sp.SetEndTimestamp(ns(s, s.EndUS.V))
			a := sp.Attributes()
			a.PutStr("gen_ai.operation.name", "chat")
			a.PutStr("gen_ai.provider.name", s.Provider)
			a.PutStr("gen_ai.request.model", s.Model)
			a.PutStr("gen_ai.response.id", "chatcmpl-"+s.RequestID)
			a.PutStr("request_id", s.RequestID)
			a.PutInt("gen_ai.usage.input_tokens", s.PromptTokens.V)
			a.PutInt("gen_ai.usage.output_tokens", int64(len(s.Chunks.T)))
			sp.Events().EnsureCapacity(len(s.Chunks.T))
			for _, t := range s.Chunks.T {
				ev := sp.Events().AppendEmpty()
				ev.SetName("gen_ai.chunk")
				ev.SetTimestamp(ns(s, t))
			}
		}
		return ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	})
}

// logMessages carries each chunk as a log record. The last one has the finish reason: without an end every stream would be one
// that fell silent.
func logMessages(w *ingestbench.Workload) ([][]byte, error) {
	return eachMessage(w, perLogsMessage, func(streams []wire.Stream) ([]byte, error) {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		resource(rl.Resource())
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName("llm-stream")
		sl.LogRecords().EnsureCapacity(len(streams) * ingestbench.ChunksPerStream)
		for i := range streams {
			s := &streams[i]
			trace, span := ids(s)
			for k, t := range s.Chunks.T {
				lr := sl.LogRecords().AppendEmpty()
				lr.SetEventName("gen_ai.chunk")
				lr.SetTimestamp(ns(s, t))
				lr.SetTraceID(trace)
				lr.SetSpanID(span)
				lr.Attributes().PutStr("gen_ai.request.model", s.Model)
				lr.Attributes().PutInt("chunk.index", int64(k))
				if k == len(s.Chunks.T)-1 {
					lr.Attributes().PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(s.FinishReason)
				}
			}
		}
		return plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
	})
}

// jsonMessages carries the streams as the bodies of POST /v1/chunks.
func jsonMessages(w *ingestbench.Workload) ([][]byte, error) {
	return eachMessage(w, perMessage, func(streams []wire.Stream) ([]byte, error) {
		b := []byte{'['}
		for i := range streams {
			if i > 0 {
				b = append(b, ',')
			}
			b = streamJSON(b, &streams[i])
		}
		return append(b, ']'), nil
	})
}

// streamJSON appends one object of POST /v1/chunks.
func streamJSON(b []byte, s *wire.Stream) []byte {
	b = fmt.Appendf(b, `{"request_id":%q,"tier":"server","emitter":%q,"provider":%q,"model":%q,"prompt_tokens":%d,"started_at":%d,"chunks":{"t":`,
		s.RequestID, s.Emitter, s.Provider, s.Model, s.PromptTokens.V, s.StartedAt)
	b = appendInts(b, s.Chunks.T)
	return fmt.Appendf(b, `},"end_us":%d,"finish_reason":"stop","status":200}`, s.EndUS.V)
}

func appendInts[N int64 | int](b []byte, v []N) []byte {
	b = append(b, '[')
	for i, n := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// beacons makes bodies as the SDK sends them: one stream of so many chunks received, put into the DOM and painted.
func beacons(n, chunks int, at int64) [][]byte {
	rnd := rand.New(rand.NewPCG(7, uint64(chunks))) //nolint:gosec // the same beacons every time
	out := make([][]byte, n)
	for i := range out {
		t := int64(1_000_000 + rnd.IntN(5_000_000))
		b := fmt.Appendf(nil, `{"session_id":"s-%016x","seq":0,"app":"shop","release":"2026.9.1","page":"/chat",`, rnd.Uint64())
		b = fmt.Appendf(b, `"clock":{"time_origin":%d,"now":%d,"wall_now":%d},"connection":{"rtt":50,"type":"4g","downlink":9.35},"streams":[`,
			at, t+10_000_000, at+t+10_000_000)
		b = fmt.Appendf(b, `{"submit_at":%d,"request_sent_at":%d,"headers_at":%d,"first_meaningful_paint_at":%d,"paint_source":"frame","done_at":%d,`,
			t, t+2500, t+110_000, t+433_000, t+9_000_000)
		b = fmt.Appendf(b, `"request_id":"%016x","trace_id":"%016x%016x","seq":0,"final":true,"protocol":"sse","content_kind":"markdown","bytes_total":%d`,
			rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), chunks*5)
		b = append(b, `,"recv":`...)
		b = appendSeries(b, rnd, t+400_000, chunks)
		b = append(b, `,"dom":`...)
		b = appendSeries(b, rnd, t+410_000, chunks)
		b = append(b, `,"paint":`...)
		b = appendSeries(b, rnd, t+433_000, chunks*3/4) // some pieces share a frame
		out[i] = append(b, `,"visibility":[[0,"visible"]]}]}`...)
	}
	return out
}

func appendSeries(b []byte, rnd *rand.Rand, first int64, n int) []byte {
	dt, size := make([]int64, n), make([]int, n)
	for i := range dt {
		dt[i], size[i] = 5000+rnd.Int64N(60_000), 1+rnd.IntN(9)
	}
	dt[0] = first
	b = appendInts(append(b, `{"dt":`...), dt)
	b = appendInts(append(b, `,"bytes":`...), size)
	return append(b, '}')
}
