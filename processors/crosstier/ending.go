package crosstier

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// after counts what a stream produced after offset us.
func after(c *curve, us int64, total wire.Opt[int64]) (chunks, tokens int64, guessed bool) {
	sum := int64(0)
	for i, t := range c.t {
		if len(c.tokens) > 0 {
			sum += c.tokens[i]
		}
		if t <= us {
			continue
		}
		chunks++
		if len(c.tokens) > 0 {
			tokens += c.tokens[i]
		}
	}
	switch {
	case sum > 0:
		return chunks, tokens, false
	case total.OK && total.V > int64(c.len()):
		return chunks, chunks * total.V / int64(c.len()), true
	default:
		return chunks, chunks, true
	}
}

// endOf is the offset of a stream's end, as far as it is known.
func endOf(s *wire.Stream, c *curve) int64 {
	end := s.EndUS.Or(0)
	if c.len() > 0 {
		end = max(end, c.last())
	}
	return end
}

func running(s *wire.Stream) bool { return !s.Final && !s.EndUS.OK && s.FinishReason == "" }

// drop finds a connection that broke after a silence as long as hops allow.
func (v *view) drop() {
	if v.end.how != howFailed || v.end.at < 0 {
		return
	}
	signs := []int64{v.sent}
	if c := v.r.Client; c.Headers.OK {
		signs = append(signs, c.Headers.V-v.origin)
	}
	pings := 0
	for i, t := range v.recvAll.T {
		if k := v.recvAll.KindAt(i); k == wire.KindError && i == v.recvAll.Len()-1 && t >= v.end.at {
			break
		} else if k == wire.KindKeepalive {
			pings++
		}
		signs = []int64{t}
	}
	for i := len(signs) - 1; i >= 0; i-- {
		silence := v.end.at - signs[i]
		if limit, ok := stall.IdleLimit(silence); ok {
			v.idleDrop(signs[i], silence, limit.Microseconds(), pings)
			return
		}
	}
}

func (v *view) idleDrop(from, silence, limit int64, pings int) {
	r := v.r
	until := from + silence
	ev := map[string]any{
		"limit_us": limit, "silence_us": silence, "received_bytes": v.recv.total(), "received_chunks": v.recv.len(),
		"pings_received": pings, "upstream_alive": "unknown",
	}
	f := wire.Finding{StartUS: from, DurationUS: silence, Severity: critical, Attribution: byNetwork, Confidence: 0.7}
	up, c := r.Server, &v.server
	if up == nil {
		up, c = r.Relay, &v.relay
	}
	if up != nil {
		if failedItself(up) && endOf(up, c) <= until+secondUS {
			return // the upstream broke; nobody dropped it
		}
		alive, upPings := aliveDuring(&up.Chunks, from, until)
		if r.Relay != nil && up != r.Relay {
			_, upPings = aliveDuring(&r.Relay.Chunks, from, until)
		}
		end := endOf(up, c)
		ev["pings_upstream"] = upPings
		if !alive && end <= until {
			if c.len() > 0 || running(up) {
				return // it was silent itself and never came back
			}
			ev["upstream_alive"] = false
			f.Confidence = 0.5
		} else {
			ev["upstream_alive"] = true
			f.Confidence = 0.97
			lo := until - v.sent // of the upstream's offsets, after which it is surely later than the drop
			chunks, tokens, guessed := after(c, lo, up.OutputTokens)
			ev["waste_us"], ev["waste_chunks"], ev["waste_tokens"], ev["tokens_guessed"] = max(0, end-lo), chunks, tokens, guessed
		}
		if upPings > 0 && pings == 0 {
			f.Attribution = byGateway // it got signs of life and did not pass them on
		}
	}
	v.dropped = true
	v.add(wire.FindingIdleDrop, wire.TierClient, -1, f, ev)
}

func failedItself(s *wire.Stream) bool {
	return s.ErrorType != "" && !wire.UserAbort(s.ErrorType) || s.Status >= 400
}

