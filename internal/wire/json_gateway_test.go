package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

const fullGateway = `{"request_id":"r-1","tenant":"acme","gateway":"litellm","provider":"p","deployment":"d","model":"m","model_version":"v",
"route":"/chat","app":"a","region":"eu","query_type":"other","received_at":1760000000000000,"upstream_sent_at":1760000000003000,
"first_byte_at":1760000000200000,"last_byte_at":1760000000900000,"cancelled_at":null,"upstream_closed_at":1760000000900500,
"queue_wait_us":1500,"cache_lookup_us":300,"cache_result":"miss","route_decision_us":90,"overhead_us":2100,
"route_decision":{"policy":"least_busy","candidates":["d","e"],"chosen":"d","reason":"fewest in flight"},
"retries":1,"fallbacks":0,"priority":-1,"in_flight":12,"queue_depth":3,"status":200,"error":null,
"attempts":[{"deployment":"e","start":1760000000001000,"end":1760000000002000,"status":503,"error":{"code":503}},
{"attempt":2,"deployment":"d","provider":"p","model":"m","start":1760000000003000,"end":1760000000900000,"status":200,"served":true}],
"reported":{"definition":"litellm","ttft_us":190000,"e2e_us":899000},"prompt_tokens":10,"output_tokens":20,
"response_id":"chatcmpl-1","trace_id":"0AF7651916CD43DD8448EB211C80319C","span_id":"b7ad6b7169203331","aliases":["x"],
"attempt":2,"chunks":{"dt":[200000,100000],"bytes":[4,5],"tokens":[1,1]},"finish_reason":"stop"}`

func TestDecodeGateway(t *testing.T) {
	items, streams, errs := wire.DecodeGateways([]byte(fullGateway), options())
	require.Empty(t, problems(errs))
	some := wire.Some[int64]
	target := wire.Target{Provider: "p", Deployment: "d", Model: "m", ModelVersion: "v"}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	require.Equal(t, []wire.Gateway{{
		RequestID: "r-1", Tenant: "acme", Emitter: "litellm", Target: target,
		Route: "/chat", App: "a", Region: "eu", QueryType: "other", ReceivedAt: started, UpstreamSentAt: started + 3000,
		FirstByteAt: started + 200_000, LastByteAt: started + 900_000, UpstreamClosedAt: started + 900_500,
		QueueWaitUS: some(1500), CacheLookupUS: some(300), CacheResult: "miss", RouteDecisionUS: some(90), OverheadUS: some(2100),
		RouteDecision: wire.RouteDecision{Policy: "least_busy", Candidates: []string{"d", "e"}, Chosen: "d", Reason: "fewest in flight"},
		Retries:       some(1), Fallbacks: some(0), Priority: some(-1), InFlight: some(12), QueueDepth: some(3), Status: 200,
		Attempts: []wire.Attempt{
			{Attempt: 1, Deployment: "e", Start: started + 1000, End: started + 2000, Status: 503, ErrorType: "code_503"},
			{Attempt: 2, Deployment: "d", Provider: "p", Model: "m", Start: started + 3000, End: started + 900_000, Status: 200, Served: true},
		},
		Reported:     wire.Reported{Definition: "litellm", TTFTUS: some(190_000), E2EUS: some(899_000)},
		PromptTokens: some(10), OutputTokens: some(20),
		ResponseID: "chatcmpl-1", TraceID: trace, SpanID: "b7ad6b7169203331", Aliases: []string{"x"},
	}}, items)
	require.Equal(t, []wire.Stream{{
		RequestID: "r-1", Tenant: "acme", Tier: wire.TierGateway, Attempt: 2, Emitter: "litellm", Final: true, Target: target,
		Route: "/chat", App: "a", Region: "eu", QueryType: "other", PromptTokens: some(10), OutputTokens: some(20),
		StartedAt: started, EndUS: some(900_000), FinishReason: "stop", Status: 200,
		Chunks:     wire.Chunks{T: []int64{200_000, 300_000}, Bytes: []uint32{4, 5}, Tokens: []uint32{1, 1}},
		ResponseID: "chatcmpl-1", TraceID: trace, SpanID: "b7ad6b7169203331", Aliases: []string{"x"},
	}}, streams)
}

