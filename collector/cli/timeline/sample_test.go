package timeline_test

import (
	"encoding/json"

	"github.com/fermata-io/fermata/storage/requests"
)

func ptr[T any](v T) *T { return &v }

// chunksOf makes n chunks from first on, step µs apart, each later moved by the pauses in front of it.
func chunksOf(n int, first, step int64, kind string, pauses map[int]int64) *requests.Chunks {
	c := &requests.Chunks{}
	t := first
	for i := range n {
		if i > 0 {
			t += step + int64(i%7)*300
		}
		t += pauses[i]
		c.TUS = append(c.TUS, t)
		c.Bytes = append(c.Bytes, uint32(3+i%5))
		c.Tokens = append(c.Tokens, 1)
		c.Kind = append(c.Kind, kind)
	}
	return c
}

const at = int64(1_795_960_800_000_000) // 2026-11-29 14:00:00 UTC

// stalled is a request of all three tiers with one stall in the server's stream and one in the page's painting.
func stalled() *requests.Request {
	server := chunksOf(230, 412_000, 18_000, "content", map[int]int64{80: 1_850_000, 150: 640_000})
	last := server.TUS[len(server.TUS)-1]
	client := &requests.Chunks{}
	for i, t := range server.TUS {
		client.TUS = append(client.TUS, t+96_000)
		client.Bytes = append(client.Bytes, server.Bytes[i])
		client.Kind = append(client.Kind, "content")
	}
	paint := &requests.Curve{}
	for i := 0; i < len(client.TUS); i += 4 {
		t := client.TUS[i] + 22_000
		if i > 190 {
			t += 900_000
		}
		paint.TUS = append(paint.TUS, t)
		paint.Bytes = append(paint.Bytes, 16)
	}
	model := requests.Target{Provider: ptr("openai"), Deployment: ptr("us-east-2"), Model: ptr("gpt-4o"), ModelVersion: ptr("2026-05-13")}
	return &requests.Request{
		RequestID: "chat-7f3a", Tenant: "default", Aliases: []string{"4bf92f3577b34da6a3ce929d0e0e4736", "chatcmpl-9xQ2"},
		Target: model, App: ptr("support"), QueryType: "short_qa", State: requests.StateCompleted, ServedAttempt: ptr(uint32(1)),
		Attempts: []requests.Attempt{{
			Attempt: 1, Served: true, State: requests.StateCompleted, Target: model,
			Server: &requests.Stream{
				Tier: "server", Emitter: ptr("vllm"), StartedAt: at, State: requests.StateCompleted,
				TTFBUS: ptr(int64(9_000)), TTFTUS: ptr(server.TUS[0]), TTFAUS: ptr(server.TUS[0]), LastUS: ptr(last), EndUS: ptr(last + 1_200),
				FinishReason: ptr("stop"), Status: ptr(int32(200)), NChunks: 232, NContent: 230, Tokens: ptr(int64(230)),
				PromptTokens: ptr(int64(1840)), CachedTokens: ptr(int64(1024)), P50GapUS: ptr(int64(18_900)), P99GapUS: ptr(int64(19_800)),
				Phases: requests.Phases{QueueUS: ptr(int64(120_000)), PrefillUS: ptr(int64(280_000)), DecodeUS: ptr(int64(6_700_000))},
				Engine: requests.Engine{CacheHit: ptr("partial"), BatchSize: ptr(int64(32))}, Chunks: server, Segments: 4,
			},
			Gateway: &requests.GatewayAttempt{Emitter: ptr("litellm"), StartedAt: ptr(at - 60_000), StartUS: ptr(int64(58_000)), EndUS: ptr(last + 61_000), Status: ptr(int32(200))},
		}},
		Gateway: &requests.Gateway{
			Emitter: ptr("litellm"), StartedAt: at - 60_000, UpstreamSentUS: ptr(int64(58_000)), FirstByteUS: ptr(int64(471_000)), LastByteUS: ptr(last + 62_000),
			Phases:        requests.GatewayPhases{QueueWaitUS: ptr(int64(41_000)), RouteDecisionUS: ptr(int64(900)), UpstreamUS: ptr(int64(413_000)), OverheadUS: ptr(int64(3_100))},
			RouteDecision: &requests.RouteDecision{Policy: ptr("least-busy"), Chosen: ptr("us-east-2"), Reason: ptr("lowest queue")}, OutputTokens: ptr(int64(230)),
		},
		Client: &requests.Client{
			SessionID: ptr("s-1"), StartedAt: ptr(at + 95_000_000 - 140_000), State: requests.StateCompleted,
			TTFBUS: ptr(int64(190_000)), TTFTUS: ptr(client.TUS[0] + 140_000), TTFAUS: ptr(client.TUS[0] + 140_000), EndUS: ptr(last + 240_000),
			SubmitUS: ptr(int64(0)), RequestSentUS: ptr(int64(18_000)), FirstPaintUS: ptr(int64(676_000)), NChunks: len(client.TUS),
			Phases: requests.ClientPhases{FirstToPaintUS: ptr(int64(28_000))}, PaintSource: ptr("element_timing"),
			Chunks: shift(client, 140_000), Paint: shiftCurve(paint, 140_000),
		},
		Clock: &requests.Clock{
			OffsetUS: 95_000_000, UncertaintyUS: 11_500, Source: requests.ClockSession, MinUS: 94_988_000, MaxUS: 95_014_000,
			RoundTripUS: ptr(int64(23_000)), DriftPPM: ptr(-41.2), DriftUncertaintyPPM: ptr(6.5), Requests: 12,
		},
		Perceived: requests.Perceived{TTFTUS: ptr(int64(676_000)), GapUS: ptr(int64(264_000)), Parts: []requests.GapPart{
			{Part: requests.PartPage, US: 18_000},
			{Part: requests.PartUplink, US: 62_000, UncertaintyUS: 11_500},
			{Part: requests.PartGatewayQueue, US: 58_000},
			{Part: requests.PartUpstream, US: 2_980},
			{Part: requests.PartDownlink, US: 95_000, UncertaintyUS: 11_500},
			{Part: requests.PartDrift, US: 20},
			{Part: requests.PartRender, US: 28_000},
		}},
		Findings: []json.RawMessage{json.RawMessage(`{"kind":"stall","grade":"stall","tier":"server","chunk":80,"start_us":1926000,` +
			`"duration_us":1868900,"attribution":"engine","confidence":0.9}`)},
	}
}

