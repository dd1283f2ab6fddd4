package simulate

import (
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// route hands a request to the engines: once, or again after a first attempt has failed.
func (s *Simulator) route(p *plan) {
	r := p.r
	i := r.IntN(len(s.engines))
	if p.loop != nil && p.loopChannel == wire.KindReasoning {
		i = len(s.engines) - 1
	}
	attempt, at := uint32(1), p.way.forwarded
	if p.fault == FaultRetry || p.fault == FaultHedge {
		first := s.engines[(i+1)%len(s.engines)]
		a := wire.Attempt{Attempt: 1, Deployment: first.deployment, Provider: first.provider, Model: first.model.model, Start: at}
		if p.fault == FaultRetry {
			at += int64(logUniform(r, 2e4, 3e6))
			a.End, a.Status, a.ErrorType = at, 503, "http_503"
			at += 20_000 + r.Int64N(200_000)
		} else {
			at += 800_000 + r.Int64N(1_500_000) // its end is known when the other one has won
		}
		p.way.attempts = append(p.way.attempts, a)
		attempt = 2
	}
	s.ask(p, s.engines[i], attempt, at)
	if p.fault == FaultReusedID { // another program takes the same id for a request of its own
		s.ask(p, s.engines[i], attempt, at+2_000_000+r.Int64N(20_000_000))
	}
}

func (s *Simulator) ask(p *plan, e *engine, attempt uint32, at int64) {
	j := &job{p: p, attempt: attempt, start: at + 400 + p.r.Int64N(900)}
	j.arrived = j.start + p.pauses[0]
	p.jobs = append(p.jobs, j)
	p.pending++
	e.add(j)
}

// finish makes the records and truths of a request whose jobs are done.
func (s *Simulator) finish(p *plan) {
	s.open = slices.DeleteFunc(s.open, func(o *plan) bool { return o == p })
	s.Done++
	var served *wire.Stream
	for _, j := range p.jobs {
		w := s.serverStream(j)
		served = w
		s.segments(w, j.start)
		s.judgeStream(j, w, j.start)
		s.versions[versionOf{j.e.deployment, j.version}]++
	}
	j := p.jobs[len(p.jobs)-1]
	if p.fault == FaultReusedID {
		s.tell(Truth{RequestID: p.id, Kind: "id_conflict", Tier: string(wire.TierServer), Chunk: -1, Cause: string(FaultReusedID), At: j.start})
		return
	}
	p.prefilled = j.prefilled
	s.overTheWay(p, j, served)
}

// overTheWay plays what lies between engine and page, and the page.
func (s *Simulator) overTheWay(p *plan, j *job, w *wire.Stream) {
	var ts []int64
	var bytes []uint32
	var kinds []wire.Kind
	for i := range w.Chunks.T {
		if w.Chunks.ContentBearing(i) {
			ts, bytes, kinds = append(ts, j.start+w.Chunks.T[i]), append(bytes, w.Chunks.Bytes[i]), append(kinds, w.Chunks.KindAt(i))
		}
	}
	end := j.start + w.EndUS.V
	whole := w.FinishReason != "" && w.FinishReason != "abort"
	d := p.deliver(ts, bytes, end)
	if p.relays {
		s.relay(p, j, w, d)
	}
	var x *sight
	if p.hasPage {
		x = p.see(j, d, bytes, kinds, end, whole)
		s.beacons(p, x)
		s.judgePage(p, j, w, d, x, ts)
	}
	if p.gateways {
		s.gateway(p, j, w, d, x)
	}
}

// relay is the gateway's own view of the stream.
func (s *Simulator) relay(p *plan, j *job, w *wire.Stream, d *delivery) {
	g := *w
	g.Tier, g.Emitter, g.StartedAt = wire.TierGateway, "sim-gateway", p.way.received+gatewayClockUS
	g.QueueUS, g.PrefillUS, g.ChunkSize, g.BatchSize = wire.Opt[int64]{}, wire.Opt[int64]{}, wire.Opt[int64]{}, wire.Opt[int64]{}
	g.SpecDraft, g.SpecAccepted = wire.Opt[int64]{}, wire.Opt[int64]{}
	shift := j.start - p.way.received
	g.Chunks = wire.Chunks{Bytes: w.Chunks.Bytes, Tokens: w.Chunks.Tokens, Kind: w.Chunks.Kind}
	k, last := 0, int64(0)
	for i, t := range w.Chunks.T {
		t += shift + p.way.relayUS
		if w.Chunks.ContentBearing(i) {
			t = d.gateway[k] - p.way.received
			k++
		}
		last = max(last, t)
		g.Chunks.T = append(g.Chunks.T, last)
	}
	if w.HeadersUS.OK {
		g.HeadersUS = wire.Some(w.HeadersUS.V + shift + p.way.relayUS)
	}
	g.EndUS = wire.Some(max(last, w.EndUS.V+shift+p.way.relayUS))
	s.segments(&g, p.way.received)
	s.judgeStream(j, &g, p.way.received)
}

// gatewayClockUS is the gateway's clock − true time.
const gatewayClockUS = 1_700

// gateway is the gateway's record of a request.
func (s *Simulator) gateway(p *plan, j *job, w *wire.Stream, d *delivery, x *sight) {
	at := func(t int64) int64 { return t + gatewayClockUS }
	g := &wire.Gateway{
		RequestID: p.id, Tenant: s.cfg.Tenant, Emitter: "sim-gateway", Target: j.target(), Route: p.route, App: p.app, Region: p.region,
		QueryType: p.queryType, ReceivedAt: at(p.way.received), UpstreamSentAt: at(p.way.forwarded),
		QueueWaitUS: wire.Some(p.way.queueUS), CacheLookupUS: wire.Some(p.way.cacheUS), CacheResult: "miss", RouteDecisionUS: wire.Some[int64](300),
		RouteDecision: wire.RouteDecision{Policy: "least_busy", Candidates: []string{"sim-a1", "sim-a2", "sim-b1", "sim-c1"}, Chosen: j.e.deployment},
		Status:        200, InFlight: wire.Some(int64(len(s.open))),
	}
	end := j.start + w.EndUS.V + p.way.relayUS
	for _, a := range p.way.attempts {
		if a.End == 0 { // the hedge that lost
			a.End, a.ErrorType = end, "cancelled"
			if len(d.gateway) > 0 {
				a.End = d.gateway[0]
			}
		}
		a.Start, a.End = at(a.Start), at(a.End)
		g.Attempts = append(g.Attempts, a)
	}
	g.Attempts = append(g.Attempts, wire.Attempt{
		Attempt: j.attempt, Deployment: j.e.deployment, Provider: j.e.provider, Model: j.e.model.model, Start: at(j.start - 400), End: at(end),
		Status: 200, Served: true,
	})
	if n := len(g.Attempts) - 1; n > 0 {
		g.Retries = wire.Some(int64(n))
	}
	if len(d.gateway) > 0 {
		g.FirstByteAt, g.LastByteAt = at(d.gateway[0]), at(max(end, d.gateway[len(d.gateway)-1]))
	}
	if x != nil && x.left != never {
		gone := x.left + p.page.wayUS
		g.CancelledAt, g.UpstreamClosedAt = at(gone), at(gone+3_000)
		if p.keeps {
			g.UpstreamClosedAt = at(max(gone, end))
		}
		g.LastByteAt = min(g.LastByteAt, g.CancelledAt)
	}
	s.push(end+5_000, Record{Gateway: g})
}

// segments sends a stream, in one piece or cut as a server does while it runs.
func (s *Simulator) segments(w *wire.Stream, start int64) {
	end := w.EndUS.V
	step := s.cfg.Segment.Microseconds()
	if step == 0 || end <= step {
		s.push(start+end, Record{Stream: w})
		return
	}
	from := 0
	n := w.Chunks.Len()
	for seq, at := uint32(0), step; ; seq, at = seq+1, at+step {
		g := *w
		g.Seq, g.Final = seq, at >= end
		to := n
		if !g.Final {
			to = from
			for to < n && w.Chunks.T[to] <= at {
				to++
			}
			g.EndUS, g.ObservedUS, g.OutputTokens = wire.Opt[int64]{}, wire.Some(at), wire.Opt[int64]{}
			g.FinishReason, g.StopReason, g.ErrorType = "", "", ""
		}
		c := &w.Chunks
		g.Chunks = wire.Chunks{
			T: c.T[from:to], Bytes: part(c.Bytes, from, to), Tokens: part(c.Tokens, from, to), Kind: part(c.Kind, from, to), Text: part(c.Text, from, to),
		}
		from = to
		s.push(start+min(at, end), Record{Stream: &g})
		if g.Final {
			return
		}
	}
}

func part[T any](a []T, from, to int) []T {
	if len(a) == 0 {
		return nil
	}
	return a[from:to]
}

// beacons sends what the page saw: in one or two beacons, the last of which may be lost, come late, or come twice.
func (s *Simulator) beacons(p *plan, x *sight) {
	c := s.client(p, x)
	at := x.end()
	send := func(c *wire.Client, at int64) {
		p.page.beacons++
		c.BeaconSeq = p.page.beacons
		s.push(at, Record{Client: c})
	}
	two := p.r.IntN(3) == 0 || p.fault == FaultLostBeacon
	late := int64(0)
	if p.r.IntN(20) == 0 {
		late = p.r.Int64N(120_000_000)
	}
	if two && c.Recv.Len() > 4 {
		cut := c.Recv.T[c.Recv.Len()/2]
		a, b := halves(c, cut)
		send(a, p.page.origin+cut)
		if p.fault == FaultLostBeacon {
			return
		}
		c = b
	}
	send(c, at+late)
	if p.r.IntN(25) == 0 { // the browser sent it twice
		twice := *c
		s.push(at+late+400_000, Record{Client: &twice})
	}
}

// halves cuts a page's record at an offset into two segments.
func halves(c *wire.Client, cut int64) (a, b *wire.Client) {
	x, y := *c, *c
	x.Final, y.Seq = false, 1
	x.Done, x.Aborted, x.Closed, x.ErrorType, x.FinishReason = wire.Opt[int64]{}, wire.Opt[int64]{}, wire.Opt[int64]{}, "", ""
	x.ClockNow, x.WallNow = wire.Some(cut), c.WallNow-(c.ClockNow.V-cut)
	x.Recv, y.Recv = split(&c.Recv, cut)
	x.Paint, y.Paint = split(&c.Paint, cut)
	if x.FirstPaint.OK && x.FirstPaint.V > cut {
		x.FirstPaint = wire.Opt[int64]{}
	}
	x.Visibility, y.Visibility = nil, nil
	for _, v := range c.Visibility {
		if v.T <= cut {
			x.Visibility = append(x.Visibility, v)
		} else {
			y.Visibility = append(y.Visibility, v)
		}
	}
	x.LongFrames, x.Retractions = nil, nil
	return &x, &y
}

func split(c *wire.Chunks, at int64) (a, b wire.Chunks) {
	n := 0
	for n < len(c.T) && c.T[n] <= at {
		n++
	}
	cut := func(from, to int) wire.Chunks {
		return wire.Chunks{T: c.T[from:to], Bytes: part(c.Bytes, from, to), Kind: part(c.Kind, from, to)}
	}
	return cut(0, n), cut(n, len(c.T))
}
