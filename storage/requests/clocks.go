package requests

import (
	"math"
	"slices"

	"github.com/fermata-io/fermata/internal/clock"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/table"
)

// clockConfig is what is assumed of clocks.
var clockConfig = clock.NewDefaultConfig()

// The rules by which a clock_conflict is told.
const (
	ruleOwnClock  = "the request arrived before it was sent, or a byte before it left: a clock was stepped or the join is wrong"
	ruleStep      = "the clocks stepped between the session's request before and this one"
	ruleSuspended = "the page's clock stood still between the session's request before and this one: its machine slept"
	ruleStray     = "the session's requests before and after agree on the clocks, this one contradicts them: a wrong join"
	ruleRelayed   = "the gateway got the request before the page sent it, or the page a byte before the gateway sent it"
	ruleThrough   = "page, gateway and server each fit each other, all three together don't: one of them tells more time than passed"
	ruleGateway   = "the server got the request before the gateway sent it, or the gateway a byte before the server sent it"
)

// otherClock relates the page's clock to one other process's, the peer: by this request, and by its session.
type otherClock struct {
	row     clocks.Row
	own     clock.Bounds
	session *clock.Session
	members int // requests that bound it
}

// at is θ = page − peer at an instant of the peer's clock.
func (o *otherClock) at(id string, x int64) (clock.Estimate, bool) {
	if o == nil {
		return clock.Estimate{}, false
	}
	return o.session.At(id, x)
}

// broken reports whether the request's own bounds contradict each other.
func (o *otherClock) broken(id string) bool { return o != nil && slices.Contains(o.session.Broken, id) }

// peerName is whose clock it is. Streams of one emitter to several deployments may be those of several machines.
func peerName(emitter, deployment string) string { return emitter + "\x00" + deployment }

// alignClocks bounds the page's clock against those of the served attempt's server and of the gateway.
func (a *assembly) alignClocks(tenant string, rec *Records) {
	c := a.client
	if c == nil || c.TimeOrigin == 0 || c.how != "" { // times that can't be bound nothing
		return
	}
	base := clocks.Row{
		Tenant: tenant, SessionID: c.SessionID, TimeOrigin: uint64(c.TimeOrigin), SubmitUS: uint64(max(0, c.start())), //nolint:gosec // not negative
		RequestID: a.id, Version: a.knows(rec),
	}
	if c.WallNow != 0 && c.ClockNow.OK {
		base.WallUS = table.Some(c.WallNow - c.TimeOrigin - c.ClockNow.V)
	}
	if s := a.servedStream; s != nil && !s.StartUnknown {
		base.Tier, base.Peer, base.StartedAt = string(wire.TierServer), peerName(s.Emitter, s.Deployment), table.Micros(s.StartedAt)
		a.pageServer = align(base, a.boundsToServer(), rec.Session)
	}
	if len(a.gateways) > 0 {
		g := &a.gateways[0]
		base.Tier, base.Peer, base.StartedAt = string(wire.TierGateway), peerName(g.Emitter, ""), table.Micros(g.ReceivedAt)
		a.pageGateway = align(base, a.boundsToGateway(), rec.Session)
	}
}

// knows counts what a row was made of, so that of two states the later one is told.
func (a *assembly) knows(rec *Records) uint64 {
	records, chunks := len(a.gateways)+len(rec.Clients), 0
	for i := range a.streams {
		records += a.streams[i].segments
		chunks += len(a.streams[i].line.t)
	}
	if c := a.client; c != nil {
		chunks += len(c.recv.t)
	}
	return uint64(records)<<32 | uint64(min(chunks, math.MaxUint32))
}

// align brings a request's own bounds together with those of its session, as far as they are of the same two clocks.
func align(row clocks.Row, own clock.Bounds, session []clocks.Row) *otherClock {
	o := &otherClock{row: row, own: own}
	o.row.SetBounds(own.Prune(clockConfig.MaxRate+clockConfig.Wander, clockConfig.Points))
	all := []clock.Observation{{ID: row.RequestID, Start: int64(row.StartedAt), Bounds: own}}
	for i := range session {
		r := &session[i]
		if r.Tenant == row.Tenant && r.SessionID == row.SessionID && r.TimeOrigin == row.TimeOrigin && r.Tier == row.Tier &&
			r.Peer == row.Peer && r.RequestID != row.RequestID {
			all = append(all, clock.Observation{ID: r.RequestID, Start: int64(r.StartedAt), Bounds: r.Bounds()})
		}
	}
	o.session = clock.Align(all, clockConfig)
	o.members = len(all)
	return o
}

