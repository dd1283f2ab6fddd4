package simulate

import (
	"github.com/fermata-io/fermata/internal/wire"
)

// frameUS is the time of a frame at 60 Hz.
const frameUS = 16_667

// sight is what a page saw of an answer, in true time.
type sight struct {
	recv    []got
	paints  []got
	hidden  []span
	busy    span // the page's thread
	idle    bool // paints wait while the thread is free: only what is shown is late
	left    int64
	done    int64
	failed  int64
	error   string
	taken   []wire.Retraction // of true instants
	dropped int64             // limit of the hop that closed the connection, µs
}

// got is bytes that came, or were shown, at one time; chunks to tell which of the server's.
type got struct {
	at       int64
	bytes    uint32
	kind     wire.Kind
	from, to int // chunks of the server
}

// see plays the page. ts, bytes and kinds are the server's content-bearing chunks; end is when its stream ended.
func (p *plan) see(j *job, d *delivery, bytes []uint32, kinds []wire.Kind, end int64, whole bool) *sight {
	r := p.r
	s := &sight{left: never, done: never, failed: never}
	if j.abortedAt != 0 {
		s.left = j.abortedAt
	}
	n := len(d.page)
	arrives := end + p.way.relayUS + p.page.wayUS + 2_000 // of the end
	if n > 0 {
		arrives = max(arrives, d.page[n-1]+100)
		if d.outage.until > 0 && arrives < d.outage.until && arrives > d.outage.from {
			arrives = d.outage.until
		}
	}
	stop := s.left
	switch {
	case whole:
		s.done = arrives
	default:
		s.failed, s.error = arrives, "network_error"
	}
	p.interrupt(s, d, &stop)
	p.distract(s, d)
	reads := r.IntN(3) == 0 // some pages see reads, not events
	for i := 0; i < n && d.page[i] <= min(stop, s.failed); i++ {
		at := d.page[i]
		if !s.idle && at > s.busy.from && at < s.busy.until {
			at = s.busy.until + int64(i)
		}
		if k := len(s.recv) - 1; reads && k >= 0 && at-s.recv[k].at < 400 && s.recv[k].kind == kinds[i] {
			s.recv[k].bytes += bytes[i]
			s.recv[k].to = i + 1
			continue
		}
		s.recv = append(s.recv, got{at, bytes[i], kinds[i], i, i + 1})
	}
	if stop != never && stop < s.done {
		s.done = never
	}
	if s.left > s.done {
		s.left = never
	}
	p.paint(s)
	if p.fault == FaultRetraction && len(s.paints) > 3 {
		k := 2 + r.IntN(len(s.paints)-2)
		sum := uint32(0)
		for _, g := range s.paints[:k] {
			sum += g.bytes
		}
		s.taken = append(s.taken, wire.Retraction{T: s.paints[k-1].at + 3_000, Bytes: sum/2 + 1})
	}
	return s
}

// interrupt ends the connection early: a hop that closes a silent stream, or a network that breaks.
func (p *plan) interrupt(s *sight, d *delivery, stop *int64) {
	switch p.fault {
	case FaultIdleDrop:
		const limit = 60_000_000
		prev := p.way.sent
		for i, at := range append(d.page[:len(d.page):len(d.page)], never) {
			if at-prev > limit {
				s.failed, s.error, s.dropped = prev+limit+10_000+p.r.Int64N(30_000), "network_error", limit
				s.done = never
				*stop = min(*stop, s.failed)
				return
			}
			prev = d.page[min(i, len(d.page)-1)]
		}
	case FaultBroken:
		if n := len(d.page); n > 24 {
			s.failed, s.error = d.page[8+p.r.IntN(n-16)]+int64(logUniform(p.r, 2e4, 2e5)), "network_error"
			s.done = never
			*stop = min(*stop, s.failed)
		}
	}
}

// distract hides the page, or keeps its thread busy.
func (p *plan) distract(s *sight, d *delivery) {
	r, n := p.r, len(d.page)
	if n < 12 {
		return
	}
	at := d.page[2+r.IntN(n-8)]
	switch p.fault {
	case FaultHidden:
		s.hidden = []span{{at, at + int64(logUniform(r, 0.5e6, 20e6))}}
	case FaultRender:
		s.busy = span{at, at + int64(logUniform(r, 0.5e6, 6e6))}
		s.idle = r.IntN(2) == 0
	}
}

