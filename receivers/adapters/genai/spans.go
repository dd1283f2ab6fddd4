package genai

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

const (
	spanKindServer   = 2
	statusError      = 2
	nanosPerMicro    = 1000
	definitionVLLM   = "vllm_span"
	definitionLite   = "litellm"
	definitionLoop   = "openllmetry"
	definitionClient = "otel_client"
)

// AddSpan translates one span. Spans that are not about an LLM call are counted as ignored.
func (b *Batch) AddSpan(src *otlpwire.Source, sp *otlpwire.Span) {
	index := b.next()
	b.resource.read(src, &b.facts)
	f := &b.facts
	f.read(sp.Attrs)
	chunks := b.countChunks(sp)
	if !isCall(f, sp, chunks) {
		b.res.Ignored++
		return
	}
	s, source, err := b.span(src, sp, chunks)
	if err != nil {
		b.reject(index, 1, s.RequestID, err)
		return
	}
	b.accept(index, 1, &s, source)
}

// chunkCount is what a span's events are, by their names.
type chunkCount struct {
	chunks, done int
	own          bool // a chunk event's name belongs to a GenAI namespace
	first        bool // marks of the first chunk only
}

// countChunks classifies the span's event names, into b.classes, and counts.
func (b *Batch) countChunks(sp *otlpwire.Span) chunkCount {
	var n chunkCount
	b.classes = b.classes[:0]
	for _, name := range sp.Names {
		class := b.t.classify(name)
		b.classes = append(b.classes, class)
		n.own = n.own || (class == eventChunk || class == eventToken) && semconv.OwnName(name)
	}
	for i := range sp.Events {
		switch b.classes[sp.Events[i].Name] {
		case eventChunk, eventToken:
			n.chunks++
		case eventDone:
			n.done++
		case eventFirst:
			n.first = true
		case eventScheduled, eventOther:
		}
	}
	return n
}

// otherCalls are operations that stream no answer: their spans are left alone.
var otherCalls = map[string]bool{
	"embeddings": true, "embedding": true, "execute_tool": true, "invoke_agent": true, "create_agent": true,
	"rerank": true, "retrieval": true, "tool": true, "agent": true, "workflow": true, "task": true, "chain": true,
	"invoke_workflow": true, "image_generation": true, "speech": true, "transcription": true, "moderation": true,
	"aembedding": true, "guardrail": true, "evaluator": true, "retriever": true, "reranker": true, "prompt": true,
}

// isCall decides whether a span is one call of a model.
func isCall(f *facts, sp *otlpwire.Span, n chunkCount) bool {
	if f.fermata && (f.has(semconv.StartedAt) || hasChunks(sp.Attrs)) {
		return true
	}
	if n.own || f.has(semconv.TokenGeneratedAt) || f.has(semconv.ChunkGaps) {
		return true
	}
	switch category := strings.ToLower(f.str(semconv.SpanCategory)); {
	case category == "llm":
		return true
	case category != "":
		return false
	}
	op := f.str(semconv.Operation)
	switch {
	case otherCalls[strings.ToLower(op)]:
		return false
	case strings.HasPrefix(op, "ai.") && !strings.Contains(op, ".do"):
		return false // the Vercel AI SDK's outer span: the call itself is the inner one
	case n.chunks > 0:
		return f.genai
	}
	if !f.genai && op == "" {
		return false
	}
	return op != "" && (f.has(semconv.RequestModel) || f.has(semconv.ResponseModel)) ||
		f.has(semconv.E2ESeconds) || f.has(semconv.QueueSeconds) || f.has(semconv.TTFTSeconds) || f.has(semconv.TTFTMillis) ||
		(f.has(semconv.RequestModel) || f.has(semconv.ResponseModel)) && (f.has(semconv.OutputTokens) || f.has(semconv.Streaming) || f.has(semconv.FinishReasons))
}

