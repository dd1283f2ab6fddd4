package gateways

import (
	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// FromWire returns the row of a validated record.
func FromWire(g *wire.Gateway) Row {
	at := func(instant int64) table.Opt[int64] {
		if instant == 0 {
			return table.Opt[int64]{}
		}
		return table.Some(instant - g.ReceivedAt)
	}
	r := &g.Reported
	row := Row{
		Tenant: g.Tenant, RequestID: g.RequestID, Emitter: g.Emitter, ReceivedAt: table.Micros(g.ReceivedAt),
		Provider: g.Provider, Deployment: g.Deployment, Model: g.Model, ModelVersion: g.ModelVersion,
		Route: g.Route, App: g.App, Region: g.Region, QueryType: g.QueryType,
		UpstreamSentUS: at(g.UpstreamSentAt), FirstByteUS: at(g.FirstByteAt), LastByteUS: at(g.LastByteAt),
		CancelledUS: at(g.CancelledAt), UpstreamClosedUS: at(g.UpstreamClosedAt),
		QueueWaitUS: table.Offset(g.QueueWaitUS), CacheLookupUS: table.Offset(g.CacheLookupUS), CacheResult: g.CacheResult,
		RouteDecisionUS: table.Offset(g.RouteDecisionUS), OverheadUS: table.Offset(g.OverheadUS),
		RoutePolicy: g.RouteDecision.Policy, RouteCandidates: g.RouteDecision.Candidates,
		RouteChosen: g.RouteDecision.Chosen, RouteReason: g.RouteDecision.Reason,
		Retries: table.Count(g.Retries), Fallbacks: table.Count(g.Fallbacks), Priority: table.Opt[int64](g.Priority),
		InFlight: table.Count(g.InFlight), QueueDepth: table.Count(g.QueueDepth), Status: g.Status, ErrorType: g.ErrorType,
		ReportedDefinition: r.Definition, ReportedTTFTUS: table.Offset(r.TTFTUS), ReportedTTFAUS: table.Offset(r.TTFAUS),
		ReportedITLMeanUS: table.Offset(r.ITLMeanUS), ReportedTPOTUS: table.Offset(r.TPOTUS), ReportedE2EUS: table.Offset(r.E2EUS),
		PromptTokens: table.Count(g.PromptTokens), OutputTokens: table.Count(g.OutputTokens),
		ResponseID: g.ResponseID, TraceID: g.TraceID, SpanID: g.SpanID, Aliases: g.Aliases,
	}
	for i := range g.Attempts {
		a := &g.Attempts[i]
		row.Attempts = append(row.Attempts, uint16(a.Attempt)) //nolint:gosec // Validate allows at most 1000
		row.AttemptDeployments = append(row.AttemptDeployments, a.Deployment)
		row.AttemptProviders = append(row.AttemptProviders, a.Provider)
		row.AttemptModels = append(row.AttemptModels, a.Model)
		row.AttemptStartsUS = append(row.AttemptStartsUS, pointer(at(a.Start)))
		row.AttemptEndsUS = append(row.AttemptEndsUS, pointer(at(a.End)))
		row.AttemptStatuses = append(row.AttemptStatuses, a.Status)
		row.AttemptErrorTypes = append(row.AttemptErrorTypes, a.ErrorType)
		row.AttemptServed = append(row.AttemptServed, a.Served)
		if a.Served {
			row.ServedAttempt = max(row.ServedAttempt, uint16(a.Attempt)) //nolint:gosec // as above
		}
	}
	row.Version = rank(&row)
	return row
}

// rank orders the deliveries of one identity by their content alone: one that knows the last byte beats one
// that does not, then more attempts beat fewer, then 16 bits of a hash of every other column decide.
func rank(row *Row) uint64 {
	v := uint64(len(row.Attempts))<<16 | xxh3.Hash(Table.AppendContent(nil, row))>>48
	if row.LastByteUS.OK || row.CancelledUS.OK {
		v |= 1 << 40
	}
	return v
}

func pointer(o table.Opt[int64]) *int64 {
	if !o.OK {
		return nil
	}
	return &o.V
}

// ToWire returns the record that FromWire stored.
func (row *Row) ToWire() wire.Gateway {
	at := func(o table.Opt[int64]) int64 {
		if !o.OK {
			return 0
		}
		return int64(row.ReceivedAt) + o.V
	}
	g := wire.Gateway{
		RequestID: row.RequestID, Tenant: row.Tenant, Emitter: row.Emitter, ReceivedAt: int64(row.ReceivedAt),
		Target: wire.Target{Provider: row.Provider, Deployment: row.Deployment, Model: row.Model, ModelVersion: row.ModelVersion},
		Route:  row.Route, App: row.App, Region: row.Region, QueryType: row.QueryType,
		UpstreamSentAt: at(row.UpstreamSentUS), FirstByteAt: at(row.FirstByteUS), LastByteAt: at(row.LastByteUS),
		CancelledAt: at(row.CancelledUS), UpstreamClosedAt: at(row.UpstreamClosedUS),
		QueueWaitUS: table.Int(row.QueueWaitUS), CacheLookupUS: table.Int(row.CacheLookupUS), CacheResult: row.CacheResult,
		RouteDecisionUS: table.Int(row.RouteDecisionUS), OverheadUS: table.Int(row.OverheadUS),
		RouteDecision: wire.RouteDecision{
			Policy: row.RoutePolicy, Candidates: table.List(row.RouteCandidates), Chosen: row.RouteChosen, Reason: row.RouteReason,
		},
		Retries: table.Int(row.Retries), Fallbacks: table.Int(row.Fallbacks), Priority: table.Int(row.Priority),
		InFlight: table.Int(row.InFlight), QueueDepth: table.Int(row.QueueDepth), Status: row.Status, ErrorType: row.ErrorType,
		Reported: wire.Reported{
			Definition: row.ReportedDefinition, TTFTUS: table.Int(row.ReportedTTFTUS), TTFAUS: table.Int(row.ReportedTTFAUS),
			ITLMeanUS: table.Int(row.ReportedITLMeanUS), TPOTUS: table.Int(row.ReportedTPOTUS), E2EUS: table.Int(row.ReportedE2EUS),
		},
		PromptTokens: table.Int(row.PromptTokens), OutputTokens: table.Int(row.OutputTokens),
		ResponseID: row.ResponseID, TraceID: row.TraceID, SpanID: row.SpanID, Aliases: table.List(row.Aliases),
	}
	opt := func(p *int64) table.Opt[int64] {
		if p == nil {
			return table.Opt[int64]{}
		}
		return table.Some(*p)
	}
	for i, n := range row.Attempts {
		g.Attempts = append(g.Attempts, wire.Attempt{
			Attempt: uint32(n), Deployment: row.AttemptDeployments[i], Provider: row.AttemptProviders[i], Model: row.AttemptModels[i],
			Start: at(opt(row.AttemptStartsUS[i])), End: at(opt(row.AttemptEndsUS[i])), Status: row.AttemptStatuses[i],
			ErrorType: row.AttemptErrorTypes[i], Served: row.AttemptServed[i],
		})
	}
	return g
}
