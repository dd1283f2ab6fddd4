package crosstier_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/clock"
	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
)

// base is the instant of a case's time 0.
const base = int64(1_780_000_000_000_000)

func allCases(t testing.TB) map[string]*corpus.Case {
	list, err := corpus.LoadCases("../testdata/cases.jsonl")
	require.NoError(t, err)
	out := map[string]*corpus.Case{}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	require.Len(t, out, 58)
	return out
}

// join brings the records with one id together; the records of a case are whole streams.
func join(r corpus.Records, id string) *crosstier.Request {
	q := &crosstier.Request{Tenant: wire.DefaultTenant, RequestID: id, Attempt: 1}
	var starts []int64
	for i := range r.Streams {
		s := &r.Streams[i]
		switch {
		case s.RequestID != id:
		case s.Tier == wire.TierGateway:
			q.Relay = s
		default:
			starts = append(starts, s.StartedAt)
			if q.Server == nil {
				q.Server = s
			}
		}
	}
	slices.Sort(starts)
	if starts = slices.Compact(starts); len(starts) > 1 {
		q.Conflicts = append(q.Conflicts, crosstier.Conflict{Kind: wire.FindingIDConflict, Tier: wire.TierServer, Detail: "streams", Numbers: starts})
	}
	for i := range r.Gateways {
		if r.Gateways[i].RequestID == id {
			q.Gateway = &r.Gateways[i]
		}
	}
	for i := range r.Clients {
		if r.Clients[i].RequestID == id {
			q.Client = &r.Clients[i]
		}
	}
	q.Clock = clockOf(q)
	return q
}

func clockOf(q *crosstier.Request) *crosstier.Clock {
	if q.Client == nil || q.Server == nil || !q.Client.RequestSent.OK || q.Client.Recv.Len() == 0 || q.Server.Chunks.Len() == 0 {
		return nil
	}
	var b clock.Bounds
	b.Sent(q.Client.TimeOrigin+q.Client.RequestSent.V, q.Server.StartedAt)
	b.Positions(instants(&q.Server.Chunks, q.Server.StartedAt), instants(&q.Client.Recv, q.Client.TimeOrigin))
	cfg := clock.NewDefaultConfig()
	e, ok := cfg.Estimate([]clock.Bounds{b}, q.Server.StartedAt)
	if !ok {
		return nil
	}
	return &crosstier.Clock{OffsetUS: e.Offset, UncertaintyUS: e.Uncertainty}
}

func instants(c *wire.Chunks, from int64) clock.Curve {
	var out clock.Curve
	sum := int64(0)
	for i, t := range c.T {
		if len(c.Bytes) > 0 {
			sum += int64(c.Bytes[i])
		}
		out.T, out.Cum = append(out.T, t+from), append(out.Cum, sum)
	}
	return out
}

func derive(q *crosstier.Request) []wire.Finding {
	cfg := crosstier.NewDefaultConfig()
	found, _ := crosstier.Derive(q, &cfg)
	return found
}

func numbers(t *testing.T, f *wire.Finding) map[string]any {
	t.Helper()
	m := map[string]any{}
	require.NoError(t, json.Unmarshal(f.Evidence, &m))
	return m
}

func kinds(fs []wire.Finding) []string {
	out := []string{}
	for i := range fs {
		out = append(out, string(fs[i].Kind))
	}
	return out
}