func TestDecodeGatewayProblems(t *testing.T) {
	f := func(extra, want string) {
		t.Helper()
		good := `{"request_id":"a","received_at":1760000000000000}`
		body := `[` + good + `,{"request_id":"b","received_at":1760000000000000,` + extra + `},` + good + `]`
		items, _, errs := wire.DecodeGateways([]byte(body), options())
		require.Len(t, items, 2, extra)
		require.Equal(t, want+"\n", problems(errs))
	}
	f(`"received_at":1`, "1 b received_at: is given twice")
	f(`"upstream_sent_at":1760000000000`, "1 b upstream_sent_at: looks like milliseconds (1760000000000); want microseconds since 1970-01-01")
	f(`"first_byte_at":1760000000000000000`, "1 b first_byte_at: looks like nanoseconds (1760000000000000000); want microseconds since 1970-01-01")
	f(`"attempts":[{},{"start":"x"}]`, "1 b attempts[1].start: is a string; want an integer number of µs since 1970-01-01")
	f(`"attempts":[{"attempt":2},{}]`, "1 b attempts[1].attempt: is 2 a second time")
	f(`"attempts":{}`, "1 b attempts: is an object; want an array of objects")
	f(`"route_decision":{"candidates":"x"}`, "1 b route_decision.candidates: is a string; want an array of strings")
	f(`"queue_wait_us":-1`, "1 b queue_wait_us: is negative (-1)")
	f(`"chunks":{"t":[2,1]}`, "1 b chunks.t[1]: is 1, before the entry in front of it (2); times must ascend")
	f(`"chunks":{"t":[1]},"attempt":0`, "1 b attempt: is 0; want 1 to 1000")
	f(`"chunks":{"t":[1]},"started_at":5`, "1 b started_at: is out of range (5); want microseconds since 1970-01-01")
	f(`"first_byte_at":1760000000300000,"last_byte_at":1760000000200000`, "1 b last_byte_at: is 100000 µs before first_byte_at")
	f(`"first_byte_at":1759999999000000`, "1 b first_byte_at: is 1000000 µs before received_at")
	f(`"last_byte_at":1759999999000000`, "1 b last_byte_at: is 1000000 µs before received_at")
	f(`"cancelled_at":1759999999000000`, "1 b cancelled_at: is 1000000 µs before received_at")
	f(`"upstream_sent_at":1759999999997999`, "1 b upstream_sent_at: is 2001 µs before received_at")
	f(`"upstream_sent_at":1760000000500000,"upstream_closed_at":1760000000400000`, "1 b upstream_closed_at: is 100000 µs before upstream_sent_at")
	f(`"gateway":"a\u0000b"`, "1 b gateway: holds a NUL byte at 1")
	f(`"status":99999`, "1 b status: is 99999; want an HTTP status, 100 to 999")
	f(`"status":7`, "1 b status: is 7; want an HTTP status, 100 to 999")
	f(`"attempts":[{"start":1760000000300000,"end":1760000000200000}]`, "1 b attempts[0].end: is 100000 µs before start")
	f(`"attempts":[{},{"status":1000}]`, "1 b attempts[1].status: is 1000; want an HTTP status, 100 to 999")
	f(`"attempts":[{"served":true},{},{"served":true}]`, "1 b attempts[2].served: is true, as that of attempts[0] is; the user got one attempt")
}

// Clocks have grains, and gateways round each time apart.
func TestGatewayTimesWithinRounding(t *testing.T) {
	for _, extra := range []string{
		`"upstream_sent_at":1760000000000000,"first_byte_at":1760000000000000,"last_byte_at":1760000000000000`,
		`"first_byte_at":1760000000201000,"last_byte_at":1760000000200000`,
		`"first_byte_at":1759999999998000`,
		`"attempts":[{"start":1760000000002000,"end":1760000000002000,"served":true},{"served":false}]`,
		`"attempts":[{"start":1760000000002000},{"end":1760000000001000}]`,
		`"last_byte_at":1760000000200000`,
		`"status":0`, `"status":499`, `"status":561`, `"status":999`, `"status":101`,
	} {
		items, _, errs := wire.DecodeGateways([]byte(`{"request_id":"b","received_at":1760000000000000,`+extra+`}`), options())
		require.Empty(t, problems(errs), extra)
		require.Len(t, items, 1)
	}
}