func shift(c *requests.Chunks, by int64) *requests.Chunks {
	out := *c
	out.TUS = nil
	for _, t := range c.TUS {
		out.TUS = append(out.TUS, t+by)
	}
	return &out
}

func shiftCurve(c *requests.Curve, by int64) *requests.Curve {
	out := requests.Curve{Bytes: c.Bytes}
	for _, t := range c.TUS {
		out.TUS = append(out.TUS, t+by)
	}
	return &out
}

// running is a stream of one tier that has not ended and is silent.
func running() *requests.Request {
	c := chunksOf(40, 300_000, 25_000, "reasoning", nil)
	last := c.TUS[len(c.TUS)-1]
	return &requests.Request{
		RequestID: "still-going", Tenant: "acme", QueryType: "other", State: requests.StateRunning, ServedAttempt: ptr(uint32(1)),
		Target: requests.Target{Model: ptr("qwen3-8b")},
		Attempts: []requests.Attempt{{Attempt: 1, Served: true, State: requests.StateRunning, Server: &requests.Stream{
			Tier: "server", Emitter: ptr("tap"), StartedAt: at, State: requests.StateRunning, TTFBUS: ptr(int64(4_100)), TTFTUS: ptr(int64(300_000)),
			LastUS: ptr(last), ObservedUS: ptr(last + 2_400_000), NChunks: 41, NContent: 40, Tokens: ptr(int64(40)), Chunks: c, Segments: 3,
		}}},
	}
}

