package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/streamlog"
)

var testNow = time.Date(2026, 11, 29, 15, 30, 0, 0, time.UTC)

type harness struct {
	t    *testing.T
	srv  *Server
	sink *consumertest.LogsSink
	grpc *grpc.ClientConn
	url  string
	http *http.Client
}

func newHarness(t *testing.T, next consumer.Logs, change ...func(*Settings)) *harness {
	t.Helper()
	h := &harness{t: t, sink: new(consumertest.LogsSink)}
	if next == nil {
		next = h.sink
	}
	cfg := NewDefaultConfig()
	cfg.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.HTTP.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.HTTP.Get().MaxRequestBodySize = 1 << 20
	require.NoError(t, cfg.Check())
	set := Settings{
		Receiver: receivertest.NewNopSettings(component.MustNewType("fermata_chunks")),
		Config:   &cfg, Limits: ingest.NewDefaultLimits(), Next: next, Now: func() time.Time { return testNow },
	}
	for _, c := range change {
		c(&set)
	}
	var err error
	h.srv, err = New(set)
	require.NoError(t, err)
	require.NoError(t, h.srv.Start(t.Context(), componenttest.NewNopHost()))
	addrs := h.srv.Addrs()
	h.url = "http://" + addrs["otlp_http"]
	h.grpc, err = grpc.NewClient(addrs["otlp_grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	tr := &http.Transport{DisableCompression: true}
	h.http = &http.Client{Transport: tr}
	t.Cleanup(func() {
		require.NoError(t, h.grpc.Close())
		tr.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, h.srv.Shutdown(ctx))
		require.NoError(t, h.srv.Shutdown(ctx), "a second time")
	})
	return h
}

const base = 1_795_965_923_000_000_000

// spans makes a request of one span for each change; a span has three chunks unless changed.
func spans(change ...func(ptrace.Span)) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	for _, c := range change {
		sp := ss.Spans().AppendEmpty()
		sp.SetTraceID(pcommon.TraceID{1})
		sp.SetSpanID(pcommon.SpanID{2})
		sp.SetStartTimestamp(base)
		sp.SetEndTimestamp(base + 500_000_000)
		sp.Attributes().PutStr("request_id", "r-1")
		sp.Attributes().PutStr("gen_ai.request.model", "m")
		for i := range 3 {
			ev := sp.Events().AppendEmpty()
			ev.SetName("gen_ai.chunk")
			ev.SetTimestamp(pcommon.Timestamp(base + 100_000_000*(i+1)))
		}
		c(sp)
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

func good(ptrace.Span) {}

func early(sp ptrace.Span) { sp.Events().At(1).SetTimestamp(base - 5_000_000) }

func ordinary(sp ptrace.Span) {
	sp.Attributes().Clear()
	sp.Events().RemoveIf(func(ptrace.SpanEvent) bool { return true })
}

func chunkLogs(lo, hi int) plogotlp.ExportRequest {
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	for i := lo; i < hi; i++ {
		lr := sl.LogRecords().AppendEmpty()
		lr.SetEventName("gen_ai.chunk")
		lr.SetTimestamp(pcommon.Timestamp(base + 30_000_000*i))
		lr.SetTraceID(pcommon.TraceID{9})
		lr.Attributes().PutInt("chunk.index", int64(i))
	}
	return plogotlp.NewExportRequestFromLogs(ld)
}

func (h *harness) records() []plog.LogRecord {
	var out []plog.LogRecord
	for _, ld := range h.sink.AllLogs() {
		for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			out = append(out, lr)
		}
	}
	return out
}

// answer is a response without its body.
type answer struct {
	StatusCode int
	Header     http.Header
}

func (h *harness) post(path, contentType, encoding string, body []byte) (answer, []byte) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+path, bytes.NewReader(body))
	require.NoError(h.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	resp, err := h.http.Do(req)
	require.NoError(h.t, err)
	out, err := io.ReadAll(resp.Body)
	require.NoError(h.t, err)
	require.NoError(h.t, resp.Body.Close())
	return answer{resp.StatusCode, resp.Header}, out
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func gzipped(t testing.TB, b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestEveryWayInGivesTheSameRecord(t *testing.T) {
	pb := must[[]byte](t)(spans(good).MarshalProto())
	js := must[[]byte](t)(spans(good).MarshalJSON())
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	z := enc.EncodeAll(pb, nil)
	require.NoError(t, enc.Close())
	for name, send := range map[string]func(h *harness){
		"grpc": func(h *harness) {
			_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(good))
			require.NoError(t, err)
		},
		"grpc gzip": func(h *harness) {
			_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(good), grpc.UseCompressor("gzip"))
			require.NoError(t, err)
		},
		"http protobuf": func(h *harness) {
			resp, body := h.post("/v1/traces", typeProtobuf, "", pb)
			require.Equal(t, 200, resp.StatusCode)
			require.NoError(t, ptraceotlp.NewExportResponse().UnmarshalProto(body))
			require.Equal(t, typeProtobuf, resp.Header.Get("Content-Type"))
		},
		"http protobuf gzip": func(h *harness) {
			resp, _ := h.post("/v1/traces", typeProtobuf, "gzip", gzipped(t, pb))
			require.Equal(t, 200, resp.StatusCode)
		},
		"http protobuf zstd": func(h *harness) {
			resp, _ := h.post("/v1/traces", typeProtobuf, "zstd", z)
			require.Equal(t, 200, resp.StatusCode)
		},
		"http json": func(h *harness) {
			resp, body := h.post("/v1/traces", typeJSON+"; charset=utf-8", "", js)
			require.Equal(t, 200, resp.StatusCode, string(body))
			require.Equal(t, typeJSON, resp.Header.Get("Content-Type"))
			require.True(t, json.Valid(body))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil)
			send(h)
			recs := h.records()
			require.Len(t, recs, 1)
			s, err := streamlog.Stream(recs[0], 100)
			require.NoError(t, err)
			require.Equal(t, "r-1", s.RequestID)
			require.Equal(t, []int64{100_000, 200_000, 300_000}, s.Chunks.T)
			require.True(t, s.Final)
			require.EqualValues(t, base/1000, s.StartedAt)
			require.Equal(t, "01000000000000000000000000000000", s.TraceID)
		})
	}
}