// boundsToServer are what this request says of the page's clock against the served attempt's server's.
func (a *assembly) boundsToServer() (b clock.Bounds) {
	c, s := a.client, a.servedStream
	if sent := opt(c.RequestSent); sent != nil {
		b.Sent(c.TimeOrigin+*sent, s.StartedAt)
	} else if c.Submit.OK {
		b.Sent(c.TimeOrigin+c.Submit.V, s.StartedAt)
	}
	if c.Headers.OK && s.HeadersUS.OK {
		b.Received(s.StartedAt+s.HeadersUS.V, c.TimeOrigin+c.Headers.V)
	}
	a.boundsOfText(&b, s, s.StartedAt)
	return b
}

// boundsToGateway are what this request says of the page's clock against the gateway's: by what the two tell of each other, and by
// way of the server. They contradict each other where anything does.
func (a *assembly) boundsToGateway() clock.Bounds {
	own, at := a.boundsOfRelaying(), a.gateways[0].ReceivedAt
	a.relayRule = ruleRelayed
	if clockConfig.Empty(own, at) {
		return own
	}
	a.relayRule = ruleThrough
	// Within one request the clocks of gateway and server run evenly, unless nothing else fits.
	both := a.boundsThroughServer(0)
	both.Add(own)
	if clockConfig.Empty(both, at) {
		both = a.boundsThroughServer(clockConfig.MaxRate)
		both.Add(own)
	}
	return both
}

// boundsOfRelaying are what page and gateway tell of each other. The gateway's first byte is one of the body: headers may have
// gone before it.
func (a *assembly) boundsOfRelaying() (b clock.Bounds) {
	c, g := a.client, &a.gateways[0]
	if sent := opt(c.RequestSent); sent != nil {
		b.Sent(c.TimeOrigin+*sent, g.ReceivedAt)
	} else if c.Submit.OK {
		b.Sent(c.TimeOrigin+c.Submit.V, g.ReceivedAt)
	}
	if g.FirstByteAt != 0 && c.sc.first != nil {
		b.Received(g.FirstByteAt, c.TimeOrigin+*c.sc.first)
	}
	if relay := a.relay(); relay != nil {
		a.boundsOfText(&b, relay, relay.StartedAt)
	}
	return b
}

// boundsThroughServer are what this request says of the page's clock against the gateway's by way of the server, of which both
// know when it got the request and sent each byte. Where either contradicts the server, they say nothing.
func (a *assembly) boundsThroughServer(rate float64) (b clock.Bounds) {
	if a.pageServer == nil {
		return b
	}
	gateway, at := a.boundsOfGateway(), a.servedStream.StartedAt
	if clockConfig.Empty(gateway, at) || clockConfig.Empty(a.pageServer.own, at) {
		return b
	}
	return clockConfig.Through(a.pageServer.own, gateway, rate)
}

// boundsOfText adds what the text of a stream that began at start says.
func (a *assembly) boundsOfText(b *clock.Bounds, s *merged, start int64) {
	c := a.client
	sent, okS := s.line.cumulative()
	got, okC := c.recv.cumulative()
	// A page that counts more bytes than an ended stream sent counts other ones.
	if okS && okC && (s.state == StateRunning || len(s.missing) > 0 || c.sc.contentBytes <= s.sc.contentBytes) {
		b.Positions(clock.Curve{T: shifted(s.line.t, start), Cum: sent}, clock.Curve{T: shifted(c.recv.t, c.TimeOrigin), Cum: got})
	}
	// Where sizes are not known, the user's first text still can't be older than the server's.
	if s.sc.first != nil && !s.StartUnknown {
		for _, first := range []*int64{c.sc.first, opt(c.FirstPaint)} {
			if first != nil {
				b.Received(start+*s.sc.first, c.TimeOrigin+*first)
			}
		}
	}
}

