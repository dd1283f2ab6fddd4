package crosstier_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
)

// even draws a server's stream whose pace is even enough to hold no stall.
func even(t *rapid.T, least int) *wire.Stream {
	s := &wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "e", Final: true, StartedAt: base, FinishReason: "stop"}
	now := rapid.Int64Range(50_000, 900_000).Draw(t, "ttft")
	mean := rapid.Int64Range(5_000, 120_000).Draw(t, "pace")
	for range rapid.IntRange(least, least+300).Draw(t, "chunks") {
		s.Chunks.T = append(s.Chunks.T, now)
		s.Chunks.Bytes = append(s.Chunks.Bytes, rapid.Uint32Range(1, 12).Draw(t, "bytes"))
		now += mean + rapid.Int64Range(-mean/3, mean/3).Draw(t, "jitter")
	}
	s.EndUS = wire.Some(now)
	return s
}

// page makes a client that receives chunk i of s at at(i).
func page(s *wire.Stream, at func(i int) int64) *wire.Client {
	const open = 3_000_000
	c := &wire.Client{
		RequestID: "r", Tenant: "default", SessionID: "s", Final: true, TimeOrigin: base - open - 20_000,
		Submit: wire.Some[int64](open), RequestSent: wire.Some[int64](open),
	}
	last := int64(0)
	for i := range s.Chunks.T {
		last = max(last, at(i))
		c.Recv.T, c.Recv.Bytes = append(c.Recv.T, open+last), append(c.Recv.Bytes, s.Chunks.Bytes[i])
	}
	c.Done = wire.Some(open + last + 1000)
	return c
}

func request(s *wire.Stream, c *wire.Client) *crosstier.Request {
	return &crosstier.Request{Tenant: "default", RequestID: "r", Attempt: 1, Server: s, Client: c}
}

const (
	up   = 20_000 // the request's way, as page has it
	down = 30_000
)

func TestFaithfulWayShowsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := even(t, 2)
		delay := rapid.SliceOfN(rapid.Int64Range(0, 60_000), 7, 7).Draw(t, "delay")
		every := rapid.SampledFrom([]int64{1, 16_000, 50_000}).Draw(t, "coalescing")
		c := page(s, func(i int) int64 {
			at := up + s.Chunks.T[i] + down + delay[i%7]
			return (at + every - 1) / every * every
		})
		require.Empty(t, kinds(derive(request(s, c))))
	})
}

func TestServerStallIsNotToldTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := even(t, 30)
		k := rapid.IntRange(10, s.Chunks.Len()-1).Draw(t, "chunk")
		g := rapid.Int64Range(1_500_000, 40_000_000).Draw(t, "stall")
		for i := k; i < s.Chunks.Len(); i++ {
			s.Chunks.T[i] += g
		}
		c := page(s, func(i int) int64 { return up + s.Chunks.T[i] + down })
		require.Empty(t, kinds(derive(request(s, c))))
	})
}

func TestHeldOnTheWayIsTheUsersStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := even(t, 60)
		k := rapid.IntRange(12, s.Chunks.Len()-20).Draw(t, "chunk")
		gap := s.Chunks.T[k] - s.Chunks.T[k-1]
		g := max(gap*8, 1_200_000) + rapid.Int64Range(0, 20_000_000).Draw(t, "held")
		until := s.Chunks.T[k] + g
		// Most of the answer must come after it, or it is buffering until the end.
		c := page(s, func(i int) int64 {
			at := s.Chunks.T[i]
			if i >= k {
				at = max(at, until)
			}
			return up + at + down
		})
		fs := derive(request(s, c))
		require.Len(t, fs, 1)
		require.Equal(t, wire.FindingStall, fs[0].Kind)
		require.Contains(t, []string{"network", "proxy_buffering"}, fs[0].Attribution)
		require.InDelta(t, k, fs[0].Chunk.V, 1)
		require.InDelta(t, until-s.Chunks.T[k-1], fs[0].DurationUS, 1000)
	})
}

