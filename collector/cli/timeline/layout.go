package timeline

import (
	"fmt"

	"github.com/fermata-io/fermata/storage/requests"
)

// row is one line of the drawing: one tier's curve, or one of the client's.
type row struct {
	label  string
	shift  int64 // µs from the axis's zero to the tier's own zero
	phases []phase
	pts    []point
	first  *int64 // first text, where known without points
	end    *int64
	seen   int64 // the last offset known of
	state  requests.State
	served bool
	blind  bool // the tier has no chunk times: only phases and the end are known
	hidden []interval
	pace   int64 // median gap of what this row follows: what comes of it in few lumps has none of its own; 0: follows nothing
	table  *tableRow
}

type interval struct{ from, to int64 }

// phase is a known part of the time before the first text.
type phase struct {
	from, to int64
	kind     phaseKind
}

type phaseKind uint8

const (
	phaseWait phaseKind = iota
	phaseQueue
	phasePrefill
)

// tableRow is the same tier's line in the table of numbers.
type tableRow struct {
	ttfb, ttft, ttfa, end *int64
	tokens                *int64
	tps                   *float64
	chunks                *int
	worst                 *gap
	note                  string // definition of numbers that aren't ours
}

// layout places every tier on one axis.
type layout struct {
	rows  []row
	notes []string // how tiers of different clocks were put side by side
}

func (l *layout) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// arrange builds the rows: client first, then the gateway, then every attempt's server.
//
// Two clocks are compared only with an offset that was measured (SPEC of the joined clock). Without one a tier is placed by
// causality, at the instant at which the one in front of it sent the request, and a note says so.
func arrange(r *requests.Request) *layout {
	l := &layout{}
	// Zero of this stage: the moment the gateway got the request, else the first attempt's start.
	var base *requests.Stream
	servedAt := int64(0) // where the served attempt's server starts
	var servedServer *requests.Stream
	gatewayZero := r.Gateway != nil
	var servers []row
	for i := range r.Attempts {
		a := &r.Attempts[i]
		at := int64(0)
		switch s := a.Server; {
		case a.Gateway != nil && a.Gateway.StartUS != nil:
			at = *a.Gateway.StartUS
			gatewayZero = true
		case s == nil:
		case base == nil:
			base = s
			if g := r.Gateway; g != nil && g.UpstreamSentUS != nil {
				at = *g.UpstreamSentUS
			}
		default:
			at = s.StartedAt - base.StartedAt // one emitter's clock, or as good as one for retries of one gateway
		}
		if a.Server != nil {
			if g := r.Gateway; a.Served && g != nil && g.Clock != nil {
				at = a.Server.StartedAt + g.Clock.OffsetUS - g.StartedAt
			}
			servers = append(servers, serverRow(a, at, len(r.Attempts) > 1))
			if a.Served || servedServer == nil {
				servedServer, servedAt = a.Server, at
			}
		} else if a.Gateway != nil {
			servers = append(servers, attemptRow(a, at, len(r.Attempts) > 1))
		}
		for j := range a.OtherStreams {
			o := &a.OtherStreams[j]
			at := at
			if a.Server != nil {
				at += o.StartedAt - a.Server.StartedAt
			}
			rw := streamRow(o, at)
			rw.label = "also " + str(o.Emitter)
			servers = append(servers, rw)
		}
	}
	var gateways []row
	if r.Gateway != nil {
		gateways = append(gateways, gatewayRow(r.Gateway))
	}
	for i := range r.Attempts {
		g := r.Attempts[i].Gateway
		if g == nil || g.Chunks == nil {
			continue
		}
		gateways = append(gateways, gatewayStreamRow(g))
	}
	if gatewayZero && servedServer != nil && (r.Gateway == nil || r.Gateway.Clock == nil) {
		l.note("server placed at the moment the gateway sent the request on; the two clocks are not compared")
	}
	if r.Client != nil {
		l.rows = append(l.rows, l.client(r, servedServer, servedAt)...)
	}
	l.rows = append(l.rows, gateways...)
	l.rows = append(l.rows, servers...)
	return l
}

