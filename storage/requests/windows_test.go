package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// Where only a page tells of a request, windows go by the receiver's clock, however wrong the page's own is.
func TestAPagesClockIsNotTrustedForWindows(t *testing.T) {
	for _, off := range []int64{0, 60 * sec, -60 * sec, -30 * 60 * sec, 47 * 60 * sec, -600 * 60 * sec, -3000 * 60 * sec, 3000 * 60 * sec} {
		c := wire.Client{
			RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon + off, ClockNow: wire.Some(9 * sec), ReceivedAt: noon + 10*sec,
			Submit: wire.Some(2 * sec), Recv: wire.Chunks{T: []int64{3 * sec}, Bytes: []uint32{5}}, Final: true, Done: wire.Some(4 * sec),
		}
		again := c
		again.ReceivedAt, again.ClockNow = noon+100*sec, wire.Some(80*sec)
		for _, recs := range [][]wire.Client{{c}, {c, again}, {again, c}} {
			r := requests.Assemble("default", "r", requests.Records{Clients: recs})
			require.Equal(t, noon+3*sec, r.Client.BeganAt, "received 7 s after the submit event")
			require.Equal(t, noon+3*sec, r.Summary().StartedAt)
			first, last := r.Span()
			require.Equal(t, []int64{noon + 3*sec, noon + 10*sec}, []int64{first, last})
		}
	}
	// Without its own elapsed time, or with one that can't be, the arrival counts.
	for _, now := range []wire.Opt[int64]{{}, wire.Some(1 * sec), wire.Some(200_000 * sec)} {
		c := wire.Client{RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon, ClockNow: now, ReceivedAt: noon + 10*sec, Submit: wire.Some(2 * sec)}
		require.Equal(t, noon+10*sec, requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{c}}).Summary().StartedAt)
	}
}

// A page that was closed or reloaded while the answer came is no stream that still runs.
func TestAPageThatIsClosedAborts(t *testing.T) {
	c := wire.Client{
		RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon, ReceivedAt: noon + 10*sec,
		Submit: wire.Some(2 * sec), Recv: wire.Chunks{T: []int64{3 * sec}, Bytes: []uint32{5}}, Closed: wire.Some(4 * sec),
	}
	is := func() *requests.Request {
		return requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{c}})
	}
	require.Equal(t, requests.StateAborted, is().Client.State)
	require.Equal(t, requests.StateAborted, is().State)
	c.FinishReason = "stop"
	require.Equal(t, requests.StateCompleted, is().Client.State)
	c.FinishReason, c.Done = "", wire.Some(3*sec)
	require.Equal(t, requests.StateCompleted, is().Client.State)
}

// A request that only a gateway tells of is as its served attempt is.
func TestARequestIsAsItsServedAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		attempts []wire.Attempt
		change   func(*wire.Gateway)
		want     requests.State
	}{
		"failed":              {[]wire.Attempt{{Attempt: 1, Start: noon, End: noon + sec, Status: 503, Served: true}}, nil, requests.StateFailed},
		"failed, no end":      {[]wire.Attempt{{Attempt: 1, Start: noon, Status: 503, Served: true}}, nil, requests.StateFailed},
		"ended, no last byte": {[]wire.Attempt{{Attempt: 1, Start: noon, End: noon + sec, Status: 200, Served: true}}, nil, requests.StateCompleted},
		"all failed": {
			[]wire.Attempt{{Attempt: 1, Start: noon, End: noon + 5, Status: 503}, {Attempt: 2, Start: noon + 6, End: noon + 9, Status: 500}},
			nil, requests.StateFailed,
		},
		"cancelled": {
			[]wire.Attempt{{Attempt: 1, Start: noon, End: noon + sec, Status: 200, Served: true}},
			func(g *wire.Gateway) { g.CancelledAt = noon + sec }, requests.StateAborted,
		},
		"runs": {[]wire.Attempt{{Attempt: 1, Start: noon, Status: 200, Served: true}}, nil, requests.StateRunning},
	} {
		g := wire.Gateway{RequestID: "r", Tenant: "default", Emitter: "g", ReceivedAt: noon - ms, UpstreamSentAt: noon, Attempts: c.attempts}
		if c.change != nil {
			c.change(&g)
		}
		r := requests.Assemble("default", "r", requests.Records{Gateways: []wire.Gateway{g}})
		require.Equal(t, c.want, r.State, name)
		require.Equal(t, string(c.want), r.Row().State, name)
		for i := range r.Attempts {
			if r.Attempts[i].Served {
				require.Equal(t, c.want, r.Attempts[i].State, name)
			}
		}
	}
}