// retried is a request whose first attempt failed and whose id is in conflict; there is no client and no gateway.
func retried() *requests.Request {
	first := chunksOf(6, 250_000, 30_000, "content", nil)
	second := chunksOf(90, 180_000, 30_000, "content", nil)
	return &requests.Request{
		RequestID: "retry-\x1b[31mred", Tenant: "default", QueryType: "code_completion", State: requests.StateCompleted, ServedAttempt: ptr(uint32(2)),
		Target: requests.Target{Provider: ptr("vllm"), Model: ptr("模型-七十亿")},
		Attempts: []requests.Attempt{
			{Attempt: 1, State: requests.StateFailed, Server: &requests.Stream{
				Tier: "server", StartedAt: at, State: requests.StateFailed, TTFTUS: ptr(int64(250_000)), LastUS: ptr(first.TUS[5]), EndUS: ptr(int64(450_000)),
				Error: ptr("upstream_reset"), NChunks: 6, NContent: 6, Chunks: first,
			}},
			{Attempt: 2, Served: true, State: requests.StateCompleted, Server: &requests.Stream{
				Tier: "server", StartedAt: at + 700_000, State: requests.StateCompleted, TTFTUS: ptr(int64(180_000)), LastUS: ptr(second.TUS[89]),
				EndUS: ptr(second.TUS[89]), FinishReason: ptr("length"), NChunks: 90, NContent: 90, Tokens: ptr(int64(90)), Chunks: second, Synthetic: true,
			}},
		},
		Conflicts: []requests.Conflict{{Kind: requests.ConflictID, Tier: "server", Detail: "two streams of one attempt start 40 s apart"}},
	}
}

// reportedOnly has a tool's own numbers and no chunks.
func reportedOnly() *requests.Request {
	return &requests.Request{
		RequestID: "b984f840-5113-4302-b37b-b6df8b7bc50c", Tenant: "default", QueryType: "other", State: requests.StateCompleted, ServedAttempt: ptr(uint32(1)),
		Target: requests.Target{Model: ptr("fake-model")},
		Attempts: []requests.Attempt{{Attempt: 1, Served: true, State: requests.StateCompleted, Server: &requests.Stream{
			Tier: "server", Emitter: ptr("guidellm"), StartedAt: at, State: requests.StateCompleted, EndUS: ptr(int64(445_778)), Tokens: ptr(int64(20)),
			PromptTokens: ptr(int64(5)), OutputTokens: ptr(int64(20)),
			Reported: &requests.Reported{Definition: "guidellm", TTFTUS: ptr(int64(23_441)), ITLMeanUS: ptr(int64(22_157)), TPOTUS: ptr(int64(22_221)), E2EUS: ptr(int64(445_777))},
		}}},
	}
}

// clientOnly is a beacon whose other tiers never came, aborted by the user while the page was hidden for a while.
func clientOnly() *requests.Request {
	c := chunksOf(50, 900_000, 40_000, "content", map[int]int64{20: 2_000_000})
	return &requests.Request{
		RequestID: "lonely-beacon", Tenant: "default", QueryType: "other", State: requests.StateAborted,
		Client: &requests.Client{
			StartedAt: ptr(at), State: requests.StateAborted, TTFTUS: ptr(int64(900_000)), TTFAUS: ptr(int64(900_000)), AbortedUS: ptr(int64(5_300_000)),
			EndUS: ptr(int64(5_300_000)), RequestSentUS: ptr(int64(12_000)), NChunks: 50, Chunks: c,
			Visibility: []requests.Visibility{{TUS: 1_600_000, State: "hidden"}, {TUS: 3_800_000, State: "visible"}},
		},
	}
}

// lateLog is a server's log that begins in the middle of a stream, beside the page's whole record.
func lateLog() *requests.Request {
	s := chunksOf(30, 0, 700_000, "content", nil)
	return &requests.Request{
		RequestID: "late-log", Tenant: "default", QueryType: "other", State: requests.StateCompleted, ServedAttempt: ptr(uint32(1)),
		Attempts: []requests.Attempt{{Attempt: 1, Served: true, State: requests.StateCompleted, Server: &requests.Stream{
			Tier: "server", StartedAt: at, StartUnknown: true, State: requests.StateCompleted, EndUS: ptr(s.TUS[29]), NChunks: 30, NContent: 30, Chunks: s,
		}}},
		Client: &requests.Client{
			StartedAt: ptr(at), State: requests.StateCompleted, TTFTUS: ptr(int64(28_000_000)), EndUS: ptr(int64(60_000_000)), NChunks: 30,
			Chunks: shift(s, 28_000_000),
		},
	}
}
