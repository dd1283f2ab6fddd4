package requests_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

func jsonOf(t require.TestingT, r *requests.Request) string {
	b, err := json.Marshal(r)
	require.NoError(t, err)
	return string(b)
}

// Neither the order nor the number of deliveries changes a byte.
func TestAssembleIsBlindToOrderAndRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := story(t, "r-1")
		want := jsonOf(t, requests.Assemble("default", "r-1", rec))
		require.Equal(t, want, jsonOf(t, requests.Assemble("default", "r-1", delivered(t, rec))))
	})
}

// Two different deliveries of one identity: the same one wins whichever comes first.
func TestAssembleConvergesOnConflictingDeliveries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := story(t, "r-1")
		for _, s := range rec.Streams {
			s.FinishReason, s.Model = rapid.SampledFrom([]string{"", "length"}).Draw(t, "other end"), "other"
			rec.Streams = append(rec.Streams, s)
		}
		for _, g := range rec.Gateways {
			g.Status = 502
			rec.Gateways = append(rec.Gateways, g)
		}
		want := jsonOf(t, requests.Assemble("default", "r-1", rec))
		require.Equal(t, want, jsonOf(t, requests.Assemble("default", "r-1", delivered(t, rec))))
	})
}

func TestSegmentsMakeTheSameStreamAsOnePiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := wholeStream(t, "r-1", "tap", 1, noon, true)
		whole := requests.Assemble("default", "r-1", requests.Records{Streams: []wire.Stream{s}})
		cut := requests.Assemble("default", "r-1", requests.Records{Streams: segments(t, s)})
		cut.Attempts[0].Server.Segments = 1
		require.Equal(t, jsonOf(t, whole), jsonOf(t, cut))
	})
}

func stream(id string, attempt uint32, change func(*wire.Stream)) wire.Stream {
	s := wire.Stream{
		RequestID: id, Tenant: "default", Tier: wire.TierServer, Attempt: attempt, Emitter: "tap", StartedAt: noon + int64(attempt)*sec, Final: true,
		Chunks: wire.Chunks{T: []int64{100 * ms, 130 * ms, 190 * ms}, Bytes: []uint32{3, 4, 5}}, EndUS: wire.Some(200 * ms), FinishReason: "stop",
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestServedAttempt(t *testing.T) {
	fails := func(s *wire.Stream) { s.ErrorType, s.FinishReason = "http_503", "" }
	runs := func(s *wire.Stream) { s.Final, s.EndUS = false, wire.Opt[int64]{} }
	gateway := func(served uint32, attempts ...uint32) []wire.Gateway {
		g := wire.Gateway{RequestID: "r", Tenant: "default", ReceivedAt: noon}
		for _, n := range attempts {
			g.Attempts = append(g.Attempts, wire.Attempt{Attempt: n, Served: n == served})
		}
		return []wire.Gateway{g}
	}
	for _, c := range []struct {
		name     string
		streams  []wire.Stream
		gateways []wire.Gateway
		want     uint32
		server   bool
	}{
		{"only one", []wire.Stream{stream("r", 1, nil)}, nil, 1, true},
		{"the one that succeeded", []wire.Stream{stream("r", 1, fails), stream("r", 2, nil)}, nil, 2, true},
		{"the one that succeeded though a later failed", []wire.Stream{stream("r", 1, nil), stream("r", 2, fails)}, nil, 1, true},
		{"the last that succeeded", []wire.Stream{stream("r", 1, nil), stream("r", 2, nil)}, nil, 2, true},
		{"the last when none succeeded", []wire.Stream{stream("r", 1, fails), stream("r", 2, runs)}, nil, 2, true},
		{"the gateway's word beats success", []wire.Stream{stream("r", 1, runs), stream("r", 2, nil)}, gateway(1, 1, 2), 1, true},
		{"the gateway knows an attempt without a stream", []wire.Stream{stream("r", 1, fails)}, gateway(2, 1, 2), 2, false},
		{"a gateway that marks none", []wire.Stream{stream("r", 1, fails)}, gateway(0, 1, 2), 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := requests.Assemble("default", "r", requests.Records{Streams: c.streams, Gateways: c.gateways})
			require.Equal(t, c.want, *r.ServedAttempt)
			served := 0
			for _, a := range r.Attempts {
				if a.Served {
					served++
					require.Equal(t, c.want, a.Attempt)
					require.Equal(t, c.server, a.Server != nil)
				}
			}
			require.Equal(t, 1, served)
		})
	}
}

func TestAnotherStreamUnderTheSameIDIsKeptApart(t *testing.T) {
	other := stream("r", 1, func(s *wire.Stream) { s.StartedAt += 77 * sec; s.Chunks.T = []int64{5, 6, 7} })
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{other, stream("r", 1, nil)}})
	require.Len(t, r.Attempts, 1)
	require.Equal(t, noon+sec, r.Attempts[0].Server.StartedAt)
	require.Len(t, r.Attempts[0].OtherStreams, 1)
	require.Equal(t, []requests.Conflict{{
		Kind: requests.ConflictID, Tier: "server", Attempt: ptr(uint32(1)), Emitter: ptr("tap"),
		Detail: "different streams have this request id, attempt and emitter", Evidence: []int64{noon + sec, noon + 78*sec},
	}}, r.Conflicts)
}

func TestOneGenerationLoggedByTwoEmittersCountsOnce(t *testing.T) {
	twin := stream("r", 1, func(s *wire.Stream) { s.Emitter = "copy" })
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{stream("r", 1, nil), twin}})
	require.Len(t, r.Attempts, 1)
	require.Empty(t, r.Attempts[0].OtherStreams)
	require.Empty(t, r.Conflicts)
}