// client places the page's rows.
func (l *layout) client(r *requests.Request, server *requests.Stream, serverAt int64) []row {
	c := r.Client
	var at int64
	switch {
	case r.Clock != nil && c.StartedAt != nil && server != nil:
		at = serverAt + *c.StartedAt - r.Clock.OffsetUS - server.StartedAt
	case server != nil && server.StartUnknown && len(points(server.Chunks)) > 0 && len(points(c.Chunks)) > 0:
		at = serverAt + points(server.Chunks)[0].t - points(c.Chunks)[0].t
		l.note("client and server placed as if the first text took no time to arrive: the server's start and the clocks' offset are not known")
	default:
		if c.RequestSentUS != nil {
			at = -*c.RequestSentUS
		}
		if len(r.Attempts) > 0 || r.Gateway != nil {
			l.note("client placed as if the request took no time to arrive: its clock's offset is not known")
		}
	}
	rw := row{
		label: "client", shift: at, pts: points(c.Chunks), end: c.EndUS, state: c.State, first: c.TTFTUS, hidden: hidden(c),
		table: &tableRow{ttfb: c.TTFBUS, ttft: c.TTFTUS, ttfa: c.TTFAUS, end: c.EndUS, tokens: c.Tokens, chunks: &c.NChunks},
	}
	if c.RequestSentUS != nil && *c.RequestSentUS > 0 {
		rw.phases = append(rw.phases, phase{0, *c.RequestSentUS, phaseQueue})
	}
	rw.finish()
	out := []row{rw}
	for _, x := range []struct {
		label string
		curve *requests.Curve
	}{{"  in DOM", c.DOM}, {"  painted", c.Paint}} {
		pts := curvePoints(x.curve)
		if len(pts) == 0 {
			continue
		}
		p := row{label: x.label, shift: at, pts: pts, state: c.State, hidden: rw.hidden, pace: median(gaps(rw.pts))}
		p.table = &tableRow{ttft: &pts[0].t, end: &pts[len(pts)-1].t, chunks: count(len(pts))}
		if x.label == "  painted" && c.FirstPaintUS != nil {
			p.table.ttfa = c.FirstPaintUS
		}
		p.finish()
		out = append(out, p)
	}
	return out
}

// hidden lists when the page could not be seen.
func hidden(c *requests.Client) []interval {
	var out []interval
	since := int64(-1)
	for _, v := range c.Visibility {
		switch {
		case v.State == "hidden" && since < 0:
			since = v.TUS
		case v.State != "hidden" && since >= 0:
			out = append(out, interval{since, v.TUS})
			since = -1
		}
	}
	if since >= 0 {
		out = append(out, interval{since, 1<<62 - 1})
	}
	return out
}

func gatewayRow(g *requests.Gateway) row {
	rw := row{label: "gateway", first: g.FirstByteUS, end: g.LastByteUS, blind: true, state: requests.StateCompleted}
	switch {
	case g.CancelledUS != nil:
		rw.state = requests.StateAborted
		if rw.end == nil {
			rw.end = g.CancelledUS
		}
	case g.Error != nil:
		rw.state = requests.StateFailed
	case g.LastByteUS == nil:
		rw.state = requests.StateRunning
	}
	if q := g.Phases.QueueWaitUS; q != nil && *q > 0 {
		rw.phases = append(rw.phases, phase{0, *q, phaseQueue})
	}
	if g.UpstreamSentUS != nil {
		from := int64(0)
		if n := len(rw.phases); n > 0 {
			from = rw.phases[n-1].to
		}
		if *g.UpstreamSentUS > from {
			rw.phases = append(rw.phases, phase{from, *g.UpstreamSentUS, phaseWait})
		}
	}
	rw.table = &tableRow{ttfb: g.FirstByteUS, end: rw.end, tokens: g.OutputTokens}
	rw.finish()
	return rw
}

