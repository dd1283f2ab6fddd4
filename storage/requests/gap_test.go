package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// crossing is one request of known delays: page 7 s ahead of the server, gateway 3 s behind it.
type crossing struct {
	server  wire.Stream
	gateway wire.Gateway
	client  wire.Client
}

const (
	pageSkew    = 7 * sec
	gatewaySkew = -3 * sec
)

// newCrossing tells of a request that was submitted at noon by the server's clock: sent after 20 ms, at the gateway 30 ms
// later, sent on after a queue of 200 ms, at the server 1 ms later; reasoning after 400 ms, an answer after 700 ms; each
// chunk at the gateway after 2 ms, at the page 40 ms later, the answer painted 16 ms after that.
func newCrossing() crossing {
	const origin = noon - 60*sec
	page := func(at int64) int64 { return noon + at + pageSkew - origin }
	gate := func(at int64) int64 { return noon + at + gatewaySkew }
	const received, sentOn, start = 50 * ms, 250 * ms, 251 * ms
	x := crossing{
		server: wire.Stream{
			RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "vllm", StartedAt: noon + start, Final: true,
			HeadersUS: wire.Some(5 * ms), EndUS: wire.Some(800 * ms), FinishReason: "stop",
			Chunks: wire.Chunks{
				T: []int64{400 * ms, 700 * ms, 800 * ms}, Bytes: []uint32{100, 100, 100},
				Kind: []wire.Kind{wire.KindReasoning, wire.KindContent, wire.KindContent},
			},
		},
		gateway: wire.Gateway{
			RequestID: "r", Tenant: "default", Emitter: "router", ReceivedAt: gate(received), UpstreamSentAt: gate(sentOn),
			FirstByteAt: gate(start + 400*ms + 2*ms), LastByteAt: gate(start + 802*ms), QueueWaitUS: wire.Some(200 * ms),
			Attempts: []wire.Attempt{{Attempt: 1, Start: gate(sentOn), End: gate(start + 802*ms), Status: 200, Served: true}},
		},
		client: wire.Client{
			RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: origin, Final: true, Submit: wire.Some(page(0)), RequestSent: wire.Some(page(20 * ms)),
			FirstPaint: wire.Some(page(start + 700*ms + 58*ms)), Done: wire.Some(page(start + 842*ms)),
		},
	}
	for i, t := range x.server.Chunks.T {
		x.client.Recv.T = append(x.client.Recv.T, page(start+t+42*ms))
		x.client.Recv.Bytes = append(x.client.Recv.Bytes, x.server.Chunks.Bytes[i])
	}
	return x
}

func (x *crossing) join(gateway bool) *requests.Request {
	rec := requests.Records{Streams: []wire.Stream{x.server}, Clients: []wire.Client{x.client}}
	if gateway {
		rec.Gateways = []wire.Gateway{x.gateway}
	}
	return requests.Assemble("default", "r", rec)
}

// parts indexes the parts and checks that they add up.
func parts(t require.TestingT, r *requests.Request) map[string]requests.GapPart {
	out := map[string]requests.GapPart{}
	sum := int64(0)
	for _, p := range r.Perceived.Parts {
		out[p.Part] = p
		sum += p.US
	}
	require.Len(t, out, len(r.Perceived.Parts))
	if r.Perceived.GapUS == nil {
		require.Empty(t, out)
	} else {
		require.Equal(t, *r.Perceived.GapUS, sum)
	}
	return out
}

func TestGapBetweenPageAndServer(t *testing.T) {
	x := newCrossing()
	got := parts(t, x.join(false))
	require.Equal(t, 20*ms, got[requests.PartPage].US)
	require.Equal(t, 300*ms, got[requests.PartReasoning].US)
	require.Equal(t, 16*ms, got[requests.PartRender].US)
	up, down := got[requests.PartUplink], got[requests.PartDownlink]
	require.InDelta(t, 231*ms, up.US, float64(up.UncertaintyUS))
	require.InDelta(t, 42*ms, down.US, float64(down.UncertaintyUS))
	require.InDelta(t, (231+42)*ms/2, up.UncertaintyUS, 200)
	require.Zero(t, got[requests.PartRender].UncertaintyUS)
}

