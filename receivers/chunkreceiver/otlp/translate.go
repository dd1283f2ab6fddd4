package otlp

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/receivers/adapters/envoy"
	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// signal is one of the two kinds of request.
type signal uint8

const (
	signalTraces signal = iota
	signalLogs
)

// String names the signal, and its counted items, in metrics and messages.
func (s signal) String() string {
	if s == signalTraces {
		return "traces"
	}
	return "logs"
}

func (s signal) items() string {
	if s == signalTraces {
		return "spans"
	}
	return "log records"
}

// errUnparsable is a body that is not the message it should be.
var errUnparsable = errors.New("the body can't be parsed")

// translate reads one request's protobuf bytes; nothing of them is kept.
// The result lasts until release, which is always to be called.
func translate(tr *genai.Translator, sig signal, body []byte, now time.Time, st genai.Starts) (res *genai.Result, release func(), err error) {
	b := tr.NewBatch(now, st)
	if sig == signalTraces {
		err = otlpwire.Spans(body, func(src *otlpwire.Source, sp *otlpwire.Span) error {
			b.AddSpan(src, sp)
			return nil
		})
	} else {
		err = otlpwire.LogRecords(body, b.TakeLog, func(src *otlpwire.Source, lr *otlpwire.LogRecord) error {
			if lr.EventName == "" && envoy.Recognize(src, lr) {
				b.AddGateway(envoy.Translate(src, lr))
			} else {
				b.AddLog(src, lr)
			}
			return nil
		})
	}
	if err != nil {
		return nil, b.Release, fmt.Errorf("%w: %w", errUnparsable, err)
	}
	return b.Finish(), b.Release, nil
}

// logs puts a result's records into the form that the pipeline carries.
func logs(r *genai.Result, now time.Time) plog.Logs {
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().SetName("fermata")
	out := sl.LogRecords()
	out.EnsureCapacity(len(r.Streams) + len(r.Gateways) + len(r.Clients))
	observed := pcommon.NewTimestampFromTime(now)
	record := func() plog.LogRecord {
		lr := out.AppendEmpty()
		lr.SetObservedTimestamp(observed)
		return lr
	}
	for i := range r.Streams {
		lr := record()
		streamlog.PutStream(lr, &r.Streams[i])
		if r.Sources[i] == genai.FromTraceID {
			// Calls of one trace are one request then, which may be wrong: say so with the record.
			lr.Attributes().PutStr(keyIDSource, r.Sources[i].String())
		}
	}
	for i := range r.Gateways {
		streamlog.PutGateway(record(), &r.Gateways[i])
	}
	for i := range r.Clients {
		streamlog.PutClient(record(), &r.Clients[i])
	}
	return ld
}

// keyIDSource is the attribute that says where a request id came from, when that is not an id of the
// request's own.
const keyIDSource = "fermata.request_id_source"

// described is how many refusals an answer describes.
const described = 5

// describe names field and reason of the first refused items; it also warns of spans whose chunks an SDK
// dropped. Empty when there is nothing to say.
func describe(sig signal, r *genai.Result) string {
	var b strings.Builder
	if r.Rejected > 0 {
		fmt.Fprintf(&b, "%d of %d %s refused: ", r.Rejected, r.Rejected+r.Accepted+r.Ignored, sig.items())
		for i, j := range r.Rejects {
			if i == described {
				b.WriteString("; and more")
				break
			}
			if i > 0 {
				b.WriteString("; ")
			}
			fmt.Fprintf(&b, "[%d]", j.Index)
			if j.RequestID != "" {
				b.WriteString(" " + j.RequestID)
			}
			b.WriteString(" " + strings.ReplaceAll(j.Err.Error(), "\n", ", "))
		}
	}
	if r.Incomplete > 0 {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d spans came without some of their events and were kept without chunk times: raise OTEL_SPAN_EVENT_COUNT_LIMIT above the chunks of a stream", r.Incomplete)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// response is the export response: with a partial success when there is something to say.
func response(sig signal, o outcome, asJSON bool) ([]byte, error) {
	if sig == signalTraces {
		resp := ptraceotlp.NewExportResponse()
		if o.message != "" {
			resp.PartialSuccess().SetRejectedSpans(int64(o.rejected))
			resp.PartialSuccess().SetErrorMessage(o.message)
		}
		if asJSON {
			return resp.MarshalJSON()
		}
		return resp.MarshalProto()
	}
	resp := plogotlp.NewExportResponse()
	if o.message != "" {
		resp.PartialSuccess().SetRejectedLogRecords(int64(o.rejected))
		resp.PartialSuccess().SetErrorMessage(o.message)
	}
	if asJSON {
		return resp.MarshalJSON()
	}
	return resp.MarshalProto()
}

// maxDepth bounds the nesting of a JSON body. OTLP needs about a dozen levels; pdata's reader recurses.
const maxDepth = 64

// fromJSON turns an OTLP/JSON body into protobuf, so that there is one reader.
func fromJSON(sig signal, body []byte) ([]byte, error) {
	if !utf8.Valid(body) {
		return nil, fmt.Errorf("%w: not valid UTF-8", errUnparsable)
	}
	if tooDeep(body, maxDepth) {
		return nil, fmt.Errorf("%w: nested deeper than %d levels", errUnparsable, maxDepth)
	}
	if sig == signalTraces {
		req := ptraceotlp.NewExportRequest()
		if err := req.UnmarshalJSON(body); err != nil {
			return nil, fmt.Errorf("%w: %s", errUnparsable, short(err))
		}
		return req.MarshalProto()
	}
	req := plogotlp.NewExportRequest()
	if err := req.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("%w: %s", errUnparsable, short(err))
	}
	return req.MarshalProto()
}

// short cuts what the JSON reader quotes of the body: it may be a user's text.
func short(err error) string {
	s, _, _ := strings.Cut(err.Error(), ", error found in")
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

// tooDeep reports whether JSON is nested deeper than most levels. It only counts brackets outside strings.
func tooDeep(b []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