func TestHiddenTimeExplains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := even(t, 60)
		k := rapid.IntRange(12, s.Chunks.Len()-2).Draw(t, "chunk")
		from := s.Chunks.T[k]
		until := from + rapid.Int64Range(2_000_000, 100_000_000).Draw(t, "hidden")
		c := page(s, func(i int) int64 {
			at := s.Chunks.T[i]
			if i > k {
				at = max(at, until+1000)
			}
			return up + at + down
		})
		o := c.Submit.V
		c.Visibility = []wire.VisibilityChange{{T: 0}, {T: o + up + from + down, Hidden: true}, {T: o + up + until}}
		require.Empty(t, kinds(derive(request(s, c))))
	})
}

func TestDriversOfBuffering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := even(t, 120)
		total := int64(0)
		for _, b := range s.Chunks.Bytes {
			total += int64(b)
		}
		n := s.Chunks.Len()
		span := s.Chunks.T[n-1] - s.Chunks.T[0]
		if span < 3_000_000 {
			t.Skip("too short to be held")
		}
		want := rapid.SampledFrom([]string{"size", "time", "end"}).Draw(t, "driver")
		release := make([]int64, n)
		switch want {
		case "end":
			for i := range release {
				release[i] = s.EndUS.V
			}
		case "time":
			every := rapid.SampledFrom([]int64{500_000, 1_000_000}).Draw(t, "every")
			if span/every < 5 {
				t.Skip("too few releases")
			}
			for i := range release {
				release[i] = (s.Chunks.T[i] + every - 1) / every * every
			}
		default:
			size := total / int64(rapid.IntRange(3, 5).Draw(t, "parts"))
			from, sum := 0, int64(0)
			for i := range release {
				sum += int64(s.Chunks.Bytes[i])
				if sum >= size || i == n-1 {
					for ; from <= i; from++ {
						release[from] = s.Chunks.T[i]
					}
					sum = 0
				}
			}
		}
		c := page(s, func(i int) int64 { return up + release[i] + down })
		fs := derive(request(s, c))
		require.Equal(t, []string{"buffering"}, kinds(fs))
		var m struct {
			Driver string `json:"driver"`
		}
		require.NoError(t, json.Unmarshal(fs[0].Evidence, &m))
		if want != "size" { // sizes of an even stream can look like times
			require.Equal(t, want, m.Driver)
		}
	})
}

// Whatever the records say, the answer is the same twice, has one finding for each identity, and its evidence is JSON.
func TestAnyRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &crosstier.Request{Tenant: "default", RequestID: "r", Attempt: 1}
		if rapid.Bool().Draw(t, "server") {
			q.Server = anyStream(t, wire.TierServer)
		}
		if rapid.Bool().Draw(t, "relay") {
			q.Relay = anyStream(t, wire.TierGateway)
		}
		if rapid.Bool().Draw(t, "gateway") {
			q.Gateway = &wire.Gateway{
				ReceivedAt: base, CancelledAt: anyInstant(t), UpstreamClosedAt: anyInstant(t), UpstreamSentAt: anyInstant(t), FirstByteAt: anyInstant(t),
			}
		}
		if rapid.Bool().Draw(t, "client") {
			q.Client = &wire.Client{
				TimeOrigin: anyInstant(t), WallNow: anyInstant(t), ReceivedAt: anyInstant(t), Submit: anyOffset(t), RequestSent: anyOffset(t),
				FirstPaint: anyOffset(t), Aborted: anyOffset(t), Done: anyOffset(t), Closed: anyOffset(t), Headers: anyOffset(t),
				ErrorType: rapid.SampledFrom([]string{"", "connection_reset", "aborted"}).Draw(t, "error"),
				Recv:      anyChunks(t), DOM: anyChunks(t), Paint: anyChunks(t),
				Visibility:  []wire.VisibilityChange{{T: anyOffset(t).V, Hidden: true}, {T: anyOffset(t).V, Hidden: rapid.Bool().Draw(t, "hidden")}},
				LongFrames:  []wire.LongFrame{{T: anyOffset(t).V, Dur: anyOffset(t).V}},
				Retractions: []wire.Retraction{{T: anyOffset(t).V, Bytes: 3}},
			}
		}
		one, two := derive(q), derive(q)
		require.Equal(t, one, two)
		seen := map[string]bool{}
		for i := range one {
			require.False(t, seen[one[i].ID], "%s twice", one[i].Kind)
			seen[one[i].ID] = true
			require.True(t, json.Valid(one[i].Evidence))
			require.GreaterOrEqual(t, one[i].DurationUS, int64(0))
			require.GreaterOrEqual(t, one[i].Confidence, 0.0)
			require.LessOrEqual(t, one[i].Confidence, 1.0)
		}
	})
}

