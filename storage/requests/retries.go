package requests

import (
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// numberAttempts gives the calls of a gateway that writes one record for each call, without a number, their numbers: LiteLLM's
// failed call and the fallback that was served are two records, each with one attempt. The server's stream whose response id a
// record names has the number, and a call that follows one which failed is at least the next. Where that is more than the
// server counted, it did not see all calls, and its streams move. Records that this does not explain keep their numbers, and
// are told as a conflict.
func (a *assembly) numberAttempts() {
	a.gateways = slices.Clone(a.gateways) // the caller's
	var single []*wire.Gateway
	for i := range a.gateways {
		g := &a.gateways[i]
		if len(g.Attempts) != 1 {
			continue
		}
		g.Attempts = slices.Clone(g.Attempts)
		if m := a.answerOf(g); m != nil {
			a.renumber(g, m.Attempt)
		}
		if g.Attempts[0].End != 0 {
			single = append(single, g)
		}
	}
	slices.SortStableFunc(single, func(x, y *wire.Gateway) int {
		return cmp.Or(cmp.Compare(x.Emitter, y.Emitter), cmp.Compare(x.Attempts[0].End, y.Attempts[0].End))
	})
	first := 0 // of the calls that failed one after the other
	for i := 1; i < len(single); i++ {
		before, g := single[i-1], single[i]
		if was := &before.Attempts[0]; g.Emitter != before.Emitter || was.Served || was.ErrorType == "" && was.Status < 400 {
			first = i
			continue
		}
		n, m := g.Attempts[0].Attempt, a.answerOf(g)
		if m != nil {
			n = m.Attempt // it may have moved
		}
		n = max(n, before.Attempts[0].Attempt+1)
		if m != nil && n > m.Attempt {
			a.move(m, n, single[first:i], g)
		}
		a.renumber(g, n)
		if at := &g.Attempts[0]; at.Start == g.ReceivedAt && g.ReceivedAt <= before.ReceivedAt {
			at.Start = 0 // that of the whole request
		}
	}
}

// answerOf returns the server's stream under the request's id whose response id a record names; nil when there is none, or
// there are several attempts: servers that make that id from the request's give it to each.
func (a *assembly) answerOf(g *wire.Gateway) (found *merged) {
	if g.ResponseID == "" {
		return nil
	}
	for i := range a.streams {
		m := &a.streams[i]
		if m.Tier != wire.TierServer || m.RequestID != a.id || m.ResponseID != g.ResponseID {
			continue
		}
		if found != nil && found.Attempt != m.Attempt {
			return nil
		}
		found = m
	}
	return found
}

// move gives the answer of the call g the number n, which is greater than its own. What a server counted later moves as far, and
// what it counted before goes to the call, of those that failed before g, during which it began. None moves by less than the one
// before it, so that different numbers stay different.
func (a *assembly) move(answer *merged, n uint32, failed []*wire.Gateway, g *wire.Gateway) {
	// The two clocks are taken for the same as far as causality lets them: the answer began after the last failure and
	// ended before the gateway's call did.
	var ahead int64 // of the gateway's clock
	if answer.EndUS.OK {
		ahead = min(0, g.Attempts[0].End-answer.StartedAt-answer.EndUS.V)
	}
	ahead = max(ahead, failed[len(failed)-1].Attempts[0].End-answer.StartedAt)

	id, own, start, by := answer.ResponseID, answer.Attempt, answer.StartedAt, n-answer.Attempt
	moved := map[string]uint32{} // by emitter
	for i := range a.streams {   // by attempt, then by start
		m := &a.streams[i]
		if m.Tier != wire.TierServer || m.RequestID != a.id {
			continue
		}
		to := m.Attempt + by
		if m.ResponseID != id && (m.Attempt < own || m.Attempt == own && m.StartedAt < start) {
			for _, f := range failed {
				if m.StartedAt+ahead <= f.Attempts[0].End {
					to = min(to, f.Attempts[0].Attempt)
					break
				}
			}
		}
		moved[m.Emitter] = max(moved[m.Emitter], to-min(to, m.Attempt))
		m.Attempt += moved[m.Emitter]
	}
}

// renumber gives a record's only attempt, and the gateway's own stream of it, another number.
func (a *assembly) renumber(g *wire.Gateway, n uint32) {
	if g.Attempts[0].Attempt == n {
		return
	}
	g.Attempts[0].Attempt = n
	for i := range a.streams {
		if m := &a.streams[i]; m.Tier == wire.TierGateway && m.RequestID == g.RequestID && m.Emitter == g.Emitter && m.StartedAt == g.ReceivedAt {
			m.Attempt = n
		}
	}
}