func TestGapThroughAGateway(t *testing.T) {
	x := newCrossing()
	r := x.join(true)
	got := parts(t, r)
	require.Equal(t, 200*ms, got[requests.PartGatewayQueue].US)
	up := got[requests.PartUplink]
	require.InDelta(t, 30*ms, up.US, float64(up.UncertaintyUS))
	// The page can't have waited for so long that the gateway's first byte was the server's headers: it was the first text.
	require.InDelta(t, 1*ms+2*ms, got[requests.PartUpstream].US, 1)
	down := got[requests.PartDownlink]
	require.InDelta(t, 40*ms, down.US, float64(down.UncertaintyUS))
	require.NotContains(t, got, requests.PartRetries)

	require.NotNil(t, r.Gateway.Clock)
	require.LessOrEqual(t, r.Gateway.Clock.MinUS, gatewaySkew)
	require.GreaterOrEqual(t, r.Gateway.Clock.MaxUS, gatewaySkew)

	// With the gateway's own chunk times all legs are right.
	relay := x.server
	relay.Tier, relay.Emitter, relay.StartedAt = wire.TierGateway, "router", x.gateway.ReceivedAt
	relay.HeadersUS = wire.Opt[int64]{}
	relay.Chunks.T = nil
	for _, at := range x.server.Chunks.T {
		relay.Chunks.T = append(relay.Chunks.T, x.server.StartedAt+at+2*ms+gatewaySkew-relay.StartedAt)
	}
	relay.EndUS = wire.Opt[int64]{}
	r = requests.Assemble("default", "r", requests.Records{
		Streams: []wire.Stream{x.server, relay}, Clients: []wire.Client{x.client}, Gateways: []wire.Gateway{x.gateway},
	})
	got = parts(t, r)
	require.Equal(t, 3*ms, got[requests.PartUpstream].US)
	up, down = got[requests.PartUplink], got[requests.PartDownlink]
	require.InDelta(t, 30*ms, up.US, float64(up.UncertaintyUS))
	require.InDelta(t, 40*ms, down.US, float64(down.UncertaintyUS))
	require.InDelta(t, 70*ms/2, up.UncertaintyUS, 200)
	c := r.Gateway.Clock
	require.InDelta(t, gatewaySkew, c.OffsetUS, float64(c.UncertaintyUS))
	require.InDelta(t, 3*ms/2, c.UncertaintyUS, 200)
}

func TestGapOfARetry(t *testing.T) {
	x := newCrossing()
	x.gateway.Attempts = []wire.Attempt{
		{Attempt: 1, Start: x.gateway.UpstreamSentAt - 150*ms, End: x.gateway.UpstreamSentAt - 10*ms, Status: 503},
		{Attempt: 2, Start: x.gateway.UpstreamSentAt, Status: 200, Served: true},
	}
	x.gateway.UpstreamSentAt -= 150 * ms
	x.server.Attempt = 2
	got := parts(t, x.join(true))
	require.Equal(t, 50*ms, got[requests.PartGatewayQueue].US)
	require.Equal(t, 150*ms, got[requests.PartRetries].US)
}

func TestGapWithoutAClock(t *testing.T) {
	x := newCrossing()
	x.client.TimeOrigin = 0
	got := parts(t, x.join(false))
	require.Equal(t, (231+42)*ms, got[requests.PartNetwork].US)
	require.NotContains(t, got, requests.PartUplink)
}

func TestGapOfAPageThatCountsTheAnswerAlone(t *testing.T) {
	x := newCrossing()
	x.client.Recv.T, x.client.Recv.Bytes = x.client.Recv.T[1:], x.client.Recv.Bytes[1:]
	got := parts(t, x.join(false))
	require.Equal(t, 16*ms, got[requests.PartRender].US)
	require.Equal(t, 300*ms, got[requests.PartReasoning].US)
}

// Whatever is known, the parts add up to the gap.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests.Assemble("default", "r", story(t, "r"))
		parts(t, r)
	})
}

// Windows have the same parts.
func TestRowHasTheParts(t *testing.T) {
	x := newCrossing()
	r := x.join(true)
	row := r.Row()
	sum := row.GapPageUS.V + row.GapUplinkUS.V + row.GapGatewayQueueUS.V + row.GapRetriesUS.V + row.GapUpstreamUS.V +
		row.GapReasoningUS.V + row.GapDownlinkUS.V + row.GapNetworkUS.V + row.GapDriftUS.V + row.GapRenderUS.V
	require.Equal(t, row.GapUS.V, sum)
	require.Equal(t, 200*ms, row.GapGatewayQueueUS.V)
	require.False(t, row.GapNetworkUS.OK)
}
