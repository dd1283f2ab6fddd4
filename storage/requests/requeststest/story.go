// Package requeststest draws the records of requests, and the ways in which they are delivered.
package requeststest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
)

const (
	ms  = int64(1000)
	sec = 1000 * ms
	// Noon is when the requests of tests start.
	Noon = wiretest.Day + 12*3600*sec
)

// Story draws the records of one request as its tiers would send them: attempts that fail before one succeeds,
// streams in segments, a gateway, a page. Nothing is delivered twice yet.
func Story(t *rapid.T, id string) requests.Records {
	var rec requests.Records
	start := Noon + rapid.Int64Range(0, 1800).Draw(t, "start")*sec
	attempts := rapid.Uint32Range(1, 3).Draw(t, "attempts")
	model := rapid.SampledFrom([]string{"m-large", "m-small"}).Draw(t, "model")
	hasServer := rapid.IntRange(0, 9).Draw(t, "server known") > 0
	for n := uint32(1); hasServer && n <= attempts; n++ {
		emitters := []string{"tap"}
		if rapid.IntRange(0, 4).Draw(t, "two emitters") == 0 {
			emitters = append(emitters, "vllm")
		}
		for k, emitter := range emitters {
			s := Whole(t, id, emitter, n, start+int64(n-1)*3*sec+int64(k)*ms, n == attempts)
			s.Model = model
			rec.Streams = append(rec.Streams, Segments(t, s)...)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "gateway streams") == 0 {
		s := Whole(t, id, "litellm", rapid.Uint32Range(1, 3).Draw(t, "relayed attempt"), start-5*ms, true)
		s.Tier = wire.TierGateway
		rec.Streams = append(rec.Streams, Segments(t, s)...)
	}
	if rapid.Bool().Draw(t, "gateway known") {
		rec.Gateways = append(rec.Gateways, gatewayRecord(t, id, attempts, start-20*ms, model))
	}
	if rapid.IntRange(0, 2).Draw(t, "client known") > 0 || rec.Empty() {
		rec.Clients = clientSegments(t, id, start-60*ms)
	}
	return rec
}

// Whole draws one stream of the server tier, not cut into segments.
func Whole(t *rapid.T, id, emitter string, attempt uint32, start int64, last bool) wire.Stream {
	s := wire.Stream{
		RequestID: id, Tenant: "default", Tier: wire.TierServer, Attempt: attempt, Emitter: emitter, StartedAt: start, Final: true,
		Target: wire.Target{Provider: "openai", Deployment: fmt.Sprintf("d%d", attempt)}, App: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "app"),
		QueryType: rapid.SampledFrom([]string{"", "short_qa"}).Draw(t, "query type"), StartUnknown: rapid.IntRange(0, 9).Draw(t, "start unknown") == 0,
	}
	at := rapid.Int64Range(1, 500).Draw(t, "ttft") * ms
	for i := range rapid.IntRange(0, 30).Draw(t, "chunks") {
		kind := wire.KindContent
		if i == 0 && rapid.Bool().Draw(t, "role first") {
			kind = wire.KindRole
		} else if rapid.IntRange(0, 9).Draw(t, "reasoning") == 0 {
			kind = wire.KindReasoning
		}
		s.Chunks.T = append(s.Chunks.T, at)
		s.Chunks.Kind = append(s.Chunks.Kind, kind)
		s.Chunks.Bytes = append(s.Chunks.Bytes, rapid.Uint32Range(0, 9).Draw(t, "bytes"))
		at += rapid.Int64Range(0, 90).Draw(t, "gap") * ms
	}
	if rapid.Bool().Draw(t, "tokens known") {
		for range s.Chunks.T {
			s.Chunks.Tokens = append(s.Chunks.Tokens, 1)
		}
	}
	s.HeadersUS = wire.Some(at / 3)
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0:
		s.ErrorType, s.Status = "upstream_reset", 200
	case 1:
		s.FinishReason = "client_abort"
	case 2:
		s.Final = false // still running
		return s
	default:
		s.FinishReason, s.Status, s.OutputTokens = "stop", 200, wire.Some(int64(len(s.Chunks.T)))
	}
	if !last && rapid.Bool().Draw(t, "earlier attempt fails") {
		s.ErrorType, s.Status = "http_503", 503
	}
	s.EndUS = wire.Some(at)
	return s
}

// Segments cuts a stream as an emitter would that flushes while it runs.
func Segments(t *rapid.T, s wire.Stream) []wire.Stream {
	n := len(s.Chunks.T)
	parts := rapid.IntRange(1, 4).Draw(t, "segments")
	if n < parts {
		return []wire.Stream{s}
	}
	var out []wire.Stream
	from := 0
	for k := range parts {
		to := from + (n-from)/(parts-k)
		seg := s
		seg.Seq, seg.Chunks = uint32(k), cut(s.Chunks, from, to)
		if k < parts-1 {
			seg.Final, seg.FinishReason, seg.ErrorType, seg.Status = false, "", "", 0
			seg.EndUS, seg.OutputTokens = wire.Opt[int64]{}, wire.Opt[int64]{}
		}
		out = append(out, seg)
		from = to
	}
	return out
}