func anyStream(t *rapid.T, tier wire.Tier) *wire.Stream {
	s := &wire.Stream{
		RequestID: "r", Tier: tier, Attempt: 1, StartedAt: base, Final: rapid.Bool().Draw(t, "final"), EndUS: anyOffset(t), OutputTokens: anyOffset(t),
		StartUnknown: rapid.Bool().Draw(t, "start unknown"), Chunks: anyChunks(t),
		ErrorType: rapid.SampledFrom([]string{"", "timeout"}).Draw(t, "error"),
	}
	s.Reported.TTFTUS = anyOffset(t)
	return s
}

func anyChunks(t *rapid.T) wire.Chunks {
	var c wire.Chunks
	n := rapid.SampledFrom([]int{0, 0, 1, 2, 5, 40}).Draw(t, "n")
	now := int64(0)
	bytes, kind, tokens := rapid.Bool().Draw(t, "bytes"), rapid.Bool().Draw(t, "kinds"), rapid.Bool().Draw(t, "tokens")
	for range n {
		now += rapid.SampledFrom([]int64{0, 1, 20_000, 1_500_000, 60_000_000}).Draw(t, "gap")
		c.T = append(c.T, now)
		if bytes {
			c.Bytes = append(c.Bytes, rapid.SampledFrom([]uint32{0, 1, 4, 1000}).Draw(t, "size"))
		}
		if kind {
			c.Kind = append(c.Kind, rapid.SampledFrom([]wire.Kind{wire.KindContent, wire.KindTool, wire.KindKeepalive, wire.KindError, wire.KindDone}).Draw(t, "kind"))
		}
		if tokens {
			c.Tokens = append(c.Tokens, rapid.Uint32Range(0, 3).Draw(t, "token"))
		}
	}
	return c
}

func anyOffset(t *rapid.T) wire.Opt[int64] {
	if rapid.Bool().Draw(t, "known") {
		return wire.Opt[int64]{}
	}
	return wire.Some(rapid.Int64Range(0, 200_000_000).Draw(t, "offset"))
}

func anyInstant(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, base, base + 1_000_000, base + 100_000_000_000, base - 100_000_000_000}).Draw(t, "instant")
}

// Two full releases and what is left at the end have one interval, and the sizes of an even stream don't differ.
func TestDriverOfFewReleases(t *testing.T) {
	for _, c := range []struct {
		name    string
		everyUS int64
		want    string
	}{
		{"a timer's 1.5 s", 1_499_600, "time"},
		{"2 s", 2_003_000, "time"},
		{"1.3 s, as long as a buffer took to fill", 1_300_000, "size"},
		{"near 1.5 s, but not to the point", 1_480_000, "size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &wire.Stream{
				RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "e", Final: true, StartedAt: base, FinishReason: "stop",
			}
			for at := int64(20_000); at < c.everyUS*5/2; at += c.everyUS / 50 {
				s.Chunks.T, s.Chunks.Bytes = append(s.Chunks.T, at), append(s.Chunks.Bytes, 6)
			}
			end := s.Chunks.T[s.Chunks.Len()-1] + 10_000
			s.EndUS = wire.Some(end)
			fs := derive(request(s, page(s, func(i int) int64 {
				return up + min(end, (s.Chunks.T[i]+c.everyUS-1)/c.everyUS*c.everyUS) + down
			})))
			require.Equal(t, []string{"buffering"}, kinds(fs))
			m := numbers(t, &fs[0])
			require.EqualValues(t, 3, m["releases"])
			require.EqualValues(t, c.everyUS, m["interval_us"])
			require.Equal(t, c.want, m["driver"])
		})
	}
}