func TestAnEnginesOwnLogGoesToTheAttemptItAnswered(t *testing.T) {
	tap := stream("r", 2, func(s *wire.Stream) { s.ResponseID = "chatcmpl-7" })
	engine := stream("chatcmpl-7", 1, func(s *wire.Stream) {
		s.Emitter, s.QueueUS = "vllm", wire.Some(9*ms)
		s.StartedAt = noon + 2*sec + 2*ms
	})
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{engine, tap, stream("r", 1, nil)}})
	require.Len(t, r.Attempts, 2)
	require.Equal(t, "vllm", *r.Attempts[1].OtherStreams[0].Emitter)
	require.Equal(t, 9*ms, *r.Attempts[1].Server.Phases.QueueUS, "what only the engine knows")
	require.Contains(t, r.Aliases, "chatcmpl-7")
}

func TestMissingAndOverlappingSegmentsAreConflicts(t *testing.T) {
	seg := func(seq uint32, at ...int64) wire.Stream {
		return stream("r", 1, func(s *wire.Stream) {
			s.Seq, s.Chunks = seq, wire.Chunks{T: at, Bytes: make([]uint32, len(at))}
			s.Final = false
		})
	}
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{seg(1, 10, 20), seg(3, 15, 30)}})
	require.Len(t, r.Conflicts, 2)
	require.Equal(t, []int64{0, 2}, r.Conflicts[0].Evidence)
	require.Equal(t, "segments overlap in time", r.Conflicts[1].Detail)
	require.Equal(t, []int64{10, 15, 20, 30}, r.Attempts[0].Server.Chunks.TUS)
	require.Nil(t, r.Attempts[0].Server.TTFTUS, "the first segment did not come")
}

func TestPerceivedAndClock(t *testing.T) {
	const skew = 7 * sec // the page's clock is ahead
	server := stream("r", 1, func(s *wire.Stream) { s.HeadersUS = wire.Some(50 * ms) })
	origin := noon - 10*sec
	at := func(serverInstant int64) int64 { return serverInstant + skew - origin }
	client := wire.Client{
		RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: origin, Final: true,
		Submit: wire.Some(at(server.StartedAt - 30*ms)), RequestSent: wire.Some(at(server.StartedAt - 10*ms)),
		FirstPaint: wire.Some(at(server.StartedAt + 160*ms)), Done: wire.Some(at(server.StartedAt + 300*ms)),
		Recv: wire.Chunks{T: []int64{at(server.StartedAt + 120*ms), at(server.StartedAt + 205*ms)}, Bytes: []uint32{3, 9}},
	}
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{server}, Clients: []wire.Client{client}})
	require.Equal(t, 190*ms, *r.Perceived.TTFTUS)
	require.Equal(t, 90*ms, *r.Perceived.GapUS)
	require.NotNil(t, r.Clock)
	require.InDelta(t, skew, r.Clock.OffsetUS, float64(r.Clock.UncertaintyUS))
	// Bounds: sent 10 ms before it was received, the last byte received 15 ms after it was sent.
	require.Equal(t, (10*ms+15*ms)/2, r.Clock.UncertaintyUS)
	require.Equal(t, "causal", r.Clock.Source)
	require.Equal(t, 20*ms, *r.Client.RequestSentUS-*r.Client.SubmitUS)
	require.Equal(t, int64(0), *r.Client.SubmitUS)
	require.Equal(t, 150*ms, *r.Client.TTFTUS)
	require.Equal(t, []int64{150 * ms, 235 * ms}, r.Client.Chunks.TUS)

	client.Recv.T[0] = at(server.StartedAt - 5*sec)
	r = requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{server}, Clients: []wire.Client{client}})
	require.Nil(t, r.Clock)
	require.Equal(t, requests.ConflictClock, r.Conflicts[0].Kind)
}

func TestAbsentIsNull(t *testing.T) {
	s := wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, StartedAt: noon}
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{s}})
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(jsonOf(t, r)), &doc))
	for _, key := range []string{"client", "clock", "gateway"} {
		require.Contains(t, doc, key)
		require.Nil(t, doc[key], key)
	}
	require.Equal(t, map[string]any{"ttft_us": nil, "gap_us": nil, "parts": []any{}}, doc["perceived"])
	for _, key := range []string{"findings", "conflicts", "aliases"} {
		require.Equal(t, []any{}, doc[key], key)
	}
	server := doc["attempts"].([]any)[0].(map[string]any)["server"].(map[string]any)
	for _, key := range []string{"ttfb_us", "ttft_us", "ttfa_us", "end_us", "finish_reason", "tokens", "max_gap_us", "chunks"} {
		require.Contains(t, server, key)
		require.Nil(t, server[key], key)
	}
	require.Equal(t, "running", server["state"])
}

func TestNaNLogprobsAreNull(t *testing.T) {
	s := stream("r", 1, func(s *wire.Stream) { s.Chunks.Logprob = []float32{-1, float32(math.NaN()), -2} })
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{s}})
	require.Nil(t, r.Attempts[0].Server.Chunks.Logprob[1])
	require.InDelta(t, -2.0, *r.Attempts[0].Server.Chunks.Logprob[2], 1e-6)
}

func ptr[T any](v T) *T { return &v }

func TestTheLastSegmentSaysForHowManyAnswersItStands(t *testing.T) {
	segment := func(seq uint32, weight float64) wire.Client {
		return wire.Client{
			RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon, Submit: wire.Some(int64(1)),
			Seq: seq, Final: seq == 1, SampleWeight: weight,
		}
	}
	r := requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{segment(1, 1), segment(0, 10)}})
	require.InDelta(t, 1, *r.Client.SampleWeight, 0)
	r = requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{segment(0, 0)}})
	require.Nil(t, r.Client.SampleWeight)
}
