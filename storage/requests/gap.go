package requests

import (
	"slices"

	"github.com/fermata-io/fermata/internal/clock"
)

// Parts of the gap between what the user felt and what the server measured, in the order in which they pass.
const (
	PartPage         = "page"          // submit event → request sent
	PartUplink       = "uplink"        // request sent by the page → got by the gateway, or by the server where there is none
	PartGatewayQueue = "gateway_queue" // got by the gateway → first sent on: queue, cache, choice of a target
	PartRetries      = "retries"       // first sent on → sent on to the server that served
	PartUpstream     = "upstream"      // way from gateway to server and back
	PartReasoning    = "reasoning"     // first chunk → first chunk of the answer, as the server sent them
	PartDownlink     = "downlink"      // first of the answer sent by gateway or server → received: the network, and proxies between
	PartNetwork      = "network"       // uplink and downlink together, where no clock tells them apart
	PartDrift        = "drift"         // what the two clocks ran apart in the meantime
	PartRender       = "render"        // received → painted
)

// GapPart is one part of the gap. A part between two clocks is exact to ± UncertaintyUS; one measured on one clock has 0.
type GapPart struct {
	Part          string `json:"part"`
	US            int64  `json:"us"`
	UncertaintyUS int64  `json:"uncertainty_us"`
}

// gapParts splits perceived TTFT − server TTFT into parts that add up to it exactly. It is empty where the gap is not known.
func (a *assembly) gapParts(p *Perceived) []GapPart {
	parts := []GapPart{}
	if p.GapUS == nil {
		return parts
	}
	c, s := a.client, a.servedStream
	add := func(part string, us int64) {
		if us != 0 {
			parts = append(parts, GapPart{part, us, 0})
		}
	}
	sent := c.RequestSent.Or(c.Submit.V)
	answer, got := a.anchor() // the text that was painted first: when the server sent it, and the page had it

	// What passed between the page's sending and its receiving, less the server's time.
	way := got - sent - answer
	hop := a.gatewayHop(answer, got-sent)
	add(PartPage, sent-c.Submit.V)
	switch {
	case hop != nil && hop.content != 0:
		add(PartGatewayQueue, hop.queue)
		add(PartRetries, hop.retries)
		add(PartUpstream, hop.content-hop.sent-answer)
		way -= hop.content - hop.received - answer
		parts = append(parts, a.legs(a.pageGateway, sent, got, hop.received, hop.content, way, 0)...)
	case hop != nil:
		add(PartGatewayQueue, hop.queue)
		add(PartRetries, hop.retries)
		inside := hop.queue + hop.retries
		parts = append(parts, a.legs(a.pageServer, sent, got, s.StartedAt, s.StartedAt+answer, way-inside, inside)...)
	default:
		parts = append(parts, a.legs(a.pageServer, sent, got, s.StartedAt, s.StartedAt+answer, way, 0)...)
	}
	add(PartReasoning, answer-*s.ttft)
	add(PartRender, c.FirstPaint.V-got)
	slices.SortStableFunc(parts, func(x, y GapPart) int { return partOrder(x.Part) - partOrder(y.Part) })
	return parts
}

func partOrder(part string) int {
	return slices.Index([]string{
		PartPage, PartUplink, PartGatewayQueue, PartRetries, PartUpstream, PartReasoning, PartDownlink, PartNetwork, PartDrift, PartRender,
	}, part)
}

// legs splits the time on the way between page and peer, which got the request at received and sent the text at content on
// its own clock. inside is what of the way to the peer passed in the gateway before it. No leg is told as negative: what both
// take together is measured, so either takes at least nothing and at most all of it.
func (a *assembly) legs(o *otherClock, sent, got, received, content, way, inside int64) []GapPart {
	network := []GapPart{{PartNetwork, way, 0}}
	there, ok := o.at(a.id, received)
	var back clock.Estimate
	if ok {
		back, ok = o.at(a.id, content)
	}
	if !ok {
		return network
	}
	origin := a.client.TimeOrigin
	up := received + there.Offset - (origin + sent) - inside
	down := origin + got - (content + back.Offset)
	drift := way - up - down
	const rounding = 10 // µs
	if drift <= rounding && drift >= -rounding {
		down, drift = down+drift, 0
	}
	upBy, downBy := there.Uncertainty, back.Uncertainty
	if both := up + down; up < 0 || down < 0 {
		by := min(upBy, downBy)
		lo, hi := max(0, up-by), min(both, up+by)
		if lo > hi {
			return network
		}
		up = lo + (hi-lo)/2
		down, upBy = both-up, hi-up
		downBy = upBy
	}
	out := []GapPart{{PartUplink, up, upBy}, {PartDownlink, down, downBy}}
	if drift != 0 {
		out = append(out, GapPart{PartDrift, drift, 0})
	}
	return out
}