// relay is the gateway's own stream of the served attempt, nil where its times are not those of the gateway's record.
func (a *assembly) relay() *merged {
	m := a.primary(wire.TierGateway, a.served)
	if m == nil || m.StartUnknown || len(a.gateways) == 0 {
		return nil
	}
	if g := &a.gateways[0]; g.Emitter != m.Emitter && g.Emitter != "" && m.Emitter != "" {
		return nil
	}
	return m
}

func shifted(t []int64, by int64) []int64 {
	out := make([]int64, len(t))
	for i, v := range t {
		out[i] = v + by
	}
	return out
}

// clock is the page's clock against the served attempt's server's when the request reached it; nil where the records don't
// bound it.
func (a *assembly) clock() *Clock {
	o := a.pageServer
	if o == nil {
		return nil
	}
	e, ok := o.at(a.id, int64(o.row.StartedAt))
	if !ok {
		return nil
	}
	return clockModel(&e, o.members)
}

// sharpRate is how well the rate must be known to be told, as a ratio.
const sharpRate = 50e-6

func clockModel(e *clock.Estimate, requests int) *Clock {
	c := &Clock{
		OffsetUS: e.Offset, UncertaintyUS: e.Uncertainty, Source: ClockCausal, MinUS: e.Lo, MaxUS: e.Hi, Requests: requests,
	}
	if requests > 1 {
		c.Source = ClockSession
	}
	if e.RoundTrip >= 0 {
		c.RoundTripUS = known(e.RoundTrip)
	}
	if e.RateHi-e.RateLo <= 2*sharpRate {
		c.DriftPPM = known(math.Round(e.Rate*1e7) / 10)
		c.DriftUncertaintyPPM = known(math.Ceil(max(e.RateHi-e.Rate, e.Rate-e.RateLo)*1e7) / 10)
	}
	return c
}

// findClockConflicts tells of bounds of the page's clock that no offset fits. What contradicts the server is not told of the
// gateway once more: it has one cause.
func (a *assembly) findClockConflicts() {
	server := a.clockConflicts(a.pageServer, ruleOwnClock)
	if len(server) == 0 {
		server = a.clockConflicts(a.pageGateway, a.relayRule)
	}
	a.conflicts = append(a.conflicts, server...)
}

// clockConflicts are those of this request alone, by a rule, or between it and others of its session.
func (a *assembly) clockConflicts(o *otherClock, own string) (out []Conflict) {
	if o == nil {
		return nil
	}
	tier, emitter := wire.TierClient, ""
	if o == a.pageGateway {
		tier, emitter = wire.TierGateway, a.gateways[0].Emitter
	}
	add := func(rule string, evidence ...int64) {
		out = append(out, Conflict{
			Kind: ConflictClock, Tier: string(tier), Emitter: text(emitter), Detail: rule, Evidence: append([]int64{}, evidence...),
		})
	}
	if o.broken(a.id) {
		add(own, outermost(o.own)...)
	}
	numbers := func(b *clock.Break) []int64 {
		step, uncertainty := b.Step()
		return []int64{step, uncertainty, b.Was.Lo, b.Was.Hi, b.Is.Lo, b.Is.Hi}
	}
	for i := range o.session.Breaks {
		b := &o.session.Breaks[i]
		if b.After != a.id || !b.Known {
			continue
		}
		rule := ruleStep
		if step, uncertainty := b.Step(); a.slept(o, b.Before, step, uncertainty) {
			rule = ruleSuspended
		}
		add(rule, numbers(b)...)
	}
	for i := range o.session.Strays {
		if b := &o.session.Strays[i]; b.After == a.id && b.Known {
			add(ruleStray, numbers(b)...)
		}
	}
	return out
}

// slept reports whether the page's wall clock went on by what its own clock lost since the session's request before.
func (a *assembly) slept(o *otherClock, before string, step, uncertainty int64) bool {
	for i := range a.session {
		r := &a.session[i]
		if r.RequestID != before || r.Tier != o.row.Tier || !r.WallUS.OK || !o.row.WallUS.OK {
			continue
		}
		d := o.row.WallUS.V - r.WallUS.V + step
		return step < 0 && max(d, -d) <= uncertainty+1_000_000
	}
	return false
}

