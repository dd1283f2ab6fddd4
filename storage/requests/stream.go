package requests

import (
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// merged is one chunk stream with its segments brought together.
type merged struct {
	wire.Stream // the last known value of each field; Chunks unused
	line        timeline
	sc          scalars
	segments    int
	state       State
	ttft, ttfa  *int64
	missing     []int64 // numbers of segments that did not come
	lost        bool    // it fell silent for good
}

// mergeSegments joins the segments of one stream, given by ascending Seq without duplicates.
func mergeSegments(segs []wire.Stream) merged {
	m := merged{Stream: segs[0]}
	m.Chunks = wire.Chunks{}
	var lost *wire.Stream
	if n := len(segs) - 1; n > 0 && segs[n].Seq == wire.SeqLost {
		lost, segs = &segs[n], segs[:n]
	}
	if whole := &segs[0]; whole.Seq == 0 && whole.Final {
		// Segments that came before a record of the whole stream say nothing that it doesn't.
		segs = slices.DeleteFunc(slices.Clone(segs), func(s wire.Stream) bool {
			return s.Seq > 0 && (len(s.Chunks.T) > 0 || !s.Final) && lastChunk(&s) <= lastChunk(whole)
		})
	}
	m.segments = len(segs)
	next := uint32(0)
	for i := range segs {
		s := &segs[i]
		for ; next < s.Seq && len(m.missing) < maxEvidence; next++ {
			m.missing = append(m.missing, int64(next))
		}
		next = s.Seq + 1
		m.line.add(&s.Chunks)
		if i == 0 {
			continue
		}
		m.Final = m.Final || s.Final
		m.StartUnknown = m.StartUnknown || s.StartUnknown
		m.Synthetic = m.Synthetic || s.Synthetic
		for _, f := range [...]struct {
			dst *string
			v   string
		}{
			{&m.Provider, s.Provider},
			{&m.Deployment, s.Deployment},
			{&m.Model, s.Model},
			{&m.ModelVersion, s.ModelVersion},
			{&m.Route, s.Route},
			{&m.App, s.App},
			{&m.Region, s.Region},
			{&m.QueryType, s.QueryType},
			{&m.CacheHit, s.CacheHit},
			{&m.CacheLevel, s.CacheLevel},
			{&m.CacheKeyVersion, s.CacheKeyVersion},
			{&m.FinishReason, s.FinishReason},
			{&m.StopReason, s.StopReason},
			{&m.ErrorType, s.ErrorType},
			{&m.ResponseID, s.ResponseID},
			{&m.TraceID, s.TraceID},
			{&m.SpanID, s.SpanID},
			{&m.Reported.Definition, s.Reported.Definition},
		} {
			overrideText(f.dst, f.v)
		}
		for _, f := range [...]struct {
			dst *wire.Opt[int64]
			v   wire.Opt[int64]
		}{
			{&m.PromptTokens, s.PromptTokens},
			{&m.OutputTokens, s.OutputTokens},
			{&m.ReasoningTokens, s.ReasoningTokens},
			{&m.CachedTokens, s.CachedTokens},
			{&m.ChunkSize, s.ChunkSize},
			{&m.MaxNumBatchedTokens, s.MaxNumBatchedTokens},
			{&m.SpecDraft, s.SpecDraft},
			{&m.SpecAccepted, s.SpecAccepted},
			{&m.BatchSize, s.BatchSize},
			{&m.QueueUS, s.QueueUS},
			{&m.PrefillUS, s.PrefillUS},
			{&m.DecodeUS, s.DecodeUS},
			{&m.HeadersUS, s.HeadersUS},
			{&m.EndUS, s.EndUS},
			{&m.ObservedUS, s.ObservedUS},
			{&m.LostChunks, s.LostChunks},
			{&m.Reported.TTFTUS, s.Reported.TTFTUS},
			{&m.Reported.TTFAUS, s.Reported.TTFAUS},
			{&m.Reported.ITLMeanUS, s.Reported.ITLMeanUS},
			{&m.Reported.TPOTUS, s.Reported.TPOTUS},
			{&m.Reported.E2EUS, s.Reported.E2EUS},
		} {
			override(f.dst, f.v)
		}
		if s.Status != 0 {
			m.Status = s.Status
		}
	}
	m.line.order()
	m.sc = m.line.scalars()
	m.lost = lost != nil && (!m.Final || m.open()) && max(m.ObservedUS.V, lastTime(m.line.t)) <= lost.ObservedUS.V
	if m.lost {
		m.ErrorType = lost.ErrorType
	}
	m.state = streamState(&m)
	if !m.StartUnknown && segs[0].Seq == 0 {
		m.ttft, m.ttfa = m.sc.first, m.sc.answer
	}
	return m
}

// maxEvidence bounds the numbers kept of one conflict.
const maxEvidence = 16

// open reports a stream that was watched to the last and has no end: it is silent, not complete.
func (m *merged) open() bool {
	return m.ObservedUS.OK && !m.EndUS.OK && m.FinishReason == "" && m.ErrorType == "" && m.Status < 400 && !slices.Contains(m.line.kind, wire.KindDone)
}

// cut reports a stream that just stops although its emitter tells of other chunks than content, so that its terminal event
// would be among them. The stream processor calls it dead by the same signs.
func (m *merged) cut() bool {
	has := func(k wire.Kind) bool { return slices.Contains(m.line.kind, k) }
	return m.FinishReason == "" && !has(wire.KindDone) &&
		(has(wire.KindRole) || has(wire.KindUsage) || m.sc.nContent == 0 && has(wire.KindKeepalive))
}

func lastChunk(s *wire.Stream) int64 { return lastTime(s.Chunks.T) }

func lastTime(t []int64) int64 {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1]
}