func (b *Batch) span(src *otlpwire.Source, sp *otlpwire.Span, n chunkCount) (wire.Stream, IDSource, error) {
	f := &b.facts
	s := wire.Stream{Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Final: sp.End != 0}
	if f.fermata {
		if err := readNative(sp.Attrs, &s, b.t.opts); err != nil {
			return s, 0, err
		}
	}
	native := s.Chunks.Len() > 0
	s.TraceID, s.SpanID = first(s.TraceID, hexID(sp.TraceID, 16)), first(s.SpanID, hexID(sp.SpanID, 8))
	source := b.common(&s)
	vllm := f.has(semconv.E2ESeconds) || f.has(semconv.QueueSeconds) || sp.Name == "llm_request"
	s.Emitter = first(s.Emitter, b.resource.emitter, b.resource.service, emitterOf(src, vllm))
	if sp.Kind == spanKindServer || vllm {
		s.Deployment = first(s.Deployment, b.resource.deployment, b.resource.service)
	} else {
		s.Deployment = first(s.Deployment, f.server(), b.resource.deployment)
		s.App = first(s.App, b.resource.service)
	}
	if sp.StatusCode == statusError && s.ErrorType == "" {
		s.ErrorType = first(wire.ErrorClass(b.exception(sp)), "error")
	}

	start := micros(sp.Start)
	if s.StartedAt == 0 {
		s.StartedAt = start
	}
	if s.StartedAt == 0 {
		return s, source, wire.Fieldf("start_time_unix_nano", "is missing")
	}
	if err := errors.Join(b.nano("start_time_unix_nano", sp.Start), b.nano("end_time_unix_nano", sp.End)); err != nil {
		return s, source, err
	}
	d := duration(sp)
	var errs []error
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	fail(phases(f, d, &s))
	switch {
	case native:
	case f.has(semconv.ChunkGaps):
		fail(b.gaps(&s))
	case f.has(semconv.TokenGeneratedAt):
		fail(b.tokenArrays(&s, d))
	case n.chunks > 0 && sp.DroppedEvents > 0:
		// The SDK's event limit threw chunks away, and which ones differs by SDK: a first chunk or a gap read
		// from what is left would be a silent lie.
		b.res.Incomplete++
		s.LostChunks = wire.Some(int64(min(sp.DroppedEvents+uint64(n.chunks), math.MaxUint32)))
	case n.chunks > 0 && sp.MoreEvents > 0:
		fail(wire.Fieldf("events", "has more than %d entries; send the stream in segments", otlpwire.MaxEvents))
	case n.chunks > 0:
		fail(b.eventChunks(&s, sp, n))
	}
	fail(within(&s, start, d))
	if n.first && !s.Reported.TTFTUS.OK && s.Chunks.Len() == 0 {
		fail(b.firstEvent(&s, sp))
	}
	if err := errors.Join(errs...); err != nil {
		return s, source, err
	}
	end(&s, sp, start)
	if s.Reported != (wire.Reported{}) || s.Chunks.Len() == 0 {
		s.Reported.Definition = first(s.Reported.Definition, definitionOf(f, src, vllm))
	}
	if s.Chunks.Len() == 0 && !s.Reported.E2EUS.OK && d > 0 {
		s.Reported.E2EUS = wire.Some(d)
	}
	return s, source, nil
}

// within refuses chunks that lie behind their span's end. d is the span's length in µs.
func within(s *wire.Stream, start, d int64) error {
	n := s.Chunks.Len()
	if n == 0 || d == 0 {
		return nil
	}
	if at := s.StartedAt - start + s.Chunks.T[n-1]; float64(at) > longest(d) {
		return wire.Fieldf(fmt.Sprintf("chunks.t[%d]", n-1), "lies %d µs behind the end of its span; want offsets from the span's start in µs", at-d)
	}
	return nil
}