func cut(c wire.Chunks, from, to int) wire.Chunks {
	out := wire.Chunks{T: c.T[from:to], Bytes: c.Bytes[from:to], Kind: c.Kind[from:to]}
	if len(c.Tokens) > 0 {
		out.Tokens = c.Tokens[from:to]
	}
	return out
}

func gatewayRecord(t *rapid.T, id string, attempts uint32, received int64, model string) wire.Gateway {
	g := wire.Gateway{
		RequestID: id, Tenant: "default", Emitter: "litellm", ReceivedAt: received, UpstreamSentAt: received + 15*ms,
		QueueWaitUS: wire.Some(rapid.Int64Range(0, 9000).Draw(t, "queue")), CacheLookupUS: wire.Some(int64(300)), Status: 200,
		Target: wire.Target{Provider: "openai", Model: model},
	}
	switch rapid.IntRange(0, 3).Draw(t, "gateway end") {
	case 0:
		g.CancelledAt = received + 2*sec
	case 1: // still running
	default:
		g.FirstByteAt, g.LastByteAt = received+300*ms, received+4*sec
	}
	if rapid.Bool().Draw(t, "attempts listed") {
		served := rapid.Uint32Range(0, attempts).Draw(t, "served")
		for n := uint32(1); n <= attempts; n++ {
			g.Attempts = append(g.Attempts, wire.Attempt{
				Attempt: n, Deployment: fmt.Sprintf("d%d", n), Model: model, Start: received + int64(n)*sec, End: received + int64(n)*sec + 900*ms,
				Status: 200, Served: n == served,
			})
		}
	}
	return g
}

func clientSegments(t *rapid.T, id string, submitAt int64) []wire.Client {
	origin := submitAt - 5*sec
	c := wire.Client{
		RequestID: id, Tenant: "default", SessionID: "s-" + id, TimeOrigin: origin, ReceivedAt: submitAt + 8*sec, Final: true,
		Submit: wire.Some(5 * sec), RequestSent: wire.Some(5*sec + 2*ms), Page: "/chat", Browser: "firefox", Country: "DE",
		App: rapid.SampledFrom([]string{"", "web"}).Draw(t, "app"),
	}
	at := 5*sec + rapid.Int64Range(80, 900).Draw(t, "client ttft")*ms
	for range rapid.IntRange(0, 10).Draw(t, "received") {
		c.Recv.T = append(c.Recv.T, at)
		c.Recv.Bytes = append(c.Recv.Bytes, rapid.Uint32Range(0, 9).Draw(t, "bytes"))
		c.Paint.T = append(c.Paint.T, at+4*ms)
		c.Paint.Bytes = append(c.Paint.Bytes, 3)
		at += rapid.Int64Range(0, 200).Draw(t, "gap") * ms
	}
	if rapid.Bool().Draw(t, "painted") {
		c.FirstPaint = wire.Some(5*sec + rapid.Int64Range(90, 999).Draw(t, "paint")*ms)
	}
	switch rapid.IntRange(0, 2).Draw(t, "client end") {
	case 0:
		c.Aborted = wire.Some(at)
	case 1:
		c.Done = wire.Some(at)
	}
	if n := len(c.Recv.T); n > 1 && rapid.Bool().Draw(t, "two beacons") {
		first, second := c, c
		first.Final, first.Done, first.Aborted = false, wire.Opt[int64]{}, wire.Opt[int64]{}
		first.Recv, first.Paint = half(c.Recv, 0, n/2), half(c.Paint, 0, n/2)
		second.Seq, second.BeaconSeq, second.Recv, second.Paint = 1, 1, half(c.Recv, n/2, n), half(c.Paint, n/2, n)
		second.ReceivedAt += 20 * sec
		return []wire.Client{first, second}
	}
	return []wire.Client{c}
}

func half(c wire.Chunks, from, to int) wire.Chunks {
	return wire.Chunks{T: c.T[from:to], Bytes: c.Bytes[from:to]}
}

// Delivered draws in what order, and how often, the records arrive. Some come late with the receiver's clock.
func Delivered(t *rapid.T, rec requests.Records) requests.Records {
	again := func(n int) []int {
		if n == 0 {
			return nil
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return append(all, rapid.SliceOfN(rapid.IntRange(0, n-1), 0, n).Draw(t, "again")...)
	}
	var out requests.Records
	for _, i := range rapid.Permutation(again(len(rec.Streams))).Draw(t, "streams") {
		out.Streams = append(out.Streams, rec.Streams[i])
	}
	for _, i := range rapid.Permutation(again(len(rec.Gateways))).Draw(t, "gateways") {
		out.Gateways = append(out.Gateways, rec.Gateways[i])
	}
	for _, i := range rapid.Permutation(again(len(rec.Clients))).Draw(t, "clients") {
		c := rec.Clients[i]
		c.ReceivedAt += rapid.Int64Range(0, 30).Draw(t, "delay") * sec
		out.Clients = append(out.Clients, c)
	}
	return out
}
