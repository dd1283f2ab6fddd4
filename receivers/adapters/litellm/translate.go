package litellm

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// Emitter is the emitter of all records.
const Emitter = "litellm"

// Definition names whose TTFT the reported one is: LiteLLM's start of the call to the first chunk that it
// got from upstream.
const Definition = "litellm"

// clientAbort is the error class of a call that whoever asked left.
const clientAbort = "client_abort"

// ErrOtherCall is returned for the record of a call that streams no answer: embeddings, images, audio, ….
var ErrOtherCall = errors.New("call_type: is not a chat, completion or responses call")

// Recognize reports whether a JSON object is a standard_logging_object, bare or wrapped. It looks at key
// names only.
func Recognize(obj []byte) bool {
	return bytes.Contains(obj, []byte(`"standard_logging_object"`)) ||
		bytes.Contains(obj, []byte(`"startTime"`)) && bytes.Contains(obj, []byte(`"call_type"`))
}

// Translate reads one standard_logging_object, an array of them, or several one after the other, each bare
// or wrapped as {"standard_logging_object": …}. It returns the records of the good ones; the error joins one
// *wire.ItemError for each that was refused. Records of other calls (ErrOtherCall) are left out silently.
// Nothing is validated.
//
// The streams are of the gateway tier: what LiteLLM says of a streamed answer (tokens, reason to stop, its
// own TTFT) without chunk times.
func Translate(raw []byte) ([]wire.Gateway, []wire.Stream, error) {
	var gateways []wire.Gateway
	var streams []wire.Stream
	var errs []error
	wire.EachItem(raw, wire.NewDefaultDecodeOptions(), func(i int, obj []byte, err *wire.ItemError) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		g, s, e := One(obj)
		switch {
		case errors.Is(e, ErrOtherCall):
			return
		case e != nil:
			errs = append(errs, &wire.ItemError{Index: i, RequestID: valid(g.RequestID), Err: e})
			return
		}
		gateways = append(gateways, g)
		if s != nil {
			streams = append(streams, *s)
		}
	})
	return gateways, streams, errors.Join(errs...)
}

func valid(id string) string {
	if wire.ValidID(id) {
		return id
	}
	return ""
}

// One reads one object. The stream is nil unless the answer was streamed. It does not validate.
func One(obj []byte) (wire.Gateway, *wire.Stream, error) {
	var wrapped struct {
		Object json.RawMessage `json:"standard_logging_object"`
	}
	if bytes.Contains(obj, []byte(`"standard_logging_object"`)) {
		if err := json.Unmarshal(obj, &wrapped); err != nil {
			return wire.Gateway{}, nil, wire.Fieldf("(item)", "is not a JSON object")
		}
		if len(wrapped.Object) > 0 {
			obj = wrapped.Object
		}
	}
	var p payload
	if err := json.Unmarshal(obj, &p); err != nil {
		// Not the decoder's text: it may quote a prompt.
		return wire.Gateway{}, nil, wire.Fieldf("(item)", "is not a standard_logging_object")
	}
	if otherCall(string(p.CallType)) {
		return wire.Gateway{}, nil, ErrOtherCall
	}
	g := p.gateway()
	for _, t := range [...]struct {
		name string
		at   instant
	}{{"startTime", p.StartTime}, {"endTime", p.EndTime}, {"completionStartTime", p.CompletionStartTime}} {
		if t.at.bad {
			return g, nil, wire.Fieldf(t.name, "is neither seconds since 1970-01-01 nor a date with time")
		}
	}
	if p.StartTime.us == 0 {
		return g, nil, wire.Fieldf("startTime", "is missing")
	}
	if p.EndTime.us != 0 && p.EndTime.us < p.StartTime.us {
		return g, nil, wire.Fieldf("endTime", "lies before startTime")
	}
	if !p.streamed() {
		return g, nil, nil
	}
	return g, p.stream(&g), nil
}

// otherCall tells the calls that answer with no text. New ways to ask for text appear, so they are not
// listed.
func otherCall(callType string) bool {
	c := strings.ToLower(callType)
	for _, w := range [...]string{
		"embedding", "image", "speech", "transcription", "moderation", "rerank", "file", "batch", "vector_store",
		"mcp", "search", "health", "fine_tuning", "video", "ocr", "container", "skill",
	} {
		if strings.Contains(c, w) {
			return true
		}
	}
	return false
}

