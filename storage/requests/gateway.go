package requests

import (
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// orderGateways puts the record first that represents the gateway: the one with more attempts, then the one
// that got the request earlier (the outer of two gateways), then by emitter.
func orderGateways(gs []wire.Gateway) []wire.Gateway {
	slices.SortFunc(gs, func(a, b wire.Gateway) int {
		return cmp.Or(-cmp.Compare(len(a.Attempts), len(b.Attempts)), cmp.Compare(a.ReceivedAt, b.ReceivedAt),
			cmp.Compare(a.Emitter, b.Emitter), cmp.Compare(a.RequestID, b.RequestID))
	})
	return gs
}

// findGatewayConflicts reports two records of one emitter that give one attempt different starts.
func (a *assembly) findGatewayConflicts() {
	type key struct {
		emitter string
		attempt uint32
	}
	starts := map[key][]int64{}
	for i := range a.gateways {
		g := &a.gateways[i]
		for j := range g.Attempts {
			if at := &g.Attempts[j]; at.Start != 0 {
				k := key{g.Emitter, at.Attempt}
				if !slices.Contains(starts[k], at.Start) {
					starts[k] = append(starts[k], at.Start)
				}
			}
		}
	}
	for k, s := range starts {
		if len(s) < 2 {
			continue
		}
		slices.Sort(s)
		a.conflicts = append(a.conflicts, Conflict{
			Kind: ConflictID, Tier: string(wire.TierGateway), Attempt: known(k.attempt), Emitter: text(k.emitter),
			Detail: "one gateway gives the attempt different starts", Evidence: s[:min(len(s), maxEvidence)],
		})
	}
}

// firstKnown returns the first gateway's value that is known, in the order of orderGateways.
func (a *assembly) firstKnown(at func(*wire.Gateway) wire.Opt[int64]) *int64 {
	for i := range a.gateways {
		if o := at(&a.gateways[i]); o.OK {
			return known(o.V)
		}
	}
	return nil
}

// phases are the request's phases in its gateways; upstream is measured on the first record's clock.
func (a *assembly) phases() GatewayPhases {
	p := GatewayPhases{
		QueueWaitUS:     a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.QueueWaitUS }),
		CacheLookupUS:   a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.CacheLookupUS }),
		RouteDecisionUS: a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.RouteDecisionUS }),
		OverheadUS:      a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.OverheadUS }),
	}
	g := &a.gateways[0]
	p.UpstreamUS = minus(since(g.ReceivedAt, g.FirstByteAt), since(g.ReceivedAt, g.UpstreamSentAt))
	if p.OverheadUS == nil && g.UpstreamSentAt != 0 {
		over := g.UpstreamSentAt - g.ReceivedAt
		for _, part := range []*int64{p.QueueWaitUS, p.CacheLookupUS, p.RouteDecisionUS} {
			if part != nil {
				over -= *part
			}
		}
		if over >= 0 {
			p.OverheadUS = &over
		}
	}
	return p
}

// gateway is what the first record says of the request as a whole.
func (a *assembly) gateway() *Gateway {
	if len(a.gateways) == 0 {
		return nil
	}
	g := &a.gateways[0]
	out := &Gateway{
		Emitter: text(g.Emitter), StartedAt: g.ReceivedAt,
		UpstreamSentUS: since(g.ReceivedAt, g.UpstreamSentAt), FirstByteUS: since(g.ReceivedAt, g.FirstByteAt),
		LastByteUS: since(g.ReceivedAt, g.LastByteAt), CancelledUS: since(g.ReceivedAt, g.CancelledAt),
		UpstreamClosedUS: since(g.ReceivedAt, g.UpstreamClosedAt),
		Retries:          a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.Retries }),
		Fallbacks:        a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.Fallbacks }),
		Priority:         a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.Priority }),
		InFlight:         a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.InFlight }),
		QueueDepth:       a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.QueueDepth }),
		PromptTokens:     a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.PromptTokens }),
		OutputTokens:     a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.OutputTokens }),
		Status:           status(g.Status), Error: text(g.ErrorType), Phases: a.phases(), Reported: reported(g.Reported),
	}
	for i := range a.gateways {
		if r := a.gateways[i].CacheResult; r != "" {
			out.CacheResult = &r
			break
		}
	}
	for i := range a.gateways {
		d := a.gateways[i].RouteDecision
		if d.Policy == "" && d.Chosen == "" && d.Reason == "" && len(d.Candidates) == 0 {
			continue
		}
		out.RouteDecision = &RouteDecision{
			Policy: text(d.Policy), Candidates: append([]string{}, d.Candidates...), Chosen: text(d.Chosen), Reason: text(d.Reason),
		}
		break
	}
	return out
}

// attemptGateway is what gateways know of one attempt: what a record lists of it, and the gateway's own chunk
// stream. The request's phases are shown with the served attempt.
func (a *assembly) attemptGateway(n uint32, relay *merged) *GatewayAttempt {
	g, ga := a.gatewayAttempt(n)
	whole := n == a.served && len(a.gateways) > 0
	if g == nil && whole {
		g = &a.gateways[0]
	}
	if g == nil && relay == nil {
		return nil
	}
	out := &GatewayAttempt{}
	var t wire.Target
	if g != nil {
		out.Emitter, out.StartedAt = text(g.Emitter), known(g.ReceivedAt)
	}
	if ga != nil {
		out.StartUS, out.EndUS = since(g.ReceivedAt, ga.Start), since(g.ReceivedAt, ga.End)
		out.Status, out.Error, out.Served = status(ga.Status), text(ga.ErrorType), known(ga.Served)
		t = wire.Target{Provider: ga.Provider, Deployment: ga.Deployment, Model: ga.Model}
	}
	if whole {
		w := &a.gateways[0]
		out.Phases = a.phases()
		out.TTFBUS = since(w.ReceivedAt, w.FirstByteAt)
		if out.StartUS == nil {
			out.StartUS = since(w.ReceivedAt, w.UpstreamSentAt)
		}
		if out.EndUS == nil {
			out.EndUS = since(w.ReceivedAt, w.LastByteAt)
		}
		if out.Status == nil {
			out.Status = status(w.Status)
		}
		if out.Error == nil {
			out.Error = text(w.ErrorType)
		}
		fill(&t, w.Target)
		out.Tokens = a.firstKnown(func(g *wire.Gateway) wire.Opt[int64] { return g.OutputTokens })
	}
	if relay != nil {
		m := relay.model()
		shift, from := int64(0), relay.StartedAt
		if g != nil && (g.Emitter == relay.Emitter || g.Emitter == "" || relay.Emitter == "") {
			shift, from = relay.StartedAt-g.ReceivedAt, g.ReceivedAt // one process, one clock
		}
		m.Chunks = nil
		out.Stream, out.Chunks, out.ChunksStartedAt = &m, relay.line.model(shift), &from
		out.NChunks, out.FinishReason = known(m.NChunks), m.FinishReason
		out.TTFTUS, out.TTFAUS = plus(m.TTFTUS, shift), plus(m.TTFAUS, shift)
		if out.Tokens == nil {
			out.Tokens = m.Tokens
		}
		if out.StartedAt == nil {
			out.Emitter, out.StartedAt = m.Emitter, known(m.StartedAt)
			out.TTFBUS, out.EndUS, out.Status, out.Error = m.TTFBUS, m.EndUS, m.Status, m.Error
		}
		fill(&t, relay.Target)
	}
	out.Target = target(t)
	return out
}
