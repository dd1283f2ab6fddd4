package requests_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/requests"
)

// relayed is one request through a gateway that tells no chunks, each leg of which takes a known time.
type relayed struct {
	up, queue, there, headers, first, back, down int64 // µs
	pageSkew, gatewaySkew                        int64
	headersKnown                                 bool
}

func (w *relayed) records() requests.Records {
	const origin = noon - 60*sec
	start := noon + w.up + w.queue + w.there
	page := func(at int64) int64 { return at + w.pageSkew - origin }
	gate := func(at int64) int64 { return at + w.gatewaySkew }
	way := w.back + w.down
	s := wire.Stream{
		RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "engine", StartedAt: start, Final: true, FinishReason: "stop",
	}
	c := wire.Client{
		RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: origin, Final: true, Submit: wire.Some(page(noon - ms)), RequestSent: wire.Some(page(noon)),
	}
	g := wire.Gateway{
		RequestID: "r", Tenant: "default", Emitter: "proxy", ReceivedAt: gate(noon + w.up), UpstreamSentAt: gate(start - w.there),
		FirstByteAt: gate(start + w.first + w.back),
	}
	if w.headersKnown {
		s.HeadersUS, c.Headers = wire.Some(w.headers), wire.Some(page(start+w.headers+way))
		g.FirstByteAt = gate(start + w.headers + w.back)
	}
	for k := range int64(20) {
		at := w.first + k*25*ms
		s.Chunks.T, s.Chunks.Bytes = append(s.Chunks.T, at), append(s.Chunks.Bytes, 5)
		c.Recv.T, c.Recv.Bytes = append(c.Recv.T, page(start+at+way)), append(c.Recv.Bytes, 5)
	}
	c.FirstPaint = wire.Some(c.Recv.T[0] + 16*ms)
	g.LastByteAt = gate(start + w.first + 20*25*ms)
	return requests.Records{Streams: []wire.Stream{s}, Clients: []wire.Client{c}, Gateways: []wire.Gateway{g}}
}

// A gateway that tells when it began to answer, and nothing of the chunks, has its legs as well known as the server's.
func TestLegsOfAGatewayWithoutChunks(t *testing.T) {
	w := relayed{up: 1400, queue: 50, there: 300, headers: 200, first: 210 * ms, back: 400, down: 1100, pageSkew: 47 * 60 * sec, gatewaySkew: -3 * ms, headersKnown: true}
	r := requests.Assemble("default", "r", w.records())
	require.Empty(t, r.Conflicts)
	got := parts(t, r)
	up, down := got[requests.PartUplink], got[requests.PartDownlink]
	require.NotContains(t, got, requests.PartNetwork)
	for _, leg := range []struct {
		is   requests.GapPart
		want int64
	}{{up, w.up}, {down, w.down}} {
		require.InDelta(t, leg.want, leg.is.US, float64(leg.is.UncertaintyUS))
		require.Positive(t, leg.is.US)
		require.LessOrEqual(t, leg.is.UncertaintyUS, (*r.Clock.RoundTripUS+1)/2)
	}
}

// Whatever the legs take, each is right within its ±, which is at most half of the round trip, and none is negative.
func TestLegsOfAnyGateway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leg := rapid.SampledFrom([]int64{0, 50, 2000, 40_000, 900_000})
		w := relayed{
			up: leg.Draw(t, "up"), queue: leg.Draw(t, "queue"), there: leg.Draw(t, "there"), back: leg.Draw(t, "back"), down: leg.Draw(t, "down"),
			headers: leg.Draw(t, "headers"), pageSkew: rapid.Int64Range(-1e10, 1e10).Draw(t, "page"), gatewaySkew: rapid.Int64Range(-1e7, 1e7).Draw(t, "gateway"),
			headersKnown: rapid.Bool().Draw(t, "headers known"),
		}
		w.first = w.headers + leg.Draw(t, "prefill") + 1
		r := requests.Assemble("default", "r", w.records())
		require.Empty(t, r.Conflicts)
		got := parts(t, r)
		require.GreaterOrEqual(t, got[requests.PartNetwork].US, int64(0))
		for part, want := range map[string]int64{requests.PartUplink: w.up, requests.PartDownlink: w.down} {
			p, ok := got[part]
			if !ok {
				continue
			}
			require.GreaterOrEqual(t, p.US, int64(0), part)
			require.InDelta(t, want, p.US, float64(p.UncertaintyUS+10), part)
			require.LessOrEqual(t, p.UncertaintyUS, (*r.Clock.RoundTripUS+1)/2, part)
		}
	})
}

// A gateway that tells more time than the page waited is a contradiction with its numbers, and no part of the gap.
func TestAGatewayThatContradictsThePage(t *testing.T) {
	w := relayed{up: 4 * ms, there: ms, first: 200 * ms, back: 12 * ms, down: 13 * ms, pageSkew: 7 * sec}
	rec := w.records()
	rec.Gateways[0].ReceivedAt -= 3 * sec
	rec.Gateways[0].FirstByteAt += 2 * sec
	rec.Gateways[0].LastByteAt += 2 * sec
	r := requests.Assemble("default", "r", rec)
	require.Len(t, r.Conflicts, 1)
	c := r.Conflicts[0]
	require.Equal(t, requests.ConflictClock, c.Kind)
	require.Equal(t, string(wire.TierGateway), c.Tier)
	require.Contains(t, c.Detail, "the gateway got the request before the page sent it")
	require.Len(t, c.Evidence, 2)
	require.Greater(t, c.Evidence[0]-c.Evidence[1], 4*sec, "the greatest lower bound, the least upper one")
	got := parts(t, r)
	for _, part := range []string{requests.PartGatewayQueue, requests.PartUpstream, requests.PartNetwork} {
		require.NotContains(t, got, part)
	}
	for _, part := range []string{requests.PartUplink, requests.PartDownlink} {
		require.InDelta(t, 15*ms, got[part].US, float64(got[part].UncertaintyUS), part)
	}
	row := r.Row()
	require.False(t, row.GapGatewayQueueUS.OK)
	require.False(t, row.GapUpstreamUS.OK)
	require.True(t, slices.ContainsFunc(r.ClockRows(), func(c clocks.Row) bool { return c.Tier == "server" }))
	require.False(t, slices.ContainsFunc(r.ClockRows(), func(c clocks.Row) bool { return c.Tier == "gateway" }))
}

// A gateway that fits the page, and fits the server, but held the request for longer than both leave.
func TestThreeClocksThatContradictEachOther(t *testing.T) {
	w := relayed{up: 4 * ms, there: ms, headers: 200, first: 210 * ms, back: 12 * ms, down: 13 * ms, headersKnown: true}
	rec := w.records()
	rec.Gateways[0].ReceivedAt -= 90 * ms
	r := requests.Assemble("default", "r", rec)
	require.Len(t, r.Conflicts, 1)
	require.Contains(t, r.Conflicts[0].Detail, "all three together don't")
	require.NotContains(t, parts(t, r), requests.PartGatewayQueue)
}