func gatewayStreamRow(g *requests.GatewayAttempt) row {
	rw := row{label: "  sent", pts: points(g.Chunks), first: g.TTFTUS, end: g.EndUS, state: requests.StateCompleted}
	if g.Stream != nil {
		rw.state = g.Stream.State
	}
	if g.StartedAt != nil && g.ChunksStartedAt != nil {
		for i := range rw.pts {
			rw.pts[i].t += *g.ChunksStartedAt - *g.StartedAt
		}
	}
	rw.table = &tableRow{ttfb: g.TTFBUS, ttft: g.TTFTUS, ttfa: g.TTFAUS, end: g.EndUS, tokens: g.Tokens, chunks: g.NChunks}
	rw.finish()
	return rw
}

func serverRow(a *requests.Attempt, at int64, numbered bool) row {
	rw := streamRow(a.Server, at)
	rw.served = a.Served
	if numbered {
		rw.label = fmt.Sprintf("server #%d", a.Attempt)
	}
	return rw
}

// attemptRow is an attempt that only the gateway told of.
func attemptRow(a *requests.Attempt, at int64, numbered bool) row {
	g := a.Gateway
	rw := row{label: "upstream", shift: at, blind: true, state: a.State, served: a.Served}
	if numbered {
		rw.label = fmt.Sprintf("upstr. #%d", a.Attempt)
	}
	if g.EndUS != nil {
		e := *g.EndUS - at
		rw.end = &e
	}
	rw.table = &tableRow{end: rw.end, tokens: g.Tokens}
	rw.finish()
	return rw
}

func streamRow(s *requests.Stream, at int64) row {
	rw := row{
		label: s.Tier, shift: at, pts: points(s.Chunks), first: s.TTFTUS, end: s.EndUS, state: s.State,
		table: &tableRow{ttfb: s.TTFBUS, ttft: s.TTFTUS, ttfa: s.TTFAUS, end: s.EndUS, tokens: s.Tokens, chunks: &s.NChunks, tps: tps(s)},
	}
	if s.ObservedUS != nil {
		rw.seen = *s.ObservedUS
	}
	from := int64(0)
	for _, x := range []struct {
		us   *int64
		kind phaseKind
	}{{s.Phases.QueueUS, phaseQueue}, {s.Phases.PrefillUS, phasePrefill}} {
		if x.us != nil && *x.us > 0 {
			rw.phases = append(rw.phases, phase{from, from + *x.us, x.kind})
			from += *x.us
		}
	}
	if rep := s.Reported; rep != nil && len(rw.pts) == 0 {
		rw.blind = true
		rw.first = rep.TTFTUS
		if rw.end == nil {
			rw.end = rep.E2EUS
		}
		rw.table.ttft, rw.table.ttfa, rw.table.end = rep.TTFTUS, rep.TTFAUS, rw.end
		rw.table.note = clean(rep.Definition)
	}
	rw.finish()
	return rw
}

// finish fills what follows from the rest.
func (rw *row) finish() {
	for _, p := range rw.pts {
		rw.seen = max(rw.seen, p.t)
	}
	for _, o := range []*int64{rw.end, rw.first} {
		if o != nil {
			rw.seen = max(rw.seen, *o)
		}
	}
	for _, ph := range rw.phases {
		rw.seen = max(rw.seen, ph.to)
	}
	if rw.table != nil && len(rw.pts) > 1 {
		g := gaps(rw.pts)[0]
		rw.table.worst = &g
	}
}

// tps is tokens after the first chunk's ÷ (last − first content-bearing chunk).
func tps(s *requests.Stream) *float64 {
	if s.Tokens == nil || s.TTFTUS == nil || s.LastUS == nil || *s.LastUS <= *s.TTFTUS || s.Synthetic {
		return nil
	}
	first := int64(1)
	if c := s.Chunks; c != nil && len(c.Tokens) == len(c.TUS) {
		for i, t := range c.TUS {
			if t == *s.TTFTUS && c.Tokens[i] > 0 {
				first = int64(c.Tokens[i])
				break
			}
		}
	}
	n := *s.Tokens - first
	if n <= 0 {
		return nil
	}
	v := float64(n) / (float64(*s.LastUS-*s.TTFTUS) / 1e6)
	return &v
}

func count(n int) *int { return &n }
