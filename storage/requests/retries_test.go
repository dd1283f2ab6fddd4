package requests_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// unseen is a request of three calls of which the server's tap, which counts what it sees, saw some: a and c fail, b is served.
// The gateway's clock is ahead of the tap's by so much.
func unseen(sees string, ahead int64) requests.Records {
	call := func(name string, from, to int64, class string) (wire.Gateway, wire.Stream) {
		g := wire.Gateway{
			RequestID: "r", Tenant: "default", Emitter: "litellm", Target: wire.Target{Deployment: name}, ReceivedAt: noon + from + ahead,
			LastByteAt: noon + to + ahead, ErrorType: class, ResponseID: "call-" + name, Attempts: []wire.Attempt{{
				Attempt: 1, Deployment: name, Start: noon + from + ahead, End: noon + to + ahead, ErrorType: class, Served: class == "",
			}},
		}
		s := wire.Stream{
			RequestID: "r", Tenant: "default", Tier: wire.TierServer, Emitter: "tap", Target: wire.Target{Deployment: name},
			StartedAt: noon + from + ms, EndUS: wire.Some(to - from - 2*ms), Final: true, ErrorType: class, Status: 500,
		}
		if class == "" {
			s.ResponseID, s.Status, s.FinishReason, g.ResponseID = "chatcmpl-1", 200, "stop", "chatcmpl-1"
			g.ReceivedAt, g.Attempts[0].Start = noon+ahead, noon+ahead // LiteLLM writes that of the request
		}
		return g, s
	}
	var rec requests.Records
	for _, c := range []struct {
		name     string
		from, to int64
		class    string
	}{{"a", ms, 6 * ms, "APIConnectionError"}, {"c", 500 * ms, 510 * ms, "InternalServerError"}, {"b", 900 * ms, 2 * sec, ""}} {
		g, s := call(c.name, c.from, c.to, c.class)
		rec.Gateways = append(rec.Gateways, g)
		if slices.Contains([]byte(sees), c.name[0]) {
			s.Attempt = uint32(len(rec.Streams)) + 1
			rec.Streams = append(rec.Streams, s)
		}
	}
	return rec
}

// A tap that stands in front of some of the deployments only numbers what it sees; the gateway's records say which call that was.
func TestCallsThatTheServerDidNotSee(t *testing.T) {
	for _, sees := range []string{"", "b", "ab", "cb", "acb"} {
		for _, ahead := range []int64{0, 3 * ms, -3 * ms, 5 * sec, -5 * sec} {
			t.Run(fmt.Sprintf("it sees %q, clocks %d ms apart", sees, ahead/ms), func(t *testing.T) {
				r := requests.Assemble("default", "r", unseen(sees, ahead))
				require.Empty(t, r.Conflicts)
				require.EqualValues(t, 3, *r.ServedAttempt)
				require.Len(t, r.Attempts, 3)
				for i, name := range []string{"a", "c", "b"} {
					at := r.Attempts[i]
					require.Equal(t, name, *at.Gateway.Target.Deployment)
					require.Equal(t, slices.Contains([]byte(sees), name[0]), at.Server != nil, name)
					if at.Server != nil {
						require.Equal(t, name, *at.Server.Target.Deployment)
					}
				}
				require.Equal(t, requests.StateFailed, r.Attempts[1].State)
				require.Equal(t, requests.StateCompleted, r.Attempts[2].State)
			})
		}
	}
}

// A tap that has forgotten the first call counts the second as the first, too.
func TestCallsThatTheServerForgot(t *testing.T) {
	rec := unseen("cb", 0)
	rec.Streams[1].Attempt = 1
	r := requests.Assemble("default", "r", rec)
	require.Empty(t, r.Conflicts)
	require.Equal(t, "c", *r.Attempts[1].Server.Target.Deployment)
	require.Equal(t, "b", *r.Attempts[2].Server.Target.Deployment)
}