// variants are what senders may leave out without changing the answer.
var variants = map[string]func(*crosstier.Request){
	"as sent":  func(*crosstier.Request) {},
	"no clock": func(q *crosstier.Request) { q.Clock = nil },
	"no bytes": func(q *crosstier.Request) {
		for _, s := range []*wire.Stream{q.Server, q.Relay} {
			if s != nil {
				s.Chunks.Bytes = nil
			}
		}
		if c := q.Client; c != nil {
			c.Recv.Bytes, c.DOM.Bytes, c.Paint.Bytes = nil, nil, nil
		}
	},
	"no kinds, no done": func(q *crosstier.Request) {
		if c := q.Client; c != nil && !slices.Contains(c.Recv.Kind, wire.KindTool) {
			c.Recv.Kind = nil
		}
	},
	"wire bytes at the page": func(q *crosstier.Request) {
		if c := q.Client; c != nil {
			for i := range c.Recv.Bytes {
				c.Recv.Bytes[i] = c.Recv.Bytes[i]*3 + 180
			}
			c.Paint.Bytes = nil
		}
	},
	"page submit only": func(q *crosstier.Request) {
		if c := q.Client; c != nil {
			c.RequestSent = wire.Opt[int64]{}
		}
	},
}

func eachVariant(t *testing.T, c *corpus.Case, id string, check func(t *testing.T, fs []wire.Finding)) {
	for name, change := range variants {
		t.Run(c.ID+" "+name, func(t *testing.T) {
			q := join(clone(c.Play("", base)), id)
			change(q)
			check(t, derive(q))
		})
	}
}

// clone makes arrays of its own, since a case's are shared.
func clone(r corpus.Records) corpus.Records {
	for i := range r.Streams {
		c := &r.Streams[i].Chunks
		c.T, c.Bytes = slices.Clone(c.T), slices.Clone(c.Bytes)
	}
	for i := range r.Clients {
		c := &r.Clients[i].Recv
		c.T, c.Bytes = slices.Clone(c.T), slices.Clone(c.Bytes)
	}
	return r
}

func TestNothingIsFoundInControls(t *testing.T) {
	all := allCases(t)
	for _, id := range []string{"K05", "V01", "V03", "A06", "W03", "T01", "S01", "S11", "S13", "S15", "D01"} {
		req := "r1"
		if id == "S01" {
			req = "r-a"
		}
		eachVariant(t, all[id], req, func(t *testing.T, fs []wire.Finding) { require.Empty(t, kinds(fs)) })
	}
	for _, req := range []string{"old-0", "old-5"} {
		eachVariant(t, all["U03"], req, func(t *testing.T, fs []wire.Finding) { require.Empty(t, kinds(fs)) })
	}
}

func TestGatewayHoldsToolEvents(t *testing.T) {
	eachVariant(t, allCases(t)["S09"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"stall"}, kinds(fs))
		f := fs[0]
		require.Equal(t, wire.TierClient, f.Tier)
		require.Equal(t, "freeze", f.Grade)
		require.EqualValues(t, 40, f.Chunk.V)
		require.InDelta(t, 37.9e6, f.DurationUS, 0.3e6)
		require.Equal(t, "gateway", f.Attribution)
		require.Equal(t, "tool", f.Channel)
	})
}

func TestBuffering(t *testing.T) {
	all := allCases(t)
	eachVariant(t, all["B01"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"buffering"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.Equal(t, "proxy_buffering", fs[0].Attribution)
		require.Equal(t, "size", m["driver"])
		require.Equal(t, []any{66., 65., 65., 4.}, m["chunks_per_release"])
		require.EqualValues(t, 400_000, m["upstream_ttft_us"])
		require.EqualValues(t, 13_400_000, m["downstream_ttft_us"])
		if b, ok := m["bytes_per_release"]; ok {
			require.InDelta(t, 16_384, b, 200)
		}
	})
	eachVariant(t, all["B03"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"buffering"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.Equal(t, "end", m["driver"])
		require.EqualValues(t, 610_000, m["upstream_ttft_us"])
		require.InDelta(t, 8_413_000, m["downstream_ttft_us"], 1)
		require.Equal(t, []any{261.}, m["chunks_per_release"])
	})
	eachVariant(t, all["U03"], "new-5", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"buffering"}, kinds(fs))
		require.Equal(t, "end", numbers(t, &fs[0])["driver"])
	})
}

