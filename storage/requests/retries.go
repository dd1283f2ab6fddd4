package requests

import (
	"cmp"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// numberAttempts gives the calls of a gateway that writes one record for each call, without a number, their numbers: LiteLLM's
// failed call and the fallback that was served are two records, each with one attempt. The server's stream whose response id a
// record names has the number; else a call that follows one which failed is the next. Records that this does not explain keep
// their numbers, and are told as a conflict.
func (a *assembly) numberAttempts() {
	for i := range a.gateways {
		g := &a.gateways[i]
		if len(g.Attempts) != 1 || g.ResponseID == "" {
			continue
		}
		for j := range a.streams {
			if m := &a.streams[j]; m.Tier == wire.TierServer && m.RequestID == a.id && m.ResponseID == g.ResponseID {
				a.renumber(g, m.Attempt)
				break
			}
		}
	}
	var single []*wire.Gateway
	for i := range a.gateways {
		if g := &a.gateways[i]; len(g.Attempts) == 1 && g.Attempts[0].End != 0 {
			single = append(single, g)
		}
	}
	slices.SortStableFunc(single, func(x, y *wire.Gateway) int {
		return cmp.Or(cmp.Compare(x.Emitter, y.Emitter), cmp.Compare(x.Attempts[0].End, y.Attempts[0].End))
	})
	for i := 1; i < len(single); i++ {
		before, g := single[i-1], single[i]
		if g.Emitter != before.Emitter || before.Attempts[0].ErrorType == "" || before.Attempts[0].Served {
			continue
		}
		a.renumber(g, max(g.Attempts[0].Attempt, before.Attempts[0].Attempt+1))
		if at := &g.Attempts[0]; at.Start != 0 && at.Start < before.Attempts[0].End {
			at.Start = 0 // that of the whole request
		}
	}
}

// renumber gives a record's only attempt, and the gateway's own stream of it, another number.
func (a *assembly) renumber(g *wire.Gateway, n uint32) {
	if g.Attempts[0].Attempt == n {
		return
	}
	g.Attempts = slices.Clone(g.Attempts) // the caller's
	g.Attempts[0].Attempt = n
	for i := range a.streams {
		if m := &a.streams[i]; m.Tier == wire.TierGateway && m.RequestID == g.RequestID && m.Emitter == g.Emitter && m.StartedAt == g.ReceivedAt {
			m.Attempt = n
		}
	}
}