// vLLM makes an answer's id from the request's: each try has the same, and it tells no number.
func TestTriesWithOneResponseID(t *testing.T) {
	rec := unseen("acb", 0)
	for i := range rec.Streams {
		rec.Streams[i].ResponseID, rec.Gateways[i].ResponseID = "chatcmpl-r", "chatcmpl-r"
	}
	r := requests.Assemble("default", "r", rec)
	require.Empty(t, r.Conflicts)
	require.Len(t, r.Attempts, 3)
	require.Equal(t, "b", *r.Attempts[2].Server.Target.Deployment)
}

// A call that only its status tells the failure of is one that failed.
func TestAStatusIsAFailure(t *testing.T) {
	rec := fallback(false)
	rec.Streams = nil
	rec.Gateways[1].ErrorType, rec.Gateways[1].Attempts[0].ErrorType = "", ""
	r := requests.Assemble("default", "r", rec)
	require.Empty(t, r.Conflicts)
	require.EqualValues(t, 2, *r.ServedAttempt)
}

// A hedged call begins before the first one fails: that is its start, unlike that of the whole request.
func TestHedgedCallKeepsItsStart(t *testing.T) {
	rec := fallback(false)
	rec.Streams = nil
	require.Nil(t, requests.Assemble("default", "r", rec).Attempts[1].Gateway.StartUS)
	rec.Gateways[0].ReceivedAt, rec.Gateways[0].Attempts[0].Start = noon+3*ms, noon+3*ms
	start := requests.Assemble("default", "r", rec).Attempts[1].Gateway.StartUS
	require.NotNil(t, start)
	require.Zero(t, *start)
}

// The caller's records stay as they are: two joins may share them.
func TestRecordsAreNotChanged(t *testing.T) {
	for name, rec := range map[string]requests.Records{
		"one record of several calls": {Gateways: fallback(true).Gateways[:1], Streams: fallback(true).Streams}, "a record for each call": unseen("b", 0),
	} {
		before, err := json.Marshal(rec)
		require.NoError(t, err)
		done := make(chan struct{})
		for range 2 {
			go func() {
				defer func() { done <- struct{}{} }()
				requests.Assemble("default", "r", rec)
			}()
		}
		<-done
		<-done
		after, err := json.Marshal(rec)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), name)
	}
}

// Whatever calls there are, neither the order of the records nor how often one came changes the answer.
func TestCallsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := func(label string) int64 { return noon + rapid.Int64Range(0, 4).Draw(t, label)*ms }
		response := rapid.SampledFrom([]string{"", "a", "b", "c"})
		var rec requests.Records
		for range rapid.IntRange(0, 4).Draw(t, "streams") {
			rec.Streams = append(rec.Streams, wire.Stream{
				RequestID: rapid.SampledFrom([]string{"r", "r", "u1"}).Draw(t, "id"), Tenant: "default",
				Tier: rapid.SampledFrom([]wire.Tier{wire.TierServer, wire.TierGateway}).Draw(t, "tier"), Attempt: rapid.Uint32Range(1, 3).Draw(t, "attempt"),
				Emitter: rapid.SampledFrom([]string{"tap", "litellm"}).Draw(t, "emitter"), StartedAt: instant("start"), Final: true,
				EndUS: wire.Some(3 * ms), ResponseID: response.Draw(t, "response id"), Status: 200,
			})
		}
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			class := rapid.SampledFrom([]string{"", "E"}).Draw(t, "error")
			rec.Gateways = append(rec.Gateways, wire.Gateway{
				RequestID: "r", Tenant: "default", Emitter: rapid.SampledFrom([]string{"kong", "litellm"}).Draw(t, "gateway"), ReceivedAt: instant("received"),
				ResponseID: response.Draw(t, "response id"), ErrorType: class, Attempts: []wire.Attempt{{
					Attempt: rapid.Uint32Range(1, 2).Draw(t, "number"), Start: instant("call"), End: instant("end"), ErrorType: class, Served: class == "",
				}},
			})
		}
		want := requests.Assemble("default", "r", rec)
		mixed := requests.Records{
			Streams:  rapid.Permutation(append(slices.Clone(rec.Streams), rec.Streams...)).Draw(t, "streams"),
			Gateways: rapid.Permutation(append(slices.Clone(rec.Gateways), rec.Gateways[0])).Draw(t, "gateways"),
		}
		require.Equal(t, want, requests.Assemble("default", "r", mixed))
	})
}