// hop is what a gateway did with a request, as instants on its clock and durations.
type hop struct {
	received, sent int64 // got from the page, sent on to the served attempt's server
	content        int64 // the answer's first text was at the gateway; 0: not known
	queue, retries int64
}

// gatewayHop is nil where no gateway tells when it sent the request on, or what it tells contradicts the page. answer is when the
// server sent the text, from its start; most is how long the page waited for that text.
func (a *assembly) gatewayHop(answer, most int64) *hop {
	if len(a.gateways) == 0 || a.pageGateway.broken(a.id) {
		return nil
	}
	g, s := &a.gateways[0], a.servedStream
	h := &hop{received: g.ReceivedAt, sent: g.UpstreamSentAt}
	first := g.UpstreamSentAt
	for i := range g.Attempts {
		at := &g.Attempts[i]
		if at.Start == 0 {
			continue
		}
		if first == 0 || at.Start < first {
			first = at.Start
		}
		if at.Attempt == a.served {
			h.sent = at.Start
		}
	}
	if first == 0 || h.sent == 0 || first < h.received || h.sent < first {
		h.queue = g.QueueWaitUS.Or(0) + g.CacheLookupUS.Or(0) + g.RouteDecisionUS.Or(0)
		if h.queue == 0 {
			return nil
		}
		return h
	}
	h.queue, h.retries = first-h.received, h.sent-first
	earliest := h.sent + answer // the server can't have sent it sooner
	switch relay := a.relay(); {
	case relay != nil && relay.sc.first != nil:
		at := *relay.sc.first
		if answer > *s.ttft && relay.sc.answer != nil {
			at = *relay.sc.answer
		}
		h.content = max(earliest, relay.StartedAt+at)
	case g.FirstByteAt != 0:
		h.content = max(earliest, g.FirstByteAt)
		if at, ok := firstEvent(s); ok {
			h.content = max(earliest, g.FirstByteAt+max(0, answer-at))
		}
		// The gateway counts bytes of the body: where the page can't have waited for so long, they were the first text.
		if h.content-h.received > most {
			h.content = max(earliest, g.FirstByteAt+answer-*s.ttft)
		}
	}
	return h
}

// anchor is the text that the first meaningful paint is reckoned to have shown: the answer's first chunk, or the first of
// all where the tiers can't be compared there. sent counts from the server's start, got from the page's time origin.
func (a *assembly) anchor() (sent, got int64) {
	c, s := a.client, a.servedStream
	paint := c.FirstPaint.V
	if s.ttfa != nil && *s.ttfa > *s.ttft {
		if at, ok := a.answerReceived(); ok && at <= paint {
			return *s.ttfa, at
		}
	}
	if c.sc.first != nil && *c.sc.first <= paint {
		return *s.ttft, *c.sc.first
	}
	return *s.ttft, paint
}

// answerReceived is when the page got the first of the answer, where the server sent reasoning before it.
func (a *assembly) answerReceived() (int64, bool) {
	c, s := a.client, a.servedStream
	if c.sc.answer != nil && c.sc.first != nil && *c.sc.answer > *c.sc.first {
		return *c.sc.answer, true // the page tells the kinds apart
	}
	sent, okS := s.line.cumulative()
	got, okC := c.recv.cumulative()
	if !okS || !okC {
		return 0, false
	}
	before := int64(0)
	for i, t := range s.line.t {
		if t >= *s.ttfa {
			break
		}
		before = sent[i]
	}
	if total, all := c.sc.contentBytes, s.sc.contentBytes; total < all-16-all/50 || total > all+16+all/50 {
		if c.sc.first == nil || total > all-before+16+all/50 {
			return 0, false
		}
		return *c.sc.first, true // the page counts the answer alone
	}
	for i, n := range got {
		if n > before {
			return c.recv.t[i], true
		}
	}
	return 0, false
}
