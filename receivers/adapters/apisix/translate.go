package apisix

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// Emitter is the emitter of all records.
const Emitter = "apisix"

// Definition names whose TTFT the reported one is: $llm_time_to_first_token, from the request's sending to
// the first chunk read from upstream.
const Definition = "apisix"

// ErrOtherCall is returned for entries of requests that are not about an LLM.
var ErrOtherCall = errors.New("llm_summary, llm_model: are missing; not a request to an LLM")

// Recognize reports whether a JSON object is a log entry of APISIX: its default form, or one of the user's
// with the LLM variables under their own names.
func Recognize(obj []byte) bool {
	for _, key := range [...]string{`"llm_summary"`, `"llm_time_to_first_token"`, `"apisix_latency"`} {
		if bytes.Contains(obj, []byte(key)) {
			return true
		}
	}
	return false
}

// llm are the LLM variables. In llm_summary they have short names, in a log_format those of the variables.
type llm struct {
	Model        loosejson.Str    `json:"model"`
	RequestModel loosejson.Str    `json:"request_model"`
	TTFT         loosejson.Number `json:"duration"` // ms: llm_time_to_first_token under another name
	Prompt       loosejson.Number `json:"prompt_tokens"`
	Completion   loosejson.Number `json:"completion_tokens"`
	Upstream     loosejson.Number `json:"upstream_response_time"` // ms
}

type entry struct {
	StartTime loosejson.Str    `json:"start_time"` // ms since 1970, or text
	Latency   loosejson.Number `json:"latency"`    // ms, whole request
	Own       loosejson.Number `json:"apisix_latency"`
	Upstream  loosejson.Str    `json:"upstream"` // host:port
	RouteID   loosejson.Str    `json:"route_id"`
	ServiceID loosejson.Str    `json:"service_id"`
	Request   loosejson.Object[struct {
		Headers loosejson.Headers `json:"headers"`
	}] `json:"request"`
	Response loosejson.Object[struct {
		Status  loosejson.Number  `json:"status"`
		Headers loosejson.Headers `json:"headers"`
	}] `json:"response"`
	Summary *loosejson.Object[llm] `json:"llm_summary"`

	// variables in a user's own log_format
	Status       loosejson.Number `json:"status"`
	RequestID    loosejson.Str    `json:"apisix_request_id"`
	XRequestID   loosejson.Str    `json:"http_x_request_id"`
	PlainID      loosejson.Str    `json:"request_id"`
	UpstreamAddr loosejson.Str    `json:"upstream_addr"`
	RequestTime  loosejson.Number `json:"request_time"` // s
	Model        loosejson.Str    `json:"llm_model"`
	RequestModel loosejson.Str    `json:"request_llm_model"`
	TTFT         loosejson.Number `json:"llm_time_to_first_token"` // ms
	Prompt       loosejson.Number `json:"llm_prompt_tokens"`
	Completion   loosejson.Number `json:"llm_completion_tokens"`
	UpstreamTime loosejson.Number `json:"apisix_upstream_response_time"` // ms
	RequestType  loosejson.Str    `json:"request_type"`
}

