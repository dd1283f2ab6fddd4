package joined

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/requests"
)

// Request turns a joined request into what crosstier compares. found are the findings of its streams.
func Request(r *requests.Request, found []wire.Finding) *crosstier.Request {
	q := &crosstier.Request{
		Tenant: r.Tenant, RequestID: r.RequestID, QueryType: r.QueryType, Target: target(r.Target), Attempt: 1,
		Gateway: gateway(r.Gateway), Client: client(r.Client), Found: found,
	}
	if r.ServedAttempt != nil {
		q.Attempt = *r.ServedAttempt
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if !a.Served {
			continue
		}
		if a.Server != nil {
			s := stream(a.Server, a.Attempt, a.Server.StartedAt, a.Server.Chunks)
			q.Server = &s
		}
		if g := a.Gateway; g != nil && g.Stream != nil && g.ChunksStartedAt != nil {
			s := stream(g.Stream, a.Attempt, *g.ChunksStartedAt, g.Chunks)
			// The offsets that have been moved with the chunks; what else the stream tells counts from its own start.
			shift := g.Stream.StartedAt - *g.ChunksStartedAt
			if s.EndUS.OK {
				s.EndUS.V += shift
			}
			q.Relay = &s
		}
	}
	if r.Client != nil {
		q.PageBeganAt = r.Client.BeganAt
	}
	if r.Clock != nil {
		q.Clock = &crosstier.Clock{OffsetUS: r.Clock.OffsetUS, UncertaintyUS: r.Clock.UncertaintyUS}
	}
	for _, p := range r.Perceived.Parts {
		q.Parts = append(q.Parts, crosstier.Part{Name: p.Part, US: p.US, UncertaintyUS: p.UncertaintyUS})
	}
	for i := range r.Conflicts {
		c := &r.Conflicts[i]
		k := crosstier.Conflict{Tier: wire.Tier(c.Tier), Detail: c.Detail, Numbers: c.Evidence, Emitter: or(c.Emitter), Attempt: or(c.Attempt)}
		switch c.Kind {
		case requests.ConflictID:
			k.Kind = wire.FindingIDConflict
		case requests.ConflictClock:
			k.Kind = wire.FindingClockConflict
		default:
			continue // of segments: a gap in the data, nothing that went wrong in the stream
		}
		q.Conflicts = append(q.Conflicts, k)
	}
	return q
}

func stream(s *requests.Stream, attempt uint32, startedAt int64, c *requests.Chunks) wire.Stream {
	w := wire.Stream{
		Tier: wire.Tier(s.Tier), Attempt: attempt, Emitter: or(s.Emitter), StartedAt: startedAt, StartUnknown: s.StartUnknown,
		Final: s.State != requests.StateRunning, HeadersUS: opt(s.TTFBUS), EndUS: opt(s.EndUS), ObservedUS: opt(s.ObservedUS),
		FinishReason: or(s.FinishReason), StopReason: or(s.StopReason), ErrorType: or(s.Error), Status: or(s.Status),
		OutputTokens: opt(s.OutputTokens), Synthetic: s.Synthetic, Chunks: chunks(c), Reported: reported(s.Reported),
	}
	return w
}

func chunks(c *requests.Chunks) wire.Chunks {
	if c == nil {
		return wire.Chunks{}
	}
	w := wire.Chunks{T: c.TUS, Bytes: c.Bytes, Tokens: c.Tokens, Choice: c.Choice, Kind: make([]wire.Kind, len(c.Kind))}
	for i, k := range c.Kind {
		w.Kind[i], _ = wire.ParseKind(k)
	}
	return w
}

func gateway(g *requests.Gateway) *wire.Gateway {
	if g == nil {
		return nil
	}
	at := func(us *int64) int64 {
		if us == nil {
			return 0
		}
		return g.StartedAt + *us
	}
	return &wire.Gateway{
		Emitter: or(g.Emitter), ReceivedAt: g.StartedAt, UpstreamSentAt: at(g.UpstreamSentUS), FirstByteAt: at(g.FirstByteUS),
		LastByteAt: at(g.LastByteUS), CancelledAt: at(g.CancelledUS), UpstreamClosedAt: at(g.UpstreamClosedUS),
		QueueWaitUS: opt(g.Phases.QueueWaitUS), CacheLookupUS: opt(g.Phases.CacheLookupUS), RouteDecisionUS: opt(g.Phases.RouteDecisionUS),
		Status: or(g.Status), ErrorType: or(g.Error), Reported: reported(g.Reported),
	}
}

func reported(p *requests.Reported) wire.Reported {
	if p == nil {
		return wire.Reported{}
	}
	return wire.Reported{
		Definition: p.Definition, TTFTUS: opt(p.TTFTUS), TTFAUS: opt(p.TTFAUS), ITLMeanUS: opt(p.ITLMeanUS), TPOTUS: opt(p.TPOTUS), E2EUS: opt(p.E2EUS),
	}
}

// client keeps the offsets as they are, from the page's started_at, which takes the place of the time origin.
func client(c *requests.Client) *wire.Client {
	if c == nil {
		return nil
	}
	w := &wire.Client{
		SessionID: or(c.SessionID), TimeOrigin: or(c.StartedAt), WallNow: or(c.ClockInfo.WallNow),
		Submit: opt(c.SubmitUS), FirstFeedback: opt(c.FirstFeedbackUS), RequestSent: opt(c.RequestSentUS), Headers: opt(c.HeadersUS),
		FirstPaint: opt(c.FirstPaintUS), Aborted: opt(c.AbortedUS), Done: opt(c.DoneUS), Closed: opt(c.ClosedUS),
		ErrorType: or(c.Error), FinishReason: or(c.FinishReason), Recv: chunks(c.Chunks), DOM: curve(c.DOM), Paint: curve(c.Paint),
		Reconnects: opt(c.Reconnects),
	}
	if now, origin := c.ClockInfo.NowUS, c.ClockInfo.TimeOrigin; now != nil && origin != nil && c.StartedAt != nil {
		w.ClockNow = wire.Some(*now - (*c.StartedAt - *origin))
	}
	for _, v := range c.Visibility {
		w.Visibility = append(w.Visibility, wire.VisibilityChange{T: v.TUS, Hidden: v.State == "hidden"})
	}
	for _, f := range c.LongFrames {
		w.LongFrames = append(w.LongFrames, wire.LongFrame{T: f.TUS, Dur: f.DurUS})
	}
	for _, r := range c.Retractions {
		w.Retractions = append(w.Retractions, wire.Retraction{T: r.TUS, Bytes: r.Bytes})
	}
	return w
}

func curve(c *requests.Curve) wire.Chunks {
	if c == nil {
		return wire.Chunks{}
	}
	return wire.Chunks{T: c.TUS, Bytes: c.Bytes}
}

func target(t requests.Target) wire.Target {
	return wire.Target{Provider: or(t.Provider), Deployment: or(t.Deployment), Model: or(t.Model), ModelVersion: or(t.ModelVersion)}
}

func or[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}

func opt(p *int64) wire.Opt[int64] {
	if p == nil {
		return wire.Opt[int64]{}
	}
	return wire.Some(*p)
}