// common sets what spans and log records share.
func (b *Batch) common(s *wire.Stream) IDSource {
	f, r := &b.facts, &b.resource
	if t := first(f.str(semconv.Tenant), r.tenant); t != "" {
		s.Tenant = t
	}
	d := readIDs(f, s.TraceID, s.RequestID)
	s.RequestID = d.request
	s.ResponseID = first(s.ResponseID, d.response)
	s.Aliases = append(s.Aliases, d.aliases...)
	if n, ok := f.int(semconv.Attempt); ok && n > 0 && n <= math.MaxUint32 {
		s.Attempt = uint32(n)
	}
	s.Emitter = first(s.Emitter, f.str(semconv.Emitter))
	s.Provider = first(s.Provider, f.str(semconv.Provider))
	s.Deployment = first(s.Deployment, f.str(semconv.Deployment))
	request, response := f.str(semconv.RequestModel), f.str(semconv.ResponseModel)
	s.Model = first(s.Model, request, response)
	s.ModelVersion = first(s.ModelVersion, f.str(semconv.ModelVersion))
	if s.ModelVersion == "" && response != s.Model {
		s.ModelVersion = response // the dated snapshot behind an alias: gpt-4o → gpt-4o-2024-08-06
	}
	s.Route = first(s.Route, f.str(semconv.Route))
	s.App = first(s.App, f.str(semconv.App))
	s.Region = first(s.Region, f.str(semconv.Region), r.region)
	s.QueryType = first(s.QueryType, f.str(semconv.QueryType))
	for _, c := range [...]struct {
		field semconv.Field
		at    *wire.Opt[int64]
	}{
		{semconv.InputTokens, &s.PromptTokens},
		{semconv.OutputTokens, &s.OutputTokens},
		{semconv.ReasoningTokens, &s.ReasoningTokens},
		{semconv.CachedTokens, &s.CachedTokens},
		{semconv.TokenCached, &s.CachedTokens},
	} {
		if n, ok := f.int(c.field); ok && !c.at.OK {
			*c.at = wire.Some(n)
		}
	}
	s.FinishReason = first(s.FinishReason, f.finishReason())
	s.ErrorType = wire.ErrorClass(first(s.ErrorType, f.str(semconv.ErrorType), f.str(semconv.ExceptionType)))
	if n, ok := f.int(semconv.HTTPStatus); ok && s.Status == 0 && n >= 100 && n < 1000 {
		s.Status = int32(n)
	}
	return d.source
}

func emitterOf(src *otlpwire.Source, vllm bool) string {
	if vllm {
		return "vllm"
	}
	return first(strings.Clone(src.ScopeName), "otlp")
}

func definitionOf(f *facts, src *otlpwire.Source, vllm bool) string {
	scope := src.ScopeName
	switch {
	case vllm:
		return definitionVLLM
	case f.has(semconv.LiteLLMMark) || f.has(semconv.GatewayCallID) || strings.HasPrefix(scope, "litellm"):
		return definitionLite
	case f.has(semconv.TraceloopMark) || strings.HasPrefix(scope, "@traceloop/") ||
		f.has(semconv.Operation) && f.rank[semconv.Operation] == 1: // llm.request.type
		return definitionLoop
	default:
		return definitionClient
	}
}

// exception returns the class that an exception event names, never its message.
func (b *Batch) exception(sp *otlpwire.Span) string {
	for i := range sp.Events {
		if sp.EventName(i) != "exception" {
			continue
		}
		attrs, err := sp.EventAttrs(i, b.attrs[:0])
		b.attrs = attrs
		if err == nil {
			return attrs.Get("exception.type").Str()
		}
	}
	return ""
}

// end sets where the stream ended, which is no earlier than its last chunk.
func end(s *wire.Stream, sp *otlpwire.Span, start int64) {
	if s.EndUS.OK || !s.Final || sp.End < sp.Start || start == 0 {
		return
	}
	e := micros(sp.End) - s.StartedAt
	if n := s.Chunks.Len(); n > 0 {
		e = max(e, s.Chunks.T[n-1])
	}
	if e >= 0 {
		s.EndUS = wire.Some(e)
	}
}

// nano refuses an instant that was written in another unit than nanoseconds; 0 is left to others.
func (b *Batch) nano(field string, ns uint64) error {
	oldest := uint64(b.t.opts.Limits.OldestUS) * nanosPerMicro //nolint:gosec // a date after 1970
	if ns == 0 || ns >= oldest {
		return nil
	}
	for i, unit := range [...]string{"microseconds", "milliseconds", "seconds"} {
		factor := uint64(math.Pow(1000, float64(i+1)))
		if ns <= math.MaxUint64/factor && ns*factor >= oldest {
			return wire.Fieldf(field, "looks like %s (%d); want nanoseconds since 1970-01-01", unit, ns)
		}
	}
	return wire.Fieldf(field, "is out of range (%d); want nanoseconds since 1970-01-01", ns)
}

func micros(ns uint64) int64 { return int64(ns / nanosPerMicro) } //nolint:gosec // below 2^54

// duration is how long the span lasted, in µs; 0 when that isn't known.
func duration(sp *otlpwire.Span) int64 {
	if sp.Start == 0 || sp.End <= sp.Start {
		return 0
	}
	return micros(sp.End) - micros(sp.Start)
}
