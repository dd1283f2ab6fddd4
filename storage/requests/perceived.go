package requests

import "github.com/fermata-io/fermata/internal/clock"

// perceived compares two durations, each measured on one clock.
func perceived(c *mergedClient, server *merged) Perceived {
	var p Perceived
	if c == nil || !c.Submit.OK || !c.FirstPaint.OK || c.FirstPaint.V < c.Submit.V {
		return p
	}
	p.TTFTUS = known(c.FirstPaint.V - c.Submit.V)
	if server != nil {
		p.GapUS = minus(p.TTFTUS, server.ttft)
	}
	return p
}

// clock bounds the client's clock against that of the served attempt's server, nil where the records don't.
// A request's bounds that exclude each other are a conflict.
func (a *assembly) clock() *Clock {
	c, s := a.client, a.servedStream
	if c == nil || s == nil || c.TimeOrigin == 0 || s.StartUnknown {
		return nil
	}
	var b clock.Bounds
	if c.RequestSent.OK {
		b.Sent(c.TimeOrigin+c.RequestSent.V, s.StartedAt)
	}
	if c.Headers.OK && s.HeadersUS.OK {
		b.Received(s.StartedAt+s.HeadersUS.V, c.TimeOrigin+c.Headers.V)
	}
	sent, okS := s.line.cumulative()
	got, okC := c.recv.cumulative()
	if okS && okC {
		b.Positions(clock.Curve{T: shifted(s.line.t, s.StartedAt), Cum: sent}, clock.Curve{T: shifted(c.recv.t, c.TimeOrigin), Cum: got})
	}
	// Where sizes are not known, the user's first text still can't be older than the server's.
	if s.sc.first != nil {
		for _, first := range []*int64{c.sc.first, opt(c.FirstPaint)} {
			if first != nil {
				b.Received(s.StartedAt+*s.sc.first, c.TimeOrigin+*first)
			}
		}
	}
	if !b.Closed() {
		return nil
	}
	cfg := clock.NewDefaultConfig()
	e, ok := cfg.Estimate([]clock.Bounds{b}, s.StartedAt)
	if !ok {
		a.conflicts = append(a.conflicts, Conflict{
			Kind: ConflictClock, Tier: "client", Detail: "the request arrived before it was sent, or a byte before it left: a clock was stepped or the join is wrong",
			Evidence: []int64{},
		})
		return nil
	}
	return &Clock{OffsetUS: e.Offset, UncertaintyUS: e.Uncertainty, Source: "causal"}
}

func shifted(t []int64, by int64) []int64 {
	out := make([]int64, len(t))
	for i, v := range t {
		out[i] = v + by
	}
	return out
}
