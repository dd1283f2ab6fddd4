package streams

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// FromWire fills row from a validated record. The row's arrays alias those of s where the forms agree.
func FromWire(s *wire.Stream, row *Row) {
	row.Tenant, row.RequestID, row.Tier = s.Tenant, s.RequestID, string(s.Tier)
	row.Attempt = uint16(s.Attempt) //nolint:gosec // Validate allows at most 1000
	row.Emitter, row.StartedAt, row.Seq, row.Final = s.Emitter, table.Micros(s.StartedAt), s.Seq, s.Final
	row.StartUnknown = s.StartUnknown
	row.Provider, row.Deployment, row.Model, row.ModelVersion = s.Provider, s.Deployment, s.Model, s.ModelVersion
	row.Route, row.App, row.Region, row.QueryType = s.Route, s.App, s.Region, s.QueryType
	row.PromptTokens, row.OutputTokens = table.Count(s.PromptTokens), table.Count(s.OutputTokens)
	row.ReasoningTokens, row.CachedTokens = table.Count(s.ReasoningTokens), table.Count(s.CachedTokens)
	row.CacheHit, row.CacheLevel, row.CacheKeyVersion = s.CacheHit, s.CacheLevel, s.CacheKeyVersion
	row.ChunkSize, row.MaxNumBatchedTokens = table.Count(s.ChunkSize), table.Count(s.MaxNumBatchedTokens)
	row.SpecDraft, row.SpecAccepted = table.Count(s.SpecDraft), table.Count(s.SpecAccepted)
	row.BatchSize = table.Count(s.BatchSize)
	row.QueueUS, row.PrefillUS, row.DecodeUS = table.Offset(s.QueueUS), table.Offset(s.PrefillUS), table.Offset(s.DecodeUS)
	row.TTFBUS, row.EndUS, row.ObservedUS = table.Offset(s.HeadersUS), table.Offset(s.EndUS), table.Offset(s.ObservedUS)
	row.LostChunks = table.Count(s.LostChunks)

	row.OffsetUS, row.GapsUS = table.PackOffsets(row.GapsUS[:0], s.Chunks.T)
	row.Bytes, row.Tokens, row.Logprobs = s.Chunks.Bytes, s.Chunks.Tokens, s.Chunks.Logprob
	row.KindRuns = table.PackKinds(row.KindRuns[:0], s.Chunks.Kind)
	row.Choices = nil
	for _, c := range s.Chunks.Choice {
		if c != 0 {
			row.Choices = s.Chunks.Choice
			break
		}
	}
	row.Scalars = ComputeScalars(s)

	r := &s.Reported
	row.ReportedDefinition = r.Definition
	row.ReportedTTFTUS, row.ReportedTTFAUS = table.Offset(r.TTFTUS), table.Offset(r.TTFAUS)
	row.ReportedITLMeanUS, row.ReportedTPOTUS = table.Offset(r.ITLMeanUS), table.Offset(r.TPOTUS)
	row.ReportedE2EUS = table.Offset(r.E2EUS)
	row.Synthetic = s.Synthetic
	row.FinishReason, row.StopReason, row.ErrorType, row.Status = s.FinishReason, s.StopReason, s.ErrorType, s.Status
	row.ResponseID, row.TraceID, row.SpanID, row.Aliases = s.ResponseID, s.TraceID, s.SpanID, s.Aliases
	row.Version = rank(row)
}

// ToWire returns the record that FromWire stored, but for chunk texts, which are never kept.
func (row *Row) ToWire() wire.Stream {
	final, n := ranked(row.Version)
	s := wire.Stream{
		RequestID: row.RequestID, Tenant: row.Tenant, Tier: wire.Tier(row.Tier), Attempt: uint32(row.Attempt),
		Emitter: row.Emitter, Seq: row.Seq, Final: final,
		Target: wire.Target{Provider: row.Provider, Deployment: row.Deployment, Model: row.Model, ModelVersion: row.ModelVersion},
		Route:  row.Route, App: row.App, Region: row.Region, QueryType: row.QueryType,
		PromptTokens: table.Int(row.PromptTokens), OutputTokens: table.Int(row.OutputTokens),
		ReasoningTokens: table.Int(row.ReasoningTokens), CachedTokens: table.Int(row.CachedTokens),
		CacheHit: row.CacheHit, CacheLevel: row.CacheLevel, CacheKeyVersion: row.CacheKeyVersion,
		ChunkSize: table.Int(row.ChunkSize), MaxNumBatchedTokens: table.Int(row.MaxNumBatchedTokens),
		SpecDraft: table.Int(row.SpecDraft), SpecAccepted: table.Int(row.SpecAccepted), BatchSize: table.Int(row.BatchSize),
		QueueUS: table.Int(row.QueueUS), PrefillUS: table.Int(row.PrefillUS), DecodeUS: table.Int(row.DecodeUS),
		StartedAt: int64(row.StartedAt), StartUnknown: row.StartUnknown, HeadersUS: table.Int(row.TTFBUS), EndUS: table.Int(row.EndUS), ObservedUS: table.Int(row.ObservedUS), LostChunks: table.Int(row.LostChunks),
		Reported: wire.Reported{
			Definition: row.ReportedDefinition, TTFTUS: table.Int(row.ReportedTTFTUS), TTFAUS: table.Int(row.ReportedTTFAUS),
			ITLMeanUS: table.Int(row.ReportedITLMeanUS), TPOTUS: table.Int(row.ReportedTPOTUS), E2EUS: table.Int(row.ReportedE2EUS),
		},
		Synthetic: row.Synthetic, FinishReason: row.FinishReason, StopReason: row.StopReason, ErrorType: row.ErrorType,
		Status: row.Status, ResponseID: row.ResponseID, TraceID: row.TraceID, SpanID: row.SpanID, Aliases: table.List(row.Aliases),
	}
	s.Chunks = wire.Chunks{
		T:     table.UnpackOffsets(n, row.OffsetUS, row.GapsUS),
		Bytes: table.List(row.Bytes), Tokens: table.List(row.Tokens), Kind: table.UnpackKinds(n, row.KindRuns),
		Choice: table.List(row.Choices), Logprob: table.List(row.Logprobs),
	}
	return s
}