func TestLogsOfOneStreamInSeveralRequestsAgree(t *testing.T) {
	h := newHarness(t, nil)
	c := plogotlp.NewGRPCClient(h.grpc)
	for _, cut := range [][2]int{{0, 3}, {3, 4}, {4, 9}} {
		_, err := c.Export(t.Context(), chunkLogs(cut[0], cut[1]))
		require.NoError(t, err)
	}
	recs := h.records()
	require.Len(t, recs, 3)
	var at []int64
	for i, lr := range recs {
		s, err := streamlog.Stream(lr, 100)
		require.NoError(t, err)
		require.EqualValues(t, base/1000, s.StartedAt)
		require.EqualValues(t, []uint32{0, 3, 4}[i], s.Seq)
		require.True(t, s.StartUnknown)
		require.False(t, s.Final)
		src, ok := lr.Attributes().Get("fermata.request_id_source")
		require.True(t, ok)
		require.Equal(t, "trace_id", src.Str())
		at = append(at, s.Chunks.T...)
	}
	for i, v := range at {
		require.EqualValues(t, 30_000*i, v)
	}
}

func TestPartialSuccessNamesFieldAndReason(t *testing.T) {
	h := newHarness(t, nil)
	req := spans(good, early, ordinary)
	resp, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), req)
	require.NoError(t, err)
	require.EqualValues(t, 1, resp.PartialSuccess().RejectedSpans())
	require.Equal(t, "1 of 3 spans refused: [1] r-1 events[1].time_unix_nano: lies 5000 µs before the start of its span; want the instant of the chunk in ns",
		resp.PartialSuccess().ErrorMessage())
	require.Len(t, h.records(), 1)

	_, body := h.post("/v1/traces", typeJSON, "", must[[]byte](t)(req.MarshalJSON()))
	require.Contains(t, string(body), `"rejectedSpans":"1"`)

	// Dropped events are told, though the span is kept.
	resp, err = ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(func(sp ptrace.Span) { sp.SetDroppedEventsCount(9) }))
	require.NoError(t, err)
	require.Zero(t, resp.PartialSuccess().RejectedSpans())
	require.Contains(t, resp.PartialSuccess().ErrorMessage(), "OTEL_SPAN_EVENT_COUNT_LIMIT")
}