func (p *payload) streamed() bool { return p.Stream.V }

func (p *payload) gateway() wire.Gateway {
	g := wire.Gateway{
		Tenant:      wire.DefaultTenant,
		Emitter:     Emitter,
		Route:       string(p.ModelGroup),
		ReceivedAt:  p.StartTime.us,
		LastByteAt:  p.EndTime.us,
		FirstByteAt: p.CompletionStartTime.us,
		ResponseID:  string(p.ID),
	}
	g.Provider = string(p.Provider)
	g.Model = p.model()
	g.Deployment = loosejson.First(string(p.ModelID), string(p.Hidden.V.ModelID), host(loosejson.First(string(p.APIBase), string(p.Hidden.V.APIBase))))
	g.RouteDecision.Chosen = loosejson.First(string(p.ModelID), string(p.Hidden.V.ModelID))
	p.ids(&g)
	if p.CacheHit.Known {
		g.CacheResult = map[bool]string{true: "hit", false: "miss"}[p.CacheHit.V]
	}
	g.PromptTokens, g.OutputTokens = p.PromptTokens.Count(), p.CompletionTokens.Count()
	g.OverheadUS = p.Hidden.V.OverheadMS.Micros(1000)
	g.QueueWaitUS = p.Metadata.V.QueueSeconds.Micros(1_000_000)
	g.Priority = p.Metadata.V.RequestPriority.Count()
	g.Retries = either(p.Metadata.V.Retries.Count(), header(p.Hidden.V.Headers, "x-litellm-attempted-retries"))
	g.Fallbacks = either(p.Metadata.V.Fallbacks.Count(), header(p.Hidden.V.Headers, "x-litellm-attempted-fallbacks"))
	p.outcome(&g)
	if g.LastByteAt != 0 && g.FirstByteAt > g.LastByteAt || g.FirstByteAt < g.ReceivedAt {
		g.FirstByteAt = 0 // LiteLLM's completionStartTime is a guess where nothing was streamed
	}
	p.reported(&g)
	a := wire.Attempt{
		Attempt: 1, Deployment: g.Deployment, Provider: g.Provider, Model: g.Model,
		Start: p.StartTime.us, End: p.EndTime.us, Status: g.Status, ErrorType: g.ErrorType,
		Served: g.ErrorType == "" || g.CancelledAt != 0,
	}
	if r := g.Retries.Or(0) + g.Fallbacks.Or(0); r > 0 && r < 1000 {
		a.Attempt = uint32(r) + 1
	}
	if g.CacheResult != "hit" {
		g.Attempts = []wire.Attempt{a}
	}
	return g
}

// ids: the client's own id joins the tiers; LiteLLM's call id and the engine's id are its other names.
func (p *payload) ids(g *wire.Gateway) {
	client := loosejson.First(p.Metadata.V.CustomHeaders.Get("x-request-id"), p.Metadata.V.Requester.Headers.Get("x-request-id"))
	for _, id := range [...]string{client, string(p.CallID), string(p.ID), string(p.TraceID)} {
		if wire.ValidID(id) {
			g.RequestID = id
			break
		}
	}
	if g.RequestID == "" {
		g.RequestID = loosejson.First(string(p.CallID), string(p.ID))
	}
	for _, id := range [...]string{
		client, string(p.CallID), string(p.ID), loosejson.BareID(string(p.ID)), string(p.TraceID),
		p.Hidden.V.Headers.Get("llm_provider-x-request-id"), p.Hidden.V.Headers.Get("x-request-id"), // the latter of failed calls
	} {
		if id != "" && id != g.RequestID && id != g.ResponseID && len(id) <= 256 && !contains(g.Aliases, id) {
			g.Aliases = append(g.Aliases, id)
		}
	}
	g.TraceID = loosejson.TraceID(loosejson.First(p.Metadata.V.Requester.Headers.Get("traceparent"), p.Metadata.V.CustomHeaders.Get("traceparent")))
}

// statuses are those of LiteLLM's exceptions (litellm/exceptions.py), for payloads whose error_code is the provider's own word.
var statuses = map[string]int32{
	"BadRequestError": 400, "ContextWindowExceededError": 400, "ContentPolicyViolationError": 400, "UnsupportedParamsError": 400,
	"AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404, "Timeout": 408, "UnprocessableEntityError": 422,
	"RateLimitError": 429, "InternalServerError": 500, "BadGatewayError": 502, "ServiceUnavailableError": 503,
}