func streamState(m *merged) State {
	switch {
	case m.lost:
		return StateFailed
	case !m.Final && !m.EndUS.OK, m.open():
		return StateRunning
	case wire.UserAbort(m.FinishReason) || wire.UserAbort(m.ErrorType) || m.Status == wire.StatusClientGone:
		return StateAborted
	case m.ErrorType != "" || m.Status >= 400 || wire.FailedReason(m.FinishReason), m.cut():
		return StateFailed
	}
	return StateCompleted
}

// compareStreams orders the streams of a request so that the one which represents it, and its attempt, comes
// first: completed before others, then the higher attempt, with content before without, with a known start
// before without, then the earlier start, the smaller first offset and the emitter's name.
func compareStreams(a, b *merged) int {
	return cmp.Or(
		-compareBool(a.state == StateCompleted, b.state == StateCompleted),
		-cmp.Compare(a.Attempt, b.Attempt),
		compareQuality(a, b),
	)
}

func compareQuality(a, b *merged) int {
	return cmp.Or(
		-compareBool(a.state == StateCompleted, b.state == StateCompleted),
		-compareBool(a.sc.nContent > 0, b.sc.nContent > 0),
		compareBool(a.StartUnknown, b.StartUnknown),
		cmp.Compare(a.StartedAt, b.StartedAt),
		cmp.Compare(a.Emitter, b.Emitter),
		cmp.Compare(a.RequestID, b.RequestID),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// same reports whether two streams are one generation that two emitters logged with the same times: of its chunks, or
// where neither has chunks, of its first token and its end.
func same(a, b *merged) bool {
	if a.StartedAt != b.StartedAt || len(a.line.t) != len(b.line.t) {
		return false
	}
	if len(a.line.t) == 0 {
		return a.EndUS.OK && a.EndUS == b.EndUS && a.Reported.TTFTUS == b.Reported.TTFTUS
	}
	return slices.Equal(a.line.t, b.line.t)
}

// model returns the stream in the form of the API.
func (m *merged) model() Stream {
	tokens := opt(m.OutputTokens)
	if tokens == nil {
		tokens = m.sc.chunkTokens
	}
	return Stream{
		Tier: string(m.Tier), Emitter: text(m.Emitter), StartedAt: m.StartedAt, StartUnknown: m.StartUnknown, State: m.state,
		TTFBUS: opt(m.HeadersUS), TTFTUS: m.ttft, TTFAUS: m.ttfa, LastUS: m.sc.last, EndUS: opt(m.EndUS), ObservedUS: opt(m.ObservedUS), LostChunks: opt(m.LostChunks),
		FinishReason: text(m.FinishReason), StopReason: text(m.StopReason), Error: text(m.ErrorType), Status: status(m.Status),
		NChunks: len(m.line.t), NContent: m.sc.nContent, ContentBytes: m.sc.contentBytes, Tokens: tokens,
		PromptTokens: opt(m.PromptTokens), OutputTokens: opt(m.OutputTokens), Reasoning: opt(m.ReasoningTokens), CachedTokens: opt(m.CachedTokens),
		MaxGapUS: m.sc.maxGap, MaxGapChunk: m.sc.maxGapChunk, P50GapUS: m.sc.p50, P99GapUS: m.sc.p99,
		Segments: m.segments, Synthetic: m.Synthetic, Target: target(m.Target),
		Phases: Phases{QueueUS: opt(m.QueueUS), PrefillUS: opt(m.PrefillUS), DecodeUS: opt(m.DecodeUS)},
		Engine: Engine{
			CacheHit: text(m.CacheHit), CacheLevel: text(m.CacheLevel), CacheKeyVersion: text(m.CacheKeyVersion),
			ChunkSize: opt(m.ChunkSize), MaxNumBatchedTokens: opt(m.MaxNumBatchedTokens),
			SpecDraft: opt(m.SpecDraft), SpecAccepted: opt(m.SpecAccepted), BatchSize: opt(m.BatchSize),
		},
		Reported: reported(m.Reported), ResponseID: text(m.ResponseID), TraceID: text(m.TraceID), SpanID: text(m.SpanID),
		Chunks: m.line.model(0),
	}
}

// complete takes over from another emitter's view of the same attempt what is not known: numbers and words that
// don't depend on a clock.
func (s *Stream) complete(o *Stream) {
	for _, f := range [...]struct{ dst, v **int64 }{
		{&s.PromptTokens, &o.PromptTokens},
		{&s.Reasoning, &o.Reasoning},
		{&s.CachedTokens, &o.CachedTokens},
		{&s.Phases.QueueUS, &o.Phases.QueueUS},
		{&s.Phases.PrefillUS, &o.Phases.PrefillUS},
		{&s.Phases.DecodeUS, &o.Phases.DecodeUS},
		{&s.Engine.ChunkSize, &o.Engine.ChunkSize},
		{&s.Engine.MaxNumBatchedTokens, &o.Engine.MaxNumBatchedTokens},
		{&s.Engine.SpecDraft, &o.Engine.SpecDraft},
		{&s.Engine.SpecAccepted, &o.Engine.SpecAccepted},
		{&s.Engine.BatchSize, &o.Engine.BatchSize},
	} {
		if *f.dst == nil {
			*f.dst = *f.v
		}
	}
	for _, f := range [...]struct{ dst, v **string }{
		{&s.Engine.CacheHit, &o.Engine.CacheHit},
		{&s.Engine.CacheLevel, &o.Engine.CacheLevel},
		{&s.Engine.CacheKeyVersion, &o.Engine.CacheKeyVersion},
		{&s.StopReason, &o.StopReason},
	} {
		if *f.dst == nil {
			*f.dst = *f.v
		}
	}
}