// Envoy's real access log, as its exporter sends it.
func TestEnvoyAccessLog(t *testing.T) {
	h := newHarness(t, nil)
	raw, err := os.ReadFile("../../adapters/envoy/testdata/in/envoy_1_40.jsonl")
	require.NoError(t, err)
	sent := 0
	for line := range bytes.Lines(raw) {
		req := plogotlp.NewExportRequest()
		require.NoError(t, req.UnmarshalJSON(bytes.TrimSpace(line)))
		sent += req.Logs().LogRecordCount()
		resp, err := plogotlp.NewGRPCClient(h.grpc).Export(t.Context(), req)
		require.NoError(t, err)
		require.Empty(t, resp.PartialSuccess().ErrorMessage())
	}
	recs := h.records()
	require.Len(t, recs, sent)
	for _, lr := range recs {
		require.Equal(t, streamlog.EventGateway, lr.EventName())
		g, err := streamlog.Gateway(lr, 100)
		require.NoError(t, err)
		require.Equal(t, "envoy-front", g.Emitter)
		require.NotZero(t, g.FirstByteAt)
	}
}

func TestAllBadIsAnError(t *testing.T) {
	h := newHarness(t, nil)
	_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(early))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Contains(t, err.Error(), "events[1].time_unix_nano")

	resp, body := h.post("/v1/traces", typeProtobuf, "", must[[]byte](t)(spans(early).MarshalProto()))
	require.Equal(t, 400, resp.StatusCode)
	var st spb.Status
	require.NoError(t, proto.Unmarshal(body, &st))
	require.Contains(t, st.GetMessage(), "events[1].time_unix_nano")

	resp, body = h.post("/v1/traces", typeJSON, "", must[[]byte](t)(spans(early).MarshalJSON()))
	require.Equal(t, 400, resp.StatusCode)
	require.Contains(t, string(body), `"message"`)
	require.Empty(t, h.records())
}

func TestOrdinaryItemsAreNoErrors(t *testing.T) {
	h := newHarness(t, consumertest.NewErr(errors.New("must not be called")))
	resp, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(ordinary, ordinary))
	require.NoError(t, err)
	require.Empty(t, resp.PartialSuccess().ErrorMessage())
	r, _ := h.post("/v1/logs", typeProtobuf, "", nil)
	require.Equal(t, 200, r.StatusCode, "an empty request is fine")
}

func TestPipelineErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		grpc codes.Code
		http int
	}{
		"retryable": {errors.New("queue is full: password=hunter2"), codes.Unavailable, 503},
		"permanent": {consumererror.NewPermanent(errors.New("never: password=hunter2")), codes.Internal, 500},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, consumertest.NewErr(c.err))
			_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(good))
			require.Equal(t, c.grpc, status.Code(err))
			require.NotContains(t, err.Error(), "hunter2")
			resp, body := h.post("/v1/traces", typeJSON, "", must[[]byte](t)(spans(good).MarshalJSON()))
			require.Equal(t, c.http, resp.StatusCode)
			require.NotContains(t, string(body), "hunter2")
			if c.http == 503 {
				require.Equal(t, "1", resp.Header.Get("Retry-After"))
				require.Len(t, status.Convert(err).Details(), 1)
				info, ok := status.Convert(err).Details()[0].(*errdetails.RetryInfo)
				require.True(t, ok)
				require.Equal(t, time.Second, info.GetRetryDelay().AsDuration())
			}
		})
	}
}

func TestMetricsAreAnsweredWithAReason(t *testing.T) {
	h := newHarness(t, nil)
	_, err := pmetricotlp.NewGRPCClient(h.grpc).Export(t.Context(), pmetricotlp.NewExportRequest())
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Contains(t, err.Error(), "metrics")
	resp, body := h.post("/v1/metrics", typeJSON, "", []byte("{}"))
	require.Equal(t, 404, resp.StatusCode)
	require.Contains(t, string(body), "OTEL_METRICS_EXPORTER")
	resp, body = h.post("/v1/profiles", typeJSON, "", []byte("{}"))
	require.Equal(t, 404, resp.StatusCode)
	require.Contains(t, string(body), "/v1/traces")
}

