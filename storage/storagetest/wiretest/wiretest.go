// Package wiretest draws records of package wire for property tests: every field is set or absent at random,
// in the form that equal records share (no empty lists, no columns that say nothing).
package wiretest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
)

// Day is midnight of the day that drawn instants lie in, µs since the Unix epoch.
const Day = int64(1_790_812_800_000_000)

const hour = int64(3600e6)

func word(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "a", "b", "ß→", "x.y-z", "with 'quote' \\ and\ttab"}).Draw(t, label)
}

// ID draws a request id.
func ID(t *rapid.T) string {
	return rapid.StringMatching(`[A-Za-z0-9._:-]{1,20}`).Draw(t, "id")
}

func opt(t *rapid.T, label string, most int64) wire.Opt[int64] {
	if rapid.Bool().Draw(t, label+" known") {
		return wire.Some(rapid.Int64Range(0, most).Draw(t, label))
	}
	return wire.Opt[int64]{}
}

func count(t *rapid.T, label string) wire.Opt[int64] { return opt(t, label, math.MaxUint32) }

func offset(t *rapid.T, label string) wire.Opt[int64] { return opt(t, label, 24*hour) }

func names(t *rapid.T, label string) []string {
	v := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9-]{1,12}`), 0, 3).Draw(t, label)
	if len(v) == 0 {
		return nil
	}
	return v
}

// Chunks draws chunks with offsets from a first one of at most first.
func Chunks(t *rapid.T, first int64, columns bool) wire.Chunks {
	n := rapid.IntRange(0, 12).Draw(t, "chunks")
	if n == 0 {
		return wire.Chunks{}
	}
	c := wire.Chunks{T: []int64{rapid.Int64Range(0, first).Draw(t, "first")}}
	for i := 1; i < n; i++ {
		c.T = append(c.T, c.T[i-1]+rapid.Int64Range(0, rapid.SampledFrom([]int64{50_000, wire.MaxGapUS}).Draw(t, "scale")).Draw(t, "gap"))
	}
	if rapid.Bool().Draw(t, "bytes known") {
		c.Bytes = rapid.SliceOfN(rapid.Uint32Range(0, 1<<20), n, n).Draw(t, "bytes")
	}
	if rapid.Bool().Draw(t, "kinds known") {
		kinds := rapid.SliceOfN(rapid.IntRange(0, len(wire.KindNames())-1), n, n).Draw(t, "kinds")
		all := true
		for _, k := range kinds {
			c.Kind = append(c.Kind, wire.Kind(k)) //nolint:gosec // below the number of kinds
			all = all && k == int(wire.KindContent)
		}
		if all {
			c.Kind = nil
		}
	}
	if !columns {
		return c
	}
	if rapid.Bool().Draw(t, "tokens known") {
		c.Tokens = rapid.SliceOfN(rapid.Uint32(), n, n).Draw(t, "tokens")
	}
	if rapid.Bool().Draw(t, "several choices") {
		c.Choice = rapid.SliceOfN(rapid.Uint16(), n, n).Draw(t, "choices")
		c.Choice[0] = 1
	}
	if rapid.Bool().Draw(t, "logprobs known") {
		c.Logprob = rapid.SliceOfN(rapid.Float32Range(-100, 0), n, n).Draw(t, "logprobs")
	}
	return c
}

func reported(t *rapid.T) wire.Reported {
	return wire.Reported{
		Definition: word(t, "definition"), TTFTUS: offset(t, "r.ttft"), TTFAUS: offset(t, "r.ttfa"),
		ITLMeanUS: offset(t, "r.itl"), TPOTUS: offset(t, "r.tpot"), E2EUS: offset(t, "r.e2e"),
	}
}

func target(t *rapid.T) wire.Target {
	return wire.Target{Provider: word(t, "provider"), Deployment: word(t, "deployment"), Model: word(t, "model"), ModelVersion: word(t, "version")}
}

func queryType(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "short_qa", "long_form", "other"}).Draw(t, "query type")
}

func instant(t *rapid.T, label string) int64 {
	return rapid.Int64Range(Day, Day+24*hour-1).Draw(t, label)
}

func optInstant(t *rapid.T, label string) int64 {
	if rapid.Bool().Draw(t, label+" known") {
		return instant(t, label)
	}
	return 0
}

func hexID(t *rapid.T, label string, pattern string) string {
	if !rapid.Bool().Draw(t, label+" known") {
		return ""
	}
	return rapid.StringMatching(pattern).Draw(t, label)
}

// Stream draws a stream or segment.
func Stream(t *rapid.T) wire.Stream {
	return wire.Stream{
		RequestID: ID(t), Tenant: rapid.SampledFrom([]string{"default", "acme"}).Draw(t, "tenant"),
		Tier:    rapid.SampledFrom([]wire.Tier{wire.TierServer, wire.TierGateway}).Draw(t, "tier"),
		Attempt: rapid.Uint32Range(1, 1000).Draw(t, "attempt"), Emitter: word(t, "emitter"),
		Seq: rapid.Uint32().Draw(t, "seq"), Final: rapid.Bool().Draw(t, "final"),
		Target: target(t), Route: word(t, "route"), App: word(t, "app"), Region: word(t, "region"), QueryType: queryType(t),
		PromptTokens: count(t, "prompt"), OutputTokens: count(t, "output"), ReasoningTokens: count(t, "reasoning"), CachedTokens: count(t, "cached"),
		CacheHit:   rapid.SampledFrom([]string{"", "none", "partial", "full"}).Draw(t, "cache hit"),
		CacheLevel: word(t, "cache level"), CacheKeyVersion: word(t, "cache key"),
		ChunkSize: count(t, "chunk size"), MaxNumBatchedTokens: count(t, "batched"), SpecDraft: count(t, "draft"),
		SpecAccepted: count(t, "accepted"), BatchSize: count(t, "batch"),
		QueueUS: offset(t, "queue"), PrefillUS: offset(t, "prefill"), DecodeUS: offset(t, "decode"),
		StartedAt: instant(t, "started"), StartUnknown: rapid.Bool().Draw(t, "start unknown"), HeadersUS: offset(t, "headers"),
		EndUS: offset(t, "end"), ObservedUS: offset(t, "observed"), LostChunks: count(t, "lost chunks"), Chunks: Chunks(t, 2*hour, true), Reported: reported(t),
		Synthetic: rapid.Bool().Draw(t, "synthetic"), FinishReason: word(t, "finish"), StopReason: word(t, "stop"),
		ErrorType: word(t, "error"), Status: rapid.SampledFrom([]int32{0, 200, 503}).Draw(t, "status"), ResponseID: word(t, "response"),
		TraceID: hexID(t, "trace", `[0-9a-f]{32}`), SpanID: hexID(t, "span", `[0-9a-f]{16}`), Aliases: names(t, "aliases"),
	}
}

// Gateway draws a gateway record.
func Gateway(t *rapid.T) wire.Gateway {
	g := wire.Gateway{
		RequestID: ID(t), Tenant: "default", Emitter: word(t, "emitter"), Target: target(t), Route: word(t, "route"),
		App: word(t, "app"), Region: word(t, "region"), QueryType: queryType(t),
		ReceivedAt: instant(t, "received"), UpstreamSentAt: optInstant(t, "sent"), FirstByteAt: optInstant(t, "first byte"),
		LastByteAt: optInstant(t, "last byte"), CancelledAt: optInstant(t, "cancelled"), UpstreamClosedAt: optInstant(t, "closed"),
		QueueWaitUS: offset(t, "queue wait"), CacheLookupUS: offset(t, "lookup"), CacheResult: word(t, "cache result"),
		RouteDecisionUS: offset(t, "decision"), OverheadUS: offset(t, "overhead"),
		RouteDecision: wire.RouteDecision{Policy: word(t, "policy"), Candidates: names(t, "candidates"), Chosen: word(t, "chosen"), Reason: word(t, "reason")},
		Retries:       count(t, "retries"), Fallbacks: count(t, "fallbacks"), InFlight: count(t, "in flight"), QueueDepth: count(t, "depth"),
		Status: rapid.SampledFrom([]int32{0, 200, 502}).Draw(t, "status"), ErrorType: word(t, "error"), Reported: reported(t),
		PromptTokens: count(t, "prompt"), OutputTokens: count(t, "output"), ResponseID: word(t, "response"),
		TraceID: hexID(t, "trace", `[0-9a-f]{32}`), SpanID: hexID(t, "span", `[0-9a-f]{16}`), Aliases: names(t, "aliases"),
	}
	if rapid.Bool().Draw(t, "priority known") {
		g.Priority = wire.Some(rapid.Int64Range(-5, 5).Draw(t, "priority"))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "attempts") {
		g.Attempts = append(g.Attempts, wire.Attempt{
			Attempt: uint32(i + 1), Deployment: word(t, "a.deployment"), Provider: word(t, "a.provider"), Model: word(t, "a.model"),
			Start: optInstant(t, "a.start"), End: optInstant(t, "a.end"), Status: rapid.SampledFrom([]int32{0, 200, 500}).Draw(t, "a.status"),
			ErrorType: word(t, "a.error"), Served: rapid.Bool().Draw(t, "a.served"),
		})
	}
	return g
}

// Client draws a client record.
func Client(t *rapid.T) wire.Client {
	const page = int64(400) * 24 * hour
	at := func(label string) wire.Opt[int64] { return opt(t, label, page) }
	c := wire.Client{
		RequestID: ID(t), Tenant: "default", SessionID: word(t, "session"), Seq: rapid.Uint32().Draw(t, "seq"),
		BeaconSeq: rapid.Uint32().Draw(t, "beacon"), Final: rapid.Bool().Draw(t, "final"), Attempt: count(t, "attempt"),
		Page: word(t, "page"), App: word(t, "app"), Release: word(t, "release"), Browser: word(t, "browser"), OS: word(t, "os"),
		Device: word(t, "device"), Country: word(t, "country"), QueryType: queryType(t), ContentKind: word(t, "content kind"),
		Protocol: word(t, "protocol"), PaintSource: word(t, "paint source"), ConnRTTMS: count(t, "rtt"), ConnType: word(t, "conn"),
		ConnDownlinkKb: count(t, "downlink"), TimeOrigin: rapid.Int64Range(0, 1<<53).Draw(t, "origin"), ClockNow: at("now"),
		WallNow: rapid.Int64Range(0, 1<<53).Draw(t, "wall"), ReceivedAt: instant(t, "received"),
		Submit: at("submit"), FirstFeedback: at("feedback"), RequestSent: at("sent"), Headers: at("headers"), FirstPaint: at("paint"),
		Aborted: at("aborted"), Done: at("done"), Closed: at("closed"), ErrorType: word(t, "error"), FinishReason: word(t, "finish"),
		Recv: Chunks(t, page, false), DOM: Chunks(t, page, false), Paint: Chunks(t, page, false),
		Reconnects: count(t, "reconnects"), LostBeacons: count(t, "lost"), BytesTotal: count(t, "total"),
		SampleWeight: rapid.SampledFrom([]float64{0, 1, 3.333, 10_000}).Draw(t, "weight"),
		ResponseID:   word(t, "response"), TraceID: hexID(t, "trace", `[0-9a-f]{32}`), Aliases: names(t, "aliases"),
	}
	c.DOM.Kind, c.Paint.Kind = nil, nil
	for range rapid.IntRange(0, 3).Draw(t, "visibility") {
		c.Visibility = append(c.Visibility, wire.VisibilityChange{T: rapid.Int64Range(0, page).Draw(t, "v.t"), Hidden: rapid.Bool().Draw(t, "v.hidden")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "frames") {
		c.LongFrames = append(c.LongFrames, wire.LongFrame{T: rapid.Int64Range(0, page).Draw(t, "f.t"), Dur: rapid.Int64Range(0, 1e7).Draw(t, "f.dur")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "retractions") {
		c.Retractions = append(c.Retractions, wire.Retraction{T: rapid.Int64Range(0, page).Draw(t, "x.t"), Bytes: rapid.Uint32().Draw(t, "x.bytes")})
	}
	return c
}
