package otlpwire

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"pgregory.net/rapid"
)

func drawAttrs(t *rapid.T, m pcommon.Map, label string) {
	for _, k := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z.]{1,20}`), 0, 4, rapid.ID).Draw(t, label) {
		switch rapid.IntRange(0, 6).Draw(t, "type") {
		case 0:
			m.PutStr(k, rapid.String().Draw(t, "s")+strings.Repeat("x", rapid.SampledFrom([]int{0, 120, 127, 254, 300}).Draw(t, "more")))
		case 1:
			m.PutInt(k, rapid.Int64().Draw(t, "i"))
		case 2:
			m.PutDouble(k, rapid.Float64().Draw(t, "f"))
		case 3:
			m.PutBool(k, rapid.Bool().Draw(t, "b"))
		case 4:
			m.PutEmptyBytes(k).FromRaw(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		case 5:
			s := m.PutEmptySlice(k)
			for _, n := range rapid.SliceOf(rapid.Int64()).Draw(t, "ints") {
				s.AppendEmpty().SetInt(n)
			}
		case 6:
			m.PutEmptyMap(k).PutStr("x", "y")
		}
	}
}

// asMap turns a view into pdata, so that it can be compared with what pdata holds. Maps come out empty.
func asMap(t require.TestingT, a Attrs) map[string]any {
	m := pcommon.NewMap()
	for _, at := range a {
		require.NoError(t, copyTo(at.Value, m.PutEmpty(at.Key)))
	}
	return m.AsRaw()
}

func want(m pcommon.Map) map[string]any {
	raw := m.AsRaw()
	for k, v := range raw {
		if _, ok := v.(map[string]any); ok {
			raw[k] = nil
		}
	}
	return raw
}

func TestSpansEqualPdata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		td := ptrace.NewTraces()
		for range rapid.IntRange(0, 3).Draw(t, "resources") {
			rs := td.ResourceSpans().AppendEmpty()
			drawAttrs(t, rs.Resource().Attributes(), "resource")
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName(rapid.String().Draw(t, "scope"))
			for range rapid.IntRange(0, 3).Draw(t, "spans") {
				sp := ss.Spans().AppendEmpty()
				sp.SetName(rapid.String().Draw(t, "name"))
				sp.SetTraceID(pcommon.TraceID{1, 2, byte(rapid.IntRange(1, 200).Draw(t, "id"))})
				sp.SetKind(ptrace.SpanKindServer)
				sp.SetStartTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "start")))
				sp.SetEndTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "end")))
				sp.SetDroppedEventsCount(rapid.Uint32().Draw(t, "dropped"))
				if rapid.Bool().Draw(t, "failed") {
					sp.Status().SetCode(ptrace.StatusCodeError)
				}
				drawAttrs(t, sp.Attributes(), "span")
				for range rapid.IntRange(0, 4).Draw(t, "events") {
					ev := sp.Events().AppendEmpty()
					ev.SetName(rapid.StringN(0, 200, -1).Draw(t, "event"))
					ev.SetTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "at")))
					drawAttrs(t, ev.Attributes(), "event attributes")
				}
			}
		}
		b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		require.NoError(t, err)
		var flat []ptrace.Span
		var from []ptrace.ResourceSpans
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, sp := range ss.Spans().All() {
					flat, from = append(flat, sp), append(from, rs)
				}
			}
		}
		i := 0
		require.NoError(t, Spans(b, func(src *Source, sp *Span) error {
			w := flat[i]
			require.Equal(t, want(from[i].Resource().Attributes()), asMap(t, src.Resource))
			require.Equal(t, w.Name(), sp.Name)
			tid := w.TraceID()
			require.Equal(t, tid[:], sp.TraceID)
			require.EqualValues(t, w.Kind(), sp.Kind)
			require.EqualValues(t, w.StartTimestamp(), sp.Start)
			require.EqualValues(t, w.EndTimestamp(), sp.End)
			require.EqualValues(t, w.DroppedEventsCount(), sp.DroppedEvents)
			require.EqualValues(t, w.Status().Code(), sp.StatusCode)
			require.Equal(t, want(w.Attributes()), asMap(t, sp.Attrs))
			require.Len(t, sp.Events, w.Events().Len())
			for k := range sp.Events {
				we := w.Events().At(k)
				require.Equal(t, we.Name(), sp.EventName(k))
				require.EqualValues(t, we.Timestamp(), sp.Events[k].Time)
				require.Equal(t, we.Attributes().Len() > 0, sp.Events[k].HasAttrs())
				at, err := sp.EventAttrs(k, nil)
				require.NoError(t, err)
				require.Equal(t, want(we.Attributes()), asMap(t, at))
			}
			i++
			return nil
		}))
		require.Len(t, flat, i)
	})
}

func TestLogRecordsEqualPdata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ld := plog.NewLogs()
		sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		sl.Scope().SetName("a")
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			lr := sl.LogRecords().AppendEmpty()
			lr.SetEventName(rapid.String().Draw(t, "event"))
			lr.SetTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "at")))
			lr.SetSeverityNumber(plog.SeverityNumberInfo)
			lr.Body().SetStr(rapid.String().Draw(t, "body"))
			lr.SetSpanID(pcommon.SpanID{7})
			drawAttrs(t, lr.Attributes(), "attributes")
		}
		b, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
		require.NoError(t, err)
		i := 0
		require.NoError(t, LogRecords(b, nil, func(src *Source, lr *LogRecord) error {
			w := sl.LogRecords().At(i)
			require.Equal(t, "a", src.ScopeName)
			require.Equal(t, w.EventName(), lr.EventName)
			require.EqualValues(t, w.Timestamp(), lr.Time)
			require.Equal(t, w.Body().Str(), lr.Body.Str())
			require.Equal(t, want(w.Attributes()), asMap(t, lr.Attrs))
			i++
			return nil
		}))
		require.Equal(t, sl.LogRecords().Len(), i)
	})
}

// A template takes exactly the records that differ where they may, and reads what parsing reads.
func TestTemplateEqualsParsing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ld := plog.NewLogs()
		sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		for range 2 {
			lr := sl.LogRecords().AppendEmpty()
			lr.SetEventName("gen_ai.chunk")
			lr.SetTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "at")))
			lr.SetObservedTimestamp(pcommon.Timestamp(rapid.Uint64().Draw(t, "observed")))
			lr.Attributes().PutStr("model", rapid.SampledFrom([]string{"m", "m", "m", "n"}).Draw(t, "model"))
			lr.Attributes().PutInt("index", rapid.Int64Range(-1, 300).Draw(t, "index"))
			lr.Attributes().PutInt("bytes", rapid.Int64Range(0, 300).Draw(t, "bytes"))
		}
		b, err := plogotlp.NewExportRequestFromLogs(ld).MarshalProto()
		require.NoError(t, err)
		var tpl Template
		var taken Match
		hit := false
		seen := 0
		require.NoError(t, LogRecords(b, func(_ *Source, raw []byte) bool {
			taken, hit = tpl.Match(raw)
			return false
		}, func(_ *Source, lr *LogRecord) error {
			var ok bool
			index, _ := lr.Attrs[1].Value.Int()
			size, _ := lr.Attrs[2].Value.Int()
			if seen == 1 && hit {
				require.Equal(t, Match{Time: lr.Time, Observed: lr.Observed, Num: [MaxVariable]int64{index, size}}, taken)
				require.Equal(t, sl.LogRecords().At(0).Attributes().AsRaw()["model"], lr.Attrs[0].Value.Str())
			}
			tpl, ok = lr.Template([]int{1, 2})
			require.True(t, ok)
			m, ok := tpl.Match(lr.raw)
			require.True(t, ok)
			require.Equal(t, Match{Time: lr.Time, Observed: lr.Observed, Num: [MaxVariable]int64{index, size}}, m)
			_, ok = lr.Template([]int{0})
			require.False(t, ok, "a string is no int")
			seen++
			return nil
		}))
		require.Equal(t, 2, seen)
	})
}

func TestMalformed(t *testing.T) {
	for name, b := range map[string][]byte{
		"field 0":           {0x00, 0x01},
		"length past end":   {0x0a, 0x05, 0x01},
		"group":             {0x0b},
		"truncated fixed64": {0x09, 1, 2, 3},
		"text":              []byte("hello"),
		"endless varint":    {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			err := Spans(b, func(*Source, *Span) error { return nil })
			require.ErrorIs(t, err, ErrMalformed)
			err = LogRecords(b, nil, func(*Source, *LogRecord) error { return nil })
			require.ErrorIs(t, err, ErrMalformed)
		})
	}
}

func TestBoundsHold(t *testing.T) {
	var span, attrs []byte
	for range MaxEvents + 5 {
		span = append(span, 0x5a, 0)
	}
	for range MaxAttrs + 1 {
		attrs = append(attrs, 0x4a, 0)
	}
	wrap := func(b []byte) []byte {
		for _, tag := range []byte{0x12, 0x12, 0x0a} {
			b = append(binary.AppendUvarint([]byte{tag}, uint64(len(b))), b...)
		}
		return b
	}
	require.NoError(t, Spans(wrap(span), func(_ *Source, sp *Span) error {
		require.Len(t, sp.Events, MaxEvents)
		require.Equal(t, 5, sp.MoreEvents)
		return nil
	}))
	require.ErrorIs(t, Spans(wrap(attrs), func(*Source, *Span) error { return nil }), ErrTooMany)
}

func FuzzWalk(f *testing.F) {
	td := ptrace.NewTraces()
	sp := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	sp.SetName("chat")
	sp.Attributes().PutStr("gen_ai.request.model", "m")
	sp.Attributes().PutEmptySlice("a").AppendEmpty().SetInt(3)
	sp.Events().AppendEmpty().SetName("gen_ai.chunk")
	b, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x0a, 0x02, 0x12, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		touch := func(a Attrs) {
			for _, at := range a {
				_ = at.Value.Str()
				_ = at.Value.Len()
				_ = copyTo(at.Value, pcommon.NewValueEmpty())
			}
		}
		err := Spans(b, func(src *Source, sp *Span) error {
			touch(src.Resource)
			touch(sp.Attrs)
			for i := range sp.Events {
				a, err := sp.EventAttrs(i, nil)
				if err != nil {
					return err
				}
				touch(a)
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooMany) {
			t.Fatalf("unexpected error %v", err)
		}
		// Whatever pdata takes, the walker takes too.
		if req := ptraceotlp.NewExportRequest(); req.UnmarshalProto(b) == nil && err != nil {
			n := req.Traces().SpanCount()
			t.Skipf("stricter than pdata on %d spans: groups or deprecated fields", n)
		}
		_ = LogRecords(b, nil, func(src *Source, lr *LogRecord) error { touch(lr.Attrs); return nil })
	})
}

func BenchmarkSpanEvents(b *testing.B) {
	td := ptrace.NewTraces()
	sp := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	for i := range 200 {
		ev := sp.Events().AppendEmpty()
		ev.SetName("gen_ai.chunk")
		ev.SetTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + i*30_000_000))
	}
	buf, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(b, err)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := Spans(buf, func(_ *Source, sp *Span) error { n += len(sp.Events); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/chunk")
}

// copyTo writes a value into pdata, but for maps and for arrays in arrays.
func copyTo(v Value, dst pcommon.Value) error {
	switch v.Type {
	case String:
		dst.SetStr(v.Str())
	case Bool:
		b, _ := v.Bool()
		dst.SetBool(b)
	case Int:
		i, _ := v.Int()
		dst.SetInt(i)
	case Double:
		f, _ := v.Float()
		dst.SetDouble(f)
	case Bytes:
		dst.SetEmptyBytes().FromRaw(v.Raw())
	case Array:
		s := dst.SetEmptySlice()
		return v.Elements(func(_ int, e Value) bool {
			if e.Type != Array && e.Type != KVList {
				_ = copyTo(e, s.AppendEmpty())
			}
			return true
		})
	case Empty, KVList:
	}
	return nil
}