func TestIdleDrop(t *testing.T) {
	all := allCases(t)
	eachVariant(t, all["B07"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"idle_drop"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.EqualValues(t, 60_000_000, m["limit_us"])
		require.EqualValues(t, 60_004_000, fs[0].DurationUS)
		require.InDelta(t, 31.3e6, m["waste_us"], 0.05e6)
		require.EqualValues(t, 701, m["waste_tokens"])
		require.Equal(t, true, m["upstream_alive"])
		require.EqualValues(t, 0, m["received_bytes"])
	})
	eachVariant(t, all["B08"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"idle_drop"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.EqualValues(t, 100_000_000, m["limit_us"])
		require.EqualValues(t, 10, m["pings_upstream"])
		require.EqualValues(t, 0, m["pings_received"])
		require.Equal(t, "gateway", fs[0].Attribution)
	})
}

func TestCancelWaste(t *testing.T) {
	all := allCases(t)
	eachVariant(t, all["A01"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"cancel_waste"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.InDelta(t, 43.4e6, fs[0].DurationUS, 0.05e6)
		require.EqualValues(t, 1735, m["waste_tokens"])
		require.EqualValues(t, 2000, m["tokens"])
	})
	eachVariant(t, all["A02"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"cancel_waste"}, kinds(fs))
		require.InDelta(t, 38.2e6, fs[0].DurationUS, 0.05e6)
		require.Equal(t, "length", numbers(t, &fs[0])["finish_reason"])
	})
	eachVariant(t, all["A03"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"cancel_waste"}, kinds(fs))
		require.Equal(t, wire.TierGateway, fs[0].Tier)
		require.Equal(t, "gateway", fs[0].Attribution)
		require.InDelta(t, 17.7e6, fs[0].DurationUS, 0.05e6)
		require.EqualValues(t, 2_510_000, fs[0].StartUS)
	})
}

func TestRenderLag(t *testing.T) {
	all := allCases(t)
	eachVariant(t, all["P01"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"render_lag"}, kinds(fs))
		require.InDelta(t, 6e6, fs[0].StartUS, 1)
		require.InDelta(t, 8.7e6, fs[0].DurationUS, 1)
		require.Equal(t, "render", fs[0].Attribution)
		require.InDelta(t, 20_000, numbers(t, &fs[0])["network_gap_us"], 3000)
	})
	eachVariant(t, all["P03"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"render_lag"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.Equal(t, "typing", m["pattern"])
		require.InDelta(t, 57e6, fs[0].DurationUS, 0.2e6)
		if _, ok := m["shown_chunks"]; ok {
			require.EqualValues(t, 60, m["shown_chunks"])
			require.EqualValues(t, 400, m["received_chunks"])
		}
	})
}

func TestConflicts(t *testing.T) {
	all := allCases(t)
	eachVariant(t, all["T08"], "r1", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"clock_conflict"}, kinds(fs))
		m := numbers(t, &fs[0])
		require.Equal(t, "impossible_order", m["rule"])
		require.EqualValues(t, 12_400_000, m["server_ttft_us"])
		require.EqualValues(t, 2_900_000, m["user_first_text_us"])
	})
	eachVariant(t, all["R01"], "id-7", func(t *testing.T, fs []wire.Finding) {
		require.Equal(t, []string{"id_conflict"}, kinds(fs))
		require.EqualValues(t, 2, numbers(t, &fs[0])["streams"])
	})
}

// A page whose clock stood still for a week tells durations that hold, and is not shown last week.
func TestPageClockStoodStill(t *testing.T) {
	q := join(allCases(t)["K02"].Play("", base), "r1")
	require.Empty(t, derive(q), "no clock is known that tells")
	behind := func() {
		fs := derive(q)
		require.Equal(t, []string{"clock_conflict"}, kinds(fs))
		require.InDelta(t, 167.67*3600e6, numbers(t, &fs[0])["behind_us"], 1e6)
		require.Equal(t, base, fs[0].StartedAt)
	}
	q.Clock = &crosstier.Clock{OffsetUS: -603_612_000_000 + 90_000, UncertaintyUS: 90_000}
	behind()
	q.Clock, q.Server = nil, nil
	q.Client.ClockNow, q.Client.WallNow = wire.Some(q.Client.Submit.V+4_300_000), base+4_300_000
	behind()
}