// outermost is the greatest lower and the least upper bound.
func outermost(b clock.Bounds) []int64 {
	if !b.Closed() {
		return nil
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for _, p := range b.Lower {
		lo = max(lo, p.Theta)
	}
	for _, p := range b.Upper {
		hi = min(hi, p.Theta)
	}
	return []int64{lo, hi}
}

// boundsOfGateway are what this request says of the gateway's clock against the served attempt's server's.
func (a *assembly) boundsOfGateway() (b clock.Bounds) {
	s, g := a.servedStream, &a.gateways[0]
	sent := g.UpstreamSentAt
	if _, ga := a.gatewayAttempt(a.served); ga != nil && ga.Start != 0 {
		sent = ga.Start
	}
	if sent != 0 {
		b.Sent(sent, s.StartedAt)
	}
	if g.FirstByteAt != 0 {
		if at, ok := firstEvent(s); ok {
			b.Received(s.StartedAt+at, g.FirstByteAt)
		}
	}
	if relay := a.relay(); relay != nil {
		server, okS := s.line.cumulative()
		got, okR := relay.line.cumulative()
		if okS && okR && (s.state == StateRunning || relay.sc.contentBytes <= s.sc.contentBytes) {
			b.Positions(clock.Curve{T: shifted(s.line.t, s.StartedAt), Cum: server}, clock.Curve{T: shifted(relay.line.t, relay.StartedAt), Cum: got})
		}
	}
	return b
}

// gatewayClock is the gateway's clock against the served attempt's server's, by this request alone.
func (a *assembly) gatewayClock() *Clock {
	s := a.servedStream
	if len(a.gateways) == 0 || s == nil || s.StartUnknown {
		return nil
	}
	b := a.boundsOfGateway()
	if !b.Closed() {
		return nil
	}
	if clockConfig.Empty(b, s.StartedAt) {
		a.conflicts = append(a.conflicts, Conflict{
			Kind: ConflictClock, Tier: string(wire.TierGateway), Attempt: known(a.served), Emitter: text(a.gateways[0].Emitter), Detail: ruleGateway,
			Evidence: outermost(b),
		})
		return nil
	}
	e, ok := clockConfig.Estimate([]clock.Bounds{b}, s.StartedAt)
	if !ok {
		return nil
	}
	return clockModel(&e, 1)
}

// firstEvent is when a server first sent anything, headers or a chunk, from its start.
func firstEvent(s *merged) (int64, bool) {
	switch {
	case s.HeadersUS.OK:
		return s.HeadersUS.V, true
	case len(s.line.t) > 0:
		return s.line.t[0], true
	}
	return 0, false
}

// ClockRows are what the request says of its page's clock, for the other requests of the session: one for each process that
// it is bounded against, less those that are stored already.
func (r *Request) ClockRows() []clocks.Row {
	var out []clocks.Row
	for _, row := range r.clockRows {
		if !row.Stored {
			out = append(out, row)
		}
	}
	return out
}

// ClockNeighbours are other requests of the session in which this one may show, or explain away, a contradiction: the one
// after it and those after a break.
func (r *Request) ClockNeighbours() []string { return r.clockNeighbours }

func (a *assembly) clockRows() []clocks.Row {
	var out []clocks.Row
	for _, o := range []*otherClock{a.pageServer, a.pageGateway} {
		if o == nil || a.client.SessionID == "" || len(o.row.LowerUS)+len(o.row.UpperUS) == 0 || clockConfig.Empty(o.own, int64(o.row.StartedAt)) {
			continue
		}
		row := o.row
		for i := range a.session {
			s := &a.session[i]
			if s.Stored && s.SameIdentity(&row) && (s.Version > row.Version || s.Same(&row)) {
				row.Stored = true
			}
		}
		out = append(out, row)
	}
	return out
}

func (a *assembly) clockNeighbours() []string {
	var out []string
	for _, o := range []*otherClock{a.pageServer, a.pageGateway} {
		if o == nil {
			continue
		}
		if next := o.session.Next(a.id); next != "" {
			out = append(out, next)
		}
		for _, list := range [][]clock.Break{o.session.Breaks, o.session.Strays} {
			for i := range list {
				if list[i].After != a.id {
					out = append(out, list[i].After)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