// outcome reads why a call failed: the class of the exception and the status, never its message. An aborted stream is a success
// to LiteLLM 1.110, with this class and the status 499.
func (p *payload) outcome(g *wire.Gateway) {
	class := wire.ErrorClass(string(p.Error.V.Class))
	if code, err := strconv.ParseInt(string(p.Error.V.Code), 10, 32); err == nil && code >= 100 && code <= 999 {
		g.Status = int32(code)
	}
	failed := strings.EqualFold(string(p.Status), "failure")
	switch {
	// Python's asyncio.CancelledError, starlette's ClientDisconnect.
	case strings.Contains(class, "Cancelled") || strings.Contains(class, "ClientDisconnect"):
		g.ErrorType, g.Status, g.CancelledAt = clientAbort, wire.StatusClientGone, p.EndTime.us
	case failed:
		g.ErrorType = loosejson.First(class, "failure")
		if g.Status == 0 {
			g.Status = statuses[class]
		}
	case g.Status == 0 && p.Status != "":
		g.Status = 200
	}
	if (failed || g.CancelledAt != 0) && g.FirstByteAt == g.LastByteAt {
		g.FirstByteAt = 0 // no byte came: LiteLLM then puts the end there
	}
}

// reported takes LiteLLM's own numbers. For streams response_time is the time to first token; otherwise it
// is the whole call (docs.litellm.ai/docs/proxy/logging_spec).
func (p *payload) reported(g *wire.Gateway) {
	r := wire.Reported{Definition: Definition}
	if p.EndTime.us > p.StartTime.us && p.StartTime.us > 0 {
		r.E2EUS = wire.Some(p.EndTime.us - p.StartTime.us)
	}
	if p.streamed() && g.ErrorType == "" {
		switch t := p.CompletionStartTime.us - p.StartTime.us; {
		case p.CompletionStartTime.us > 0 && p.StartTime.us > 0 && t >= 0:
			r.TTFTUS = wire.Some(t)
		default:
			r.TTFTUS = p.ResponseTime.Micros(1_000_000)
		}
	}
	if r.TTFTUS.OK || r.E2EUS.OK {
		g.Reported = r
	}
}

func (p *payload) stream(g *wire.Gateway) *wire.Stream {
	s := &wire.Stream{
		RequestID: g.RequestID, Tenant: g.Tenant, Tier: wire.TierGateway, Attempt: 1, Emitter: Emitter, Final: true,
		Target: g.Target, Route: g.Route, StartedAt: g.ReceivedAt,
		PromptTokens: g.PromptTokens, OutputTokens: g.OutputTokens,
		Reported: g.Reported, ErrorType: g.ErrorType, Status: g.Status,
		ResponseID: g.ResponseID, TraceID: g.TraceID, Aliases: g.Aliases,
	}
	if len(g.Attempts) > 0 {
		s.Attempt = g.Attempts[0].Attempt
	}
	if p.EndTime.us >= p.StartTime.us && p.EndTime.us > 0 {
		s.EndUS = wire.Some(p.EndTime.us - p.StartTime.us)
	}
	if len(p.Response.V.Choices) > 0 && g.CancelledAt == 0 { // LiteLLM makes up a "stop" for what was aborted
		s.FinishReason = string(p.Response.V.Choices[0].FinishReason)
	}
	for _, u := range [...]*usage{&p.Metadata.V.Usage.V, &p.Response.V.Usage.V} {
		s.ReasoningTokens = either(s.ReasoningTokens, u.Completion.Reasoning.Count())
		s.CachedTokens = either(s.CachedTokens, either(u.Prompt.Cached.Count(), u.CacheRead.Count()))
	}
	return s
}

// model is the model without the provider that LiteLLM writes in front of it.
func (p *payload) model() string {
	m := loosejson.First(string(p.Model), string(p.Hidden.V.ModelName))
	if rest, ok := strings.CutPrefix(m, string(p.Provider)+"/"); ok && rest != "" {
		return rest
	}
	return m
}

func host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}

func header(h loosejson.Headers, name string) wire.Opt[int64] {
	n, err := strconv.ParseInt(h.Get(name), 10, 32)
	if err != nil || n < 0 {
		return wire.Opt[int64]{}
	}
	return wire.Some(n)
}

func either(a, b wire.Opt[int64]) wire.Opt[int64] {
	if a.OK {
		return a
	}
	return b
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
