package crosstier

import (
	"math"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// ttft is a tier's time to its first content, from its chunks or as it reported it.
func ttft(s *wire.Stream, c *curve) (int64, bool) {
	if s == nil || s.StartUnknown {
		return 0, false
	}
	if t, ok := c.first(); ok {
		return t, true
	}
	if s.Reported.TTFTUS.OK {
		return s.Reported.TTFTUS.V, true
	}
	return s.Reported.TTFAUS.V, s.Reported.TTFAUS.OK
}

// gatewayTTFT is the time to the first token that a gateway reports, or its first byte.
func gatewayTTFT(g *wire.Gateway) (int64, bool) {
	switch {
	case g == nil:
		return 0, false
	case g.Reported.TTFTUS.OK:
		return g.Reported.TTFTUS.V, true
	case g.FirstByteAt != 0:
		return g.FirstByteAt - g.ReceivedAt, true
	default:
		return 0, false
	}
}

// conflicts tells of records that can't be of one request on true clocks.
func (v *view) conflicts() {
	v.order()
	v.pageClock()
	for _, c := range v.r.Conflicts {
		if c.Kind == wire.FindingClockConflict && v.impossible {
			continue // told with its cause
		}
		tier := c.Tier
		if tier == "" {
			tier = wire.TierServer
		}
		f := wire.Finding{Severity: warning, Attribution: byUnknown, Confidence: 1}
		ev := map[string]any{"rule": c.Detail, "numbers": c.Numbers}
		if c.Kind == wire.FindingIDConflict {
			ev["streams"] = len(c.Numbers)
		}
		v.add(c.Kind, tier, placeOf(&c), f, ev)
	}
}

// placeOf names a conflict among those of its kind: below -1000, so that it never is a chunk.
func placeOf(c *Conflict) int64 {
	h := xxh3.HashString(c.Detail + "\x00" + c.Emitter + "\x00" + strconv.FormatUint(uint64(c.Attempt), 10))
	return -1000 - int64(h>>2)
}

// order finds a server or trace whose first token came later than the user's first text: both are counted from the
// request's way, which the server's part of began later.
func (v *view) order() {
	tier := wire.TierServer
	s, ok := ttft(v.r.Server, &v.server)
	if !ok {
		tier = wire.TierGateway
		s, ok = gatewayTTFT(v.r.Gateway)
	}
	c := v.r.Client
	if !ok || c == nil || !v.pinned {
		return
	}
	user := forever
	what := ""
	if t, ok := v.recv.first(); ok {
		user, what = t, "received"
	}
	if c.FirstPaint.OK && c.FirstPaint.V-v.origin < user {
		user, what = c.FirstPaint.V-v.origin, "painted"
	}
	if user == forever || s <= user-v.sent+v.cfg.Slack.Microseconds() {
		return
	}
	v.impossible = true
	v.add(wire.FindingClockConflict, tier, -1, wire.Finding{
		StartUS: s, Severity: warning, Attribution: byUnknown, Confidence: 0.95,
	}, map[string]any{
		"rule": "impossible_order", "server_ttft_us": s, "user_first_text_us": user - v.sent, "user_text": what,
		"ahead_us": s - (user - v.sent),
	})
}

// pageClock finds a page whose clock stood still while its machine slept, or whose wall clock was stepped.
func (v *view) pageClock() {
	c := v.r.Client
	if c == nil || c.TimeOrigin == 0 {
		return
	}
	const stepUS = 5 * secondUS
	ev := map[string]any{}
	behind := int64(0)
	if c.WallNow != 0 && c.ClockNow.OK {
		if d := c.WallNow - (c.TimeOrigin + c.ClockNow.V); abs(d) > stepUS {
			behind, ev["rule"] = d, "page_clock_and_wall_clock_differ"
			if cause := v.clockCause(d); cause != "" {
				ev["cause"] = cause
			}
		}
	} else if k := v.r.Clock; k != nil && abs(k.OffsetUS) > dayUS {
		behind, ev["rule"] = -k.OffsetUS, "page_clock_and_server_differ"
	}
	if behind == 0 {
		return
	}
	ev["behind_us"] = behind
	v.add(wire.FindingClockConflict, wire.TierClient, -2, wire.Finding{Severity: info, Attribution: byUnknown, Confidence: 0.9}, ev)
}

// clockCause tells by the server's clock which of the page's two clocks went wrong, with the wall clock ahead by d: its own
// stood still (slept), or the wall clock was set. Empty: not known.
func (v *view) clockCause(d int64) string {
	k := v.r.Clock
	if k == nil {
		return ""
	}
	slack := k.UncertaintyUS + secondUS
	switch own, wall := abs(k.OffsetUS) <= slack, abs(k.OffsetUS+d) <= slack; {
	case wall && !own:
		return "slept"
	case own && !wall:
		return "wall_clock_set"
	default:
		return ""
	}
}

// perceivedGap compares two durations of one clock each: what the user waited and what the server measured.
func (v *view) perceivedGap() {
	c := v.r.Client
	s, ok := ttft(v.r.Server, &v.server)
	if !ok || c == nil || !c.FirstPaint.OK || !v.pinned || v.impossible {
		return
	}
	paint := c.FirstPaint.V - v.origin
	hidden := overlap(v.hidden, 0, paint)
	gap := paint - s
	if gap-hidden < v.cfg.GapFloor.Microseconds() || paint-hidden < 2*s {
		return
	}
	ev := map[string]any{"perceived_ttft_us": paint, "server_ttft_us": s, "gap_us": gap, "before_sending_us": v.sent}
	if hidden > 0 {
		ev["hidden_us"] = hidden
	}
	att := byUnknown
	if g := v.r.Gateway; g != nil {
		own := g.QueueWaitUS.Or(0) + g.CacheLookupUS.Or(0) + g.RouteDecisionUS.Or(0)
		if g.FirstByteAt != 0 && g.UpstreamSentAt != 0 {
			own += max(0, g.FirstByteAt-g.UpstreamSentAt-s)
		}
		ev["gateway_us"] = own
		if 2*own >= gap {
			att = byGateway
		}
	}
	if t, ok := v.recv.first(); ok && att == byUnknown {
		way, render := max(0, t-v.sent-s), max(0, paint-t-overlap(v.hidden, t, paint))
		ev["way_us"], ev["render_us"] = way, render
		switch {
		case 2*render >= gap:
			att = byRender
		case 2*way >= gap && len(v.buffered) > 0:
			att = byProxy
		case 2*way >= gap:
			att = byNetwork
		}
	}
	if part := v.largestPart(); part != nil {
		ev["largest_part"], ev["largest_part_us"] = part.Name, part.US
		if part.UncertaintyUS > 0 {
			ev["largest_part_uncertainty_us"] = part.UncertaintyUS
		}
		if att == byUnknown && 2*(part.US-part.UncertaintyUS) >= gap {
			att = attributionOf[part.Name]
		}
	}
	if 2*hidden >= gap {
		att = byHidden // what is left of it was felt, but most of it nobody saw
	}
	if att == "" {
		att = byUnknown
	}
	v.add(wire.FindingPerceivedGap, wire.TierClient, -1, wire.Finding{
		StartUS: s, DurationUS: gap, Severity: grade(gap), Attribution: att, Confidence: 0.9,
	}, ev)
}

// attributionOf names who is to blame for a part of the gap. The other parts are several tiers', or nobody's.
var attributionOf = map[string]string{
	"gateway_queue": byGateway, "retries": byGateway, "reasoning": byEngine,
	"uplink": byNetwork, "downlink": byNetwork, "network": byNetwork, "render": byRender,
}

// largestPart is the largest part of the gap, nil where the parts are not known. Of two alike it is the one that passed first.
func (v *view) largestPart() *Part {
	var most *Part
	for i := range v.r.Parts {
		if p := &v.r.Parts[i]; most == nil || p.US > most.US {
			most = p
		}
	}
	return most
}

// retractions tells of shown text that was taken back.
func (v *view) retractions() {
	c := v.r.Client
	if c == nil || len(c.Retractions) == 0 {
		return
	}
	first, last, bytes := forever, int64(0), int64(0)
	for _, r := range c.Retractions {
		first, last = min(first, r.T-v.origin), max(last, r.T-v.origin)
		bytes += int64(r.Bytes)
	}
	f := wire.Finding{StartUS: first, DurationUS: last - first, Severity: info, Attribution: byRender, Confidence: 1}
	if total := v.recv.total(); total > 0 && 5*bytes >= total {
		f.Severity = warning
	}
	v.add(wire.FindingRetraction, wire.TierClient, -1, f, map[string]any{"retractions": len(c.Retractions), "bytes": bytes})
}

// semanticGap finds unsteady delay that no other finding of the client explains.
func (v *view) semanticGap() {
	if v.recv.len() < 10 || len(v.hidden) > 0 {
		return
	}
	for i := range v.out {
		if v.out[i].Tier == wire.TierClient && v.out[i].Kind != wire.FindingRetraction {
			return
		}
	}
	up := &v.server
	if v.relay.len() > 0 {
		up = &v.relay
	}
	p, ok := v.toClient(up)
	if !ok {
		return
	}
	var jitter, mean, square float64
	for i := 1; i < v.recv.len(); i++ {
		now := v.recv.t[i] - p.up.t[p.upIndex(p.downPos[i])]
		before := v.recv.t[i-1] - p.up.t[p.upIndex(p.downPos[i-1])]
		jitter += math.Abs(float64(now - before))
		g := float64(v.recv.t[i] - v.recv.t[i-1])
		mean += g
		square += g * g
	}
	n := float64(v.recv.len() - 1)
	jitter, mean = jitter/n, mean/n
	dev := math.Sqrt(max(0, square/n-mean*mean))
	if jitter <= float64(v.cfg.Jitter.Microseconds()) || dev <= float64(v.cfg.Deviation.Microseconds()) {
		return
	}
	v.add(wire.FindingSemanticGap, wire.TierClient, -1, wire.Finding{
		StartUS: v.recv.t[0], DurationUS: v.recv.last() - v.recv.t[0], Severity: info, Attribution: byNetwork, Confidence: 0.7,
	}, map[string]any{"jitter_us": int64(jitter), "deviation_us": int64(dev), "ruler": p.unit})
}