// aliveDuring reports whether any chunk left the upstream after from, and how many pings did until the drop. Offsets of
// two tiers are compared as if both had begun at one time: the request's way up is short beside an idle limit.
func aliveDuring(c *wire.Chunks, from, until int64) (alive bool, pings int) {
	for i, t := range c.T {
		if t <= from {
			continue
		}
		k := c.KindAt(i)
		alive = alive || k.ContentBearing() || k == wire.KindKeepalive
		if k == wire.KindKeepalive && t <= until {
			pings++
		}
	}
	return alive, pings
}

// waste finds what was produced after the user had gone.
func (v *view) waste() {
	if v.gatewayWaste() {
		return
	}
	r := v.r
	if v.end.how != howAborted || r.Server == nil || v.server.len() == 0 {
		return
	}
	// A server event at offset s happened at v.clientNotBefore(s) or later.
	shift := v.clientNotBefore(0)
	v.tellWaste(wire.TierServer, v.end.at-shift, v.end.at-shift, endOf(r.Server, &v.server), byUnknown, map[string]any{"aborted_us": v.end.at})
}

// gatewayWaste judges the leg between gateway and engine; it reports whether it has an answer.
func (v *view) gatewayWaste() bool {
	g := v.r.Gateway
	if g == nil || g.CancelledAt == 0 {
		return false
	}
	gone := g.CancelledAt - g.ReceivedAt
	ev := map[string]any{"downstream_closed_us": gone}
	sent := int64(0)
	if g.UpstreamSentAt != 0 {
		sent = g.UpstreamSentAt - g.ReceivedAt
	}
	serverEnd := int64(0)
	if v.r.Server != nil {
		serverEnd = endOf(v.r.Server, &v.server)
	}
	floor := v.cfg.WasteFloor.Microseconds()
	closedAt := g.UpstreamClosedAt
	for i := range g.Attempts { // else the end of the call that is judged here
		if a := &g.Attempts[i]; g.UpstreamClosedAt == 0 && a.Attempt == v.r.Attempt {
			closedAt = a.End
		}
	}
	if closedAt == 0 {
		if v.server.len() == 0 {
			return true
		}
		v.tellWaste(wire.TierGateway, gone, gone-sent, serverEnd, byUnknown, ev)
		return true
	}
	closed := closedAt - g.ReceivedAt
	ev["upstream_closed_us"] = closed
	if closed-gone >= floor {
		end := closed - sent
		if serverEnd > 0 {
			end = min(end, serverEnd)
		}
		v.tellWaste(wire.TierGateway, gone, gone-sent, end, byGateway, ev)
		return true
	}
	if v.server.len() > 0 {
		v.tellWaste(wire.TierServer, closed-sent, closed-sent, serverEnd, byEngine, ev)
	}
	return true
}

// tellWaste adds the finding when there was enough: start on the tier's own clock, from and end on the server's.
func (v *view) tellWaste(tier wire.Tier, start, from, end int64, attribution string, ev map[string]any) {
	s := v.r.Server
	if end-from < v.cfg.WasteFloor.Microseconds() {
		return
	}
	open := false
	ev["tokens_guessed"] = true
	if s != nil && v.server.len() > 0 {
		chunks, tokens, guessed := after(&v.server, from, s.OutputTokens)
		if chunks < 2 {
			return
		}
		all, allTokens, _ := after(&v.server, -1, s.OutputTokens)
		ev["waste_chunks"], ev["waste_tokens"], ev["tokens_guessed"] = chunks, tokens, guessed
		ev["chunks"], ev["tokens"] = all, allTokens
		if s.FinishReason != "" {
			ev["finish_reason"] = s.FinishReason
		}
		open = running(s)
	}
	severity := info
	if end-from >= 10*secondUS {
		severity = warning
	}
	v.add(wire.FindingCancelWaste, tier, -1, wire.Finding{
		StartUS: start, DurationUS: end - from, Open: open, Severity: severity, Attribution: attribution, Confidence: 0.95,
	}, ev)
}