// paint shows what was received, once a frame.
func (p *plan) paint(s *sight) {
	r := p.r
	frame := func(at int64) int64 { return at + frameUS - (at-p.page.frame)%frameUS }
	if p.fault == FaultTyping {
		p.typeOut(s, frame)
		return
	}
	until := min(s.left, s.failed) // after it nothing is shown
	last := int64(0)
	for i := 0; i < len(s.recv); {
		at := frame(s.recv[i].at + 400 + r.Int64N(2_500))
		if at > s.busy.from && at < s.busy.until {
			at = frame(s.busy.until)
		}
		for _, h := range s.hidden {
			if at > h.from && at < h.until {
				at = frame(h.until)
			}
		}
		at = max(at, last+frameUS)
		if until != never && at > until+50_000 {
			break
		}
		g := got{at: at, from: s.recv[i].from}
		for i < len(s.recv) && s.recv[i].at < at-1_000 {
			g.bytes += s.recv[i].bytes
			g.to = s.recv[i].to
			i++
		}
		s.paints = append(s.paints, g)
		last = at
	}
}

// typeOut shows a few characters at a time, however fast they come.
func (p *plan) typeOut(s *sight, frame func(int64) int64) {
	every := 40_000 + p.r.Int64N(50_000)
	step := uint32(2 + p.r.IntN(3)) //nolint:gosec // small
	at := int64(0)
	for _, g := range s.recv {
		at = max(at, g.at)
		for left := g.bytes; left > 0; {
			n := min(step, left)
			left -= n
			at = frame(max(at+every-frameUS, g.at))
			s.paints = append(s.paints, got{at: at, bytes: n, from: g.from, to: g.to})
		}
	}
}

// client is the page's record, in one piece; offsets are on its own clock.
func (s *Simulator) client(p *plan, x *sight) *wire.Client {
	c := p.page
	at := func(t int64) wire.Opt[int64] { return wire.Some(c.clock(t)) }
	w := &wire.Client{
		RequestID: p.id, Tenant: s.cfg.Tenant, SessionID: c.id, Final: true, Page: "/chat", App: p.app, Release: "2026.1",
		Browser: c.browser, OS: c.os, Device: c.device, Country: c.country, QueryType: p.queryType, ContentKind: "markdown", Protocol: "fetch",
		PaintSource: "frame", TimeOrigin: c.origin + c.skewUS, Submit: at(p.submit), RequestSent: at(p.way.sent),
		FirstFeedback: at(p.submit + frameUS),
	}
	if c.sleptUS != 0 {
		w.TimeOrigin -= c.sleptUS
	}
	if p.prefilled > 0 {
		w.Headers = at(p.prefilled + p.way.relayUS + c.wayUS)
	}
	for _, g := range x.recv {
		w.Recv.T, w.Recv.Bytes, w.Recv.Kind = append(w.Recv.T, c.clock(g.at)), append(w.Recv.Bytes, g.bytes), append(w.Recv.Kind, g.kind)
	}
	for _, g := range x.paints {
		w.Paint.T, w.Paint.Bytes = append(w.Paint.T, c.clock(g.at)), append(w.Paint.Bytes, g.bytes)
	}
	if len(x.paints) > 0 {
		w.FirstPaint = at(x.paints[0].at)
	}
	for _, h := range x.hidden {
		w.Visibility = append(w.Visibility, wire.VisibilityChange{T: c.clock(h.from), Hidden: true}, wire.VisibilityChange{T: c.clock(h.until)})
	}
	if x.busy.until > 0 {
		w.LongFrames = append(w.LongFrames, wire.LongFrame{T: c.clock(x.busy.from), Dur: x.busy.until - x.busy.from})
	}
	for _, t := range x.taken {
		w.Retractions = append(w.Retractions, wire.Retraction{T: c.clock(t.T), Bytes: t.Bytes})
	}
	switch {
	case x.left != never:
		w.Aborted = at(x.left)
	case x.failed != never:
		w.ErrorType, w.Closed = x.error, at(x.failed)
	case x.done != never:
		w.Done = at(x.done)
		w.FinishReason = p.finish
	}
	end := x.end()
	w.ClockNow = at(end)
	w.WallNow = end + c.skewUS
	return w
}

// end is when the page knows all it will know.
func (s *sight) end() int64 {
	end := int64(0)
	for _, t := range []int64{s.left, s.failed, s.done} {
		if t != never {
			end = max(end, t)
		}
	}
	for _, l := range [][]got{s.recv, s.paints} {
		if len(l) > 0 {
			end = max(end, l[len(l)-1].at)
		}
	}
	for _, h := range s.hidden {
		end = max(end, h.until)
	}
	return end + 30_000
}