// With the server's clock at hand it is told which of the page's two clocks went wrong.
func TestWhichOfThePagesClocksWentWrong(t *testing.T) {
	q := join(allCases(t)["K05"].Play("", base), "r1")
	q.Client.ClockNow = wire.Some(q.Client.Submit.Or(q.Client.RequestSent.V) + 4_000_000)
	const ahead = 600_000_000
	q.Client.WallNow = q.Client.TimeOrigin + q.Client.ClockNow.V + ahead
	for _, c := range []struct {
		offset int64
		cause  any
	}{{-ahead, "slept"}, {0, "wall_clock_set"}, {95_000_000, nil}} {
		q.Clock = &crosstier.Clock{OffsetUS: c.offset, UncertaintyUS: 150_000}
		fs := derive(q)
		require.Equal(t, []string{"clock_conflict"}, kinds(fs))
		require.Equal(t, c.cause, numbers(t, &fs[0])["cause"])
	}
	q.Clock = nil
	require.NotContains(t, numbers(t, &derive(q)[0]), "cause")
}

// Senders tell a broken connection in several ways; each of them is a drop.
func TestWaysToTellADrop(t *testing.T) {
	c := allCases(t)["B07"]
	for name, change := range map[string]func(*wire.Client){
		"error and aborted_at":        func(p *wire.Client) { p.ErrorType, p.Aborted, p.Closed = "network", p.Closed, wire.Opt[int64]{} },
		"error and done_at":           func(p *wire.Client) { p.Done, p.Closed = p.Closed, wire.Opt[int64]{} },
		"error and the beacon's time": func(p *wire.Client) { p.ClockNow, p.Closed = wire.Some(p.Closed.V+30_000), wire.Opt[int64]{} },
		"an error event": func(p *wire.Client) {
			p.Recv = wire.Chunks{T: []int64{p.Closed.V}, Kind: []wire.Kind{wire.KindError}}
			p.ErrorType, p.Closed = "", wire.Opt[int64]{}
		},
		"only when it ended": func(p *wire.Client) { p.ErrorType, p.Aborted, p.Closed = "", p.Closed, wire.Opt[int64]{} },
	} {
		t.Run(name, func(t *testing.T) {
			q := join(clone(c.Play("", base)), "r1")
			change(q.Client)
			fs := derive(q)
			require.Equal(t, []string{"idle_drop"}, kinds(fs))
			require.EqualValues(t, 60_000_000, numbers(t, &fs[0])["limit_us"])
		})
	}
	q := join(clone(c.Play("", base)), "r1")
	q.Client.ErrorType, q.Client.Aborted, q.Client.Closed = "", wire.Some(q.Client.Submit.V+30_000_000), wire.Opt[int64]{}
	require.Equal(t, []string{"cancel_waste"}, kinds(derive(q)), "a user may give up after half a minute to the millisecond")
}

// A trace may come as a gateway's record, without a stream.
func TestImpossibleOrderOfAGateway(t *testing.T) {
	q := join(allCases(t)["T08"].Play("", base), "r1")
	q.Server = nil
	q.Gateway = &wire.Gateway{ReceivedAt: base, Reported: wire.Reported{TTFTUS: wire.Some[int64](12_400_000)}}
	fs := derive(q)
	require.Equal(t, []string{"clock_conflict"}, kinds(fs))
	require.Equal(t, wire.TierGateway, fs[0].Tier)
	q.Gateway = &wire.Gateway{ReceivedAt: base, FirstByteAt: base + 2_800_000}
	require.Empty(t, derive(q))
}