// One reads one entry. It does not validate.
func One(obj []byte) (wire.Gateway, error) {
	var e entry
	if err := json.Unmarshal(obj, &e); err != nil {
		return wire.Gateway{}, wire.Fieldf("(item)", "is not a log entry of APISIX")
	}
	v := llm{Model: e.Model, RequestModel: e.RequestModel, TTFT: e.TTFT, Prompt: e.Prompt, Completion: e.Completion, Upstream: e.UpstreamTime}
	if e.Summary != nil {
		v.or(e.Summary.V)
	}
	if v.Model == "" && v.RequestModel == "" && !v.TTFT.Known {
		return wire.Gateway{}, ErrOtherCall
	}
	g := wire.Gateway{Tenant: wire.DefaultTenant, Emitter: Emitter, Route: string(e.RouteID)}
	e.ids(&g)
	at, ok := instant(string(e.StartTime))
	if !ok {
		return g, wire.Fieldf("start_time", "is missing or no instant; log it in milliseconds since 1970-01-01")
	}
	g.ReceivedAt = at
	g.Deployment = loosejson.First(string(e.Upstream), string(e.UpstreamAddr), string(e.ServiceID))
	g.RouteDecision.Chosen = loosejson.First(string(e.Upstream), string(e.UpstreamAddr))
	g.Model = loosejson.First(string(v.RequestModel), string(v.Model))
	if m := string(v.Model); m != g.Model {
		g.ModelVersion = m
	}
	g.OverheadUS = e.Own.Micros(1000)
	whole := e.Latency.Micros(1000)
	if !whole.OK {
		whole = e.RequestTime.Micros(1_000_000)
	}
	if whole.OK {
		g.LastByteAt = at + whole.V
	}
	status := e.Response.V.Status
	if !status.Known {
		status = e.Status
	}
	if status.Known && status.V >= 100 && status.V < 1000 {
		g.Status = int32(status.V)
	}
	switch {
	case g.Status == wire.StatusClientGone:
		g.CancelledAt = g.LastByteAt // nginx's code for a client that went away
	case g.Status >= 400:
		g.ErrorType = "http_" + strconv.Itoa(int(g.Status))
	}
	g.PromptTokens, g.OutputTokens = v.Prompt.Count(), v.Completion.Count()
	r := wire.Reported{TTFTUS: v.TTFT.Micros(1000), E2EUS: v.Upstream.Micros(1000)}
	if e.RequestType == "ai_chat" || r.TTFTUS.V == 0 {
		r.TTFTUS = wire.Opt[int64]{} // not streamed, or no token came: the variable starts at 0
	}
	if r != (wire.Reported{}) {
		r.Definition = Definition
		g.Reported = r
	}
	if g.Deployment != "" {
		g.Attempts = []wire.Attempt{{Attempt: 1, Deployment: g.Deployment, Model: g.Model, Status: g.Status, ErrorType: g.ErrorType, Served: g.ErrorType == ""}}
	}
	return g, nil
}

// or fills what isn't known from a summary.
func (v *llm) or(s llm) {
	v.Model = loosejson.Str(loosejson.First(string(v.Model), string(s.Model)))
	v.RequestModel = loosejson.Str(loosejson.First(string(v.RequestModel), string(s.RequestModel)))
	for _, p := range [...]struct{ to, from *loosejson.Number }{
		{&v.TTFT, &s.TTFT}, {&v.Prompt, &s.Prompt}, {&v.Completion, &s.Completion}, {&v.Upstream, &s.Upstream},
	} {
		if !p.to.Known {
			*p.to = *p.from
		}
	}
}

func (e *entry) ids(g *wire.Gateway) {
	h := e.Request.V.Headers
	own := loosejson.First(string(e.RequestID), e.Response.V.Headers.Get("x-request-id"), e.Response.V.Headers.Get("apisix-request-id"))
	for _, id := range [...]string{h.Get("x-request-id"), string(e.XRequestID), string(e.PlainID), own} {
		switch {
		case !wire.ValidID(id) || id == "-": // nginx writes "-" for what it doesn't have
		case g.RequestID == "":
			g.RequestID = id
		case id != g.RequestID && len(g.Aliases) == 0:
			g.Aliases = append(g.Aliases, id)
		}
	}
	g.TraceID = loosejson.TraceID(h.Get("traceparent"))
	if g.RequestID == "" {
		g.RequestID = g.TraceID
	}
}

// instant reads $start_time of the default log (ms), $msec (s with a fraction) and ISO dates.
func instant(s string) (int64, bool) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case math.IsNaN(v) || v <= 0 || v > 1e14:
			return 0, false
		case v < 1e11: // seconds until the year 5138, milliseconds from 1973 on
			return int64(math.Round(v * 1e6)), true
		default:
			return int64(math.Round(v * 1000)), true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UnixMicro(), err == nil
}
