package simulate

import (
	"github.com/fermata-io/fermata/internal/wire"
)

// serverStream is what the engine reports of a job, as one whole stream.
func (s *Simulator) serverStream(j *job) *wire.Stream {
	p, e := j.p, j.e
	w := &wire.Stream{
		RequestID: p.id, Tenant: s.cfg.Tenant, Tier: wire.TierServer, Attempt: j.attempt, Emitter: "sim-engine", Final: true,
		Target: j.target(), Route: p.route, App: p.app, Region: p.region, QueryType: p.queryType,
		PromptTokens: wire.Some(int64(p.prompt)), OutputTokens: wire.Some(int64(j.next)),
		BatchSize: wire.Some(int64(j.batchSize)), StartedAt: j.start + e.clockUS,
	}
	start := j.start
	w.QueueUS = wire.Some(j.admitted - start)
	if j.prefilled > 0 {
		w.PrefillUS = wire.Some(j.prefilled - j.admitted)
	}
	if e.chunkSize > 0 {
		w.ChunkSize = wire.Some(int64(e.chunkSize))
	}
	if e.draft > 0 {
		w.SpecDraft, w.SpecAccepted = wire.Some(int64(e.draft*len(j.out))), wire.Some(int64(j.next-len(j.out)))
	}
	c := &w.Chunks
	add := func(at int64, kind wire.Kind, bytes, tokens uint32, text string) {
		c.T = append(c.T, at-start)
		c.Bytes = append(c.Bytes, bytes)
		c.Kind = append(c.Kind, kind)
		c.Tokens = append(c.Tokens, tokens)
		c.Text = append(c.Text, text)
	}
	last := start
	if j.prefilled > 0 {
		last = j.prefilled
		add(last, wire.KindRole, 0, 0, "")
		w.HeadersUS = wire.Some(last - start)
	}
	for _, b := range j.out {
		text := ""
		for _, t := range p.toks[b.from:b.to] {
			text += t.text
		}
		// A long silence is bridged by keep-alives.
		for last+15_000_000 < b.at && p.fault != FaultIdleDrop {
			last += 15_000_000
			add(last, wire.KindKeepalive, 0, 0, "")
		}
		at := max(last, b.at+int64(p.r.ExpFloat64()*900))
		add(at, p.toks[b.from].kind, uint32(len(text)), uint32(b.to-b.from), text) //nolint:gosec // small
		last = at
	}
	end := max(last, j.ended)
	switch {
	case p.dieAt > 0 && j.next >= p.dieAt && j.next < len(p.toks):
		w.ErrorType = p.dieError
	case j.cancelAt != 0 && j.next < len(p.toks):
		w.FinishReason = "abort"
		end = max(end, j.cancelAt)
	default:
		w.FinishReason, w.StopReason = p.finish, p.stopReason
		add(end, wire.KindUsage, 0, 0, "")
		end += 200
		add(end, wire.KindDone, 0, 0, "")
	}
	w.EndUS = wire.Some(end - start)
	if !p.withTokens {
		c.Tokens = nil
	}
	if p.noText {
		c.Text = nil
	}
	return w
}
