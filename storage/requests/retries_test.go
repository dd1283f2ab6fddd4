package requests_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// fallback is what LiteLLM and a tap behind it write of a request whose first deployment fails: the gateway one record for
// each call, without a number, of which the served one starts with the request. Between the two, the gateway tried once more
// and wrote no record. The server's records are under the request's id, or each under its own.
func fallback(forwarded bool) requests.Records {
	id := func(own string) string {
		if forwarded {
			return "r"
		}
		return own
	}
	number := func(n uint32) uint32 {
		if forwarded {
			return n // the tap counts the calls of an id
		}
		return 1
	}
	target := wire.Target{Deployment: "a"}
	failed := wire.Stream{
		RequestID: id("up-1"), Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "tap", StartedAt: noon + 2*ms, Final: true,
		EndUS: wire.Some[int64](3 * ms), Status: 500, ErrorType: "server_error",
	}
	again := failed
	again.RequestID, again.Attempt, again.StartedAt = id("up-2"), number(2), noon+900*ms
	served := wire.Stream{
		RequestID: id("up-3"), Tenant: "default", Tier: wire.TierServer, Attempt: number(3), Emitter: "tap", StartedAt: noon + sec, Final: true,
		EndUS: wire.Some[int64](sec), Status: 200, FinishReason: "stop", ResponseID: "chatcmpl-1",
		Chunks: wire.Chunks{T: []int64{250 * ms, sec}, Bytes: []uint32{4, 4}},
	}
	bad := wire.Gateway{
		RequestID: "r", Tenant: "default", Emitter: "litellm", Target: target, ReceivedAt: noon + ms, LastByteAt: noon + 6*ms, Status: 500,
		ErrorType: "InternalServerError", ResponseID: "call-1", Aliases: []string{"call-1", "up-1"},
		Attempts: []wire.Attempt{{Attempt: 1, Deployment: "a", Start: noon + ms, End: noon + 6*ms, Status: 500, ErrorType: "InternalServerError"}},
	}
	good := wire.Gateway{
		RequestID: "r", Tenant: "default", Emitter: "litellm", Target: wire.Target{Deployment: "b"}, ReceivedAt: noon, FirstByteAt: noon + sec + 2*ms,
		LastByteAt: noon + 2*sec + 2*ms, Status: 200, ResponseID: "chatcmpl-1", Aliases: []string{"call-1", "up-3"},
		Attempts: []wire.Attempt{{Attempt: 1, Deployment: "b", Start: noon, End: noon + 2*sec + 2*ms, Status: 200, Served: true}},
	}
	relay := wire.Stream{
		RequestID: "r", Tenant: "default", Tier: wire.TierGateway, Attempt: 1, Emitter: "litellm", StartedAt: noon, Final: true,
		EndUS: wire.Some[int64](2*sec + 2*ms), Status: 200, FinishReason: "stop", ResponseID: "chatcmpl-1", Aliases: good.Aliases,
	}
	rec := requests.Records{Streams: []wire.Stream{served, failed, relay}, Gateways: []wire.Gateway{good, bad}}
	if forwarded { // nothing else tells whose the call without a record is
		rec.Streams = append(rec.Streams, again)
	}
	return rec
}

func TestCallsOfAGatewayWithoutNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		forwarded bool
		served    uint32
	}{"the server has the client's id": {true, 3}, "the server has ids of its own": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			rec := fallback(c.forwarded)
			r := requests.Assemble("default", "r", rec)
			require.Empty(t, r.Conflicts)
			require.Equal(t, c.served, *r.ServedAttempt)
			require.Len(t, r.Attempts, int(c.served))
			first, last := r.Attempts[0], r.Attempts[c.served-1]
			require.Equal(t, requests.StateFailed, first.State)
			require.Equal(t, "a", *first.Gateway.Target.Deployment)
			require.EqualValues(t, 500, *first.Server.Status)
			require.Equal(t, requests.StateCompleted, last.State)
			require.Equal(t, "b", *last.Gateway.Target.Deployment)
			require.EqualValues(t, 200, *last.Server.Status)
			require.NotNil(t, last.Gateway.Stream)
			require.Equal(t, requests.StateCompleted, r.State)

			slices.Reverse(rec.Gateways)
			slices.Reverse(rec.Streams)
			require.Equal(t, r, requests.Assemble("default", "r", rec), "in any order, and again")
		})
	}
}

// Two calls that were both answered under one id are no retry.
func TestAnIdUsedTwiceIsAConflict(t *testing.T) {
	rec := fallback(false)
	rec.Streams = nil
	rec.Gateways[1].Attempts[0].ErrorType, rec.Gateways[1].Attempts[0].Served = "", true
	require.NotEmpty(t, requests.Assemble("default", "r", rec).Conflicts)
}