func TestBadRequests(t *testing.T) {
	h := newHarness(t, nil)
	pb := must[[]byte](t)(spans(good).MarshalProto())
	z := gzipped(t, pb)
	for name, c := range map[string]struct {
		contentType, encoding string
		body                  []byte
		status                int
		contains              string
	}{
		"no media type":       {"", "", pb, 415, "Content-Type"},
		"form":                {"application/x-www-form-urlencoded", "", pb, 415, "Content-Type"},
		"not protobuf":        {typeProtobuf, "", []byte("hello world"), 400, "not a valid OTLP"},
		"not json":            {typeJSON, "", []byte("hello world"), 400, "can't be parsed"},
		"wrong json":          {typeJSON, "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"soon"}]}]}]}`), 400, "can't be parsed"},
		"deep json":           {typeJSON, "", []byte(strings.Repeat(`{"resourceSpans":[`, 5000)), 400, "nested deeper"},
		"json not utf-8":      {typeJSON, "", []byte("{\"a\":\"\xff\"}"), 400, "UTF-8"},
		"truncated gzip":      {typeProtobuf, "gzip", z[:len(z)-12], 400, "cut short"},
		"not gzip":            {typeProtobuf, "gzip", pb, 400, ""},
		"unknown encoding":    {typeProtobuf, "rot13", pb, 415, "unsupported"},
		"too large":           {typeProtobuf, "", make([]byte, 1<<20+1), 413, "max_request_body_size"},
		"bomb":                {typeProtobuf, "gzip", gzipped(t, make([]byte, 64<<20)), 413, "max_request_body_size"},
		"truncated protobuf":  {typeProtobuf, "", pb[:len(pb)-3], 400, "not a valid OTLP"},
		"trailing bytes":      {typeProtobuf, "", append(append([]byte{}, pb...), 0x0a), 400, "not a valid OTLP"},
		"bomb of empty spans": {typeProtobuf, "", bytes.Repeat([]byte{0x0a, 0x02, 0x12, 0x00}, 1000), 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := h.post("/v1/traces", c.contentType, c.encoding, c.body)
			require.Equal(t, c.status, resp.StatusCode, string(body))
			require.Contains(t, string(body), c.contains)
		})
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/v1/logs", nil)
	require.NoError(t, err)
	resp, err := h.http.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 405, resp.StatusCode)
	require.Equal(t, "POST", resp.Header.Get("Allow"))
	require.Empty(t, h.records())
}

// blocker holds every batch until released.
type blocker struct{ entered, release chan struct{} }

func (b *blocker) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (b *blocker) ConsumeLogs(ctx context.Context, _ plog.Logs) error {
	b.entered <- struct{}{}
	select {
	case <-b.release:
	case <-ctx.Done():
	}
	return nil
}

func TestOverloadIsRefusedNotCollected(t *testing.T) {
	b := &blocker{entered: make(chan struct{}), release: make(chan struct{})}
	h := newHarness(t, b, func(s *Settings) { s.Limits.MaxInFlightRequests = 1 })
	first := make(chan error, 1)
	go func() {
		_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(context.Background(), spans(good))
		first <- err
	}()
	<-b.entered
	_, err := ptraceotlp.NewGRPCClient(h.grpc).Export(t.Context(), spans(good))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Len(t, status.Convert(err).Details(), 1)
	resp, _ := h.post("/v1/traces", typeProtobuf, "", must[[]byte](t)(spans(good).MarshalProto()))
	require.Equal(t, 429, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	close(b.release)
	require.NoError(t, <-first)
}

func TestStartNamesTheSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	cfg := NewDefaultConfig()
	cfg.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.HTTP.GetOrInsertDefault().NetAddr.Endpoint = taken.Addr().String()
	srv, err := New(Settings{
		Receiver: receivertest.NewNopSettings(component.MustNewType("fermata_chunks")),
		Config:   &cfg, Limits: ingest.NewDefaultLimits(), Next: consumertest.NewNop(),
	})
	require.NoError(t, err)
	require.Empty(t, srv.Addrs())
	err = srv.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "otlp::http")
	require.Empty(t, srv.Addrs())
	require.NoError(t, srv.Shutdown(t.Context()))
}

func TestConfigCheck(t *testing.T) {
	cfg := NewDefaultConfig()
	require.False(t, cfg.Enabled())
	require.NoError(t, cfg.Check())
	cfg.RememberStreams, cfg.RememberFor, cfg.ChunkEvents = 0, 0, []string{""}
	cfg.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "localhost:4317"
	cfg.HTTP.GetOrInsertDefault().NetAddr.Endpoint = "localhost:4317"
	err := cfg.Check()
	for _, key := range []string{"otlp::remember_streams", "otlp::remember_for", "otlp::chunk_events[0]", "otlp::grpc, otlp::http"} {
		require.ErrorContains(t, err, key)
	}
	require.True(t, cfg.Enabled())
}
