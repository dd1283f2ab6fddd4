package requests

import (
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// serve chooses the attempt that the user got: the one a gateway marked; else the last that completed; else
// the last that anyone knows of. Streams of the server tier decide before those of the gateway tier.
func (a *assembly) serve() {
	last := uint32(0)
	for i := range a.gateways {
		g := &a.gateways[i]
		if n := markedServed(g); n > 0 && a.served == 0 {
			a.served = n
		}
		for j := range g.Attempts {
			last = max(last, g.Attempts[j].Attempt)
		}
		last = max(last, 1) // a gateway's record alone tells of one attempt
	}
	for i := range a.streams {
		last = max(last, a.streams[i].Attempt)
	}
	if a.served == 0 {
		for _, tier := range []wire.Tier{wire.TierServer, wire.TierGateway} {
			i := slices.IndexFunc(a.streams, func(m merged) bool { return m.Tier == tier })
			if i < 0 {
				continue
			}
			if a.streams[i].state == StateCompleted {
				a.served = a.streams[i].Attempt
			}
			break
		}
	}
	if a.served == 0 {
		a.served = last
	}
	a.servedStream = a.primary(wire.TierServer, a.served)
}

// markedServed returns the highest attempt that the record marks as served, 0 when none.
func markedServed(g *wire.Gateway) uint32 {
	n := uint32(0)
	for i := range g.Attempts {
		if g.Attempts[i].Served {
			n = max(n, g.Attempts[i].Attempt)
		}
	}
	return n
}

// servedBy returns the attempt that a gateway's record as a whole speaks of.
func servedBy(g *wire.Gateway) uint32 {
	if n := markedServed(g); n > 0 {
		return n
	}
	n := uint32(1)
	for i := range g.Attempts {
		n = max(n, g.Attempts[i].Attempt)
	}
	return n
}

// primary returns the stream that represents an attempt on a tier, nil when there is none.
func (a *assembly) primary(tier wire.Tier, attempt uint32) *merged {
	var best *merged
	for i := range a.streams {
		m := &a.streams[i]
		if m.Tier == tier && m.Attempt == attempt && (best == nil || compareQuality(m, best) < 0) {
			best = m
		}
	}
	return best
}

// gatewayAttempt returns what the first gateway record that lists the attempt says of it.
func (a *assembly) gatewayAttempt(attempt uint32) (*wire.Gateway, *wire.Attempt) {
	for i := range a.gateways {
		g := &a.gateways[i]
		for j := range g.Attempts {
			if g.Attempts[j].Attempt == attempt {
				return g, &g.Attempts[j]
			}
		}
	}
	return nil, nil
}

// attempts lists every attempt that a stream or a gateway knows of, by number.
func (a *assembly) attempts() []Attempt {
	var numbers []uint32
	for i := range a.streams {
		numbers = append(numbers, a.streams[i].Attempt)
	}
	for i := range a.gateways {
		for j := range a.gateways[i].Attempts {
			numbers = append(numbers, a.gateways[i].Attempts[j].Attempt)
		}
	}
	if len(a.gateways) > 0 {
		numbers = append(numbers, a.served)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	out := make([]Attempt, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, a.attempt(n))
	}
	return out
}

func (a *assembly) attempt(n uint32) Attempt {
	out := Attempt{Attempt: n, Served: n == a.served, OtherStreams: []Stream{}}
	server, relay := a.primary(wire.TierServer, n), a.primary(wire.TierGateway, n)
	out.Gateway = a.attemptGateway(n, relay)
	var t wire.Target
	if server != nil {
		out.Server = known(server.model())
		fill(&t, server.Target)
	}
	if relay != nil {
		fill(&t, relay.Target)
	}
	if _, ga := a.gatewayAttempt(n); ga != nil {
		fill(&t, wire.Target{Provider: ga.Provider, Deployment: ga.Deployment, Model: ga.Model})
	}
	if n == a.served {
		for i := range a.gateways {
			fill(&t, a.gateways[i].Target)
		}
	}
	out.Target = target(t)
	out.State = a.stateOf(n)
	for i := range a.streams {
		m := &a.streams[i]
		if m.Attempt != n || m == server || m == relay {
			continue
		}
		other := m.model()
		if out.Server != nil && m.Tier == wire.TierServer && m.Emitter != server.Emitter {
			out.Server.complete(&other)
		}
		out.OtherStreams = append(out.OtherStreams, other)
	}
	return out
}

// stateOf is that of an attempt's server; while that runs or is not known, the gateway's stream counts, then its word.
func (a *assembly) stateOf(n uint32) State {
	for _, tier := range []wire.Tier{wire.TierServer, wire.TierGateway} {
		if m := a.primary(tier, n); m != nil && m.state != StateRunning {
			return m.state
		}
	}
	if g, ga := a.gatewayAttempt(n); ga != nil {
		return attemptState(g, ga)
	}
	if n == a.served && len(a.gateways) > 0 {
		return gatewayState(&a.gateways[0])
	}
	return StateRunning
}

// attemptState is what a gateway says of an attempt: how it failed, else for the served attempt how the request ended. Another
// one that it says no end of was left when the request ended.
func attemptState(g *wire.Gateway, ga *wire.Attempt) State {
	switch {
	case wire.UserAbort(ga.ErrorType) || ga.Status == wire.StatusClientGone:
		return StateAborted
	case ga.ErrorType != "" || ga.Status >= 400:
		return StateFailed
	}
	s, other := gatewayState(g), ga.Attempt != servedBy(g)
	switch {
	case ga.End != 0 && (other || s == StateRunning):
		return StateCompleted
	case other && s != StateRunning:
		return StateAborted
	}
	return s
}

func gatewayState(g *wire.Gateway) State {
	switch {
	case g.CancelledAt != 0 || wire.UserAbort(g.ErrorType) || g.Status == wire.StatusClientGone:
		return StateAborted
	case g.ErrorType != "" || g.Status >= 400:
		return StateFailed
	case g.LastByteAt != 0:
		return StateCompleted
	}
	return StateRunning
}

// state is that of the served attempt; while that runs or is not known, the word of the gateway that represents it on the
// request counts, then the client's.
func (a *assembly) state() State {
	if s := a.stateOf(a.served); s != StateRunning {
		return s
	}
	if len(a.gateways) > 0 {
		if s := gatewayState(&a.gateways[0]); s != StateRunning {
			return s
		}
	}
	if a.client != nil {
		return a.client.state()
	}
	return StateRunning
}

// target is that of the served attempt.
func (a *assembly) target() wire.Target {
	var t wire.Target
	if a.servedStream != nil {
		fill(&t, a.servedStream.Target)
	}
	if relay := a.primary(wire.TierGateway, a.served); relay != nil {
		fill(&t, relay.Target)
	}
	if _, ga := a.gatewayAttempt(a.served); ga != nil {
		fill(&t, wire.Target{Provider: ga.Provider, Deployment: ga.Deployment, Model: ga.Model})
	}
	for i := range a.gateways {
		fill(&t, a.gateways[i].Target)
	}
	return t
}
