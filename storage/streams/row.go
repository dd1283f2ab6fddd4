package streams

import "github.com/fermata-io/fermata/storage/table"

// Table is the streams table.
var Table = table.Of[Row]("streams")

// Row is one row of the streams table; its tags are the only list of the table's columns. Meanings are those
// of wire.Stream. Offsets count from StartedAt, in µs. An Opt is NULL where the sender did not say.
type Row struct {
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)" rank:"-"`
	RequestID string       `ch:"request_id" rank:"-"`
	Tier      string       `ch:"tier" type:"LowCardinality(String)" rank:"-"`
	Attempt   uint16       `ch:"attempt" rank:"-"`
	Emitter   string       `ch:"emitter" type:"LowCardinality(String)" rank:"-"`
	StartedAt table.Micros `ch:"started_at" rank:"-"`
	Seq       uint32       `ch:"seq" rank:"-"`
	Final     bool         `ch:"final" rank:"-"`
	Version   uint64       `ch:"version" rank:"-"`

	StartUnknown bool `ch:"start_unknown"` // StartedAt is the first chunk's own time

	Provider     string `ch:"provider" type:"LowCardinality(String)"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version" type:"LowCardinality(String)"`
	Route        string `ch:"route" type:"LowCardinality(String)"`
	App          string `ch:"app" type:"LowCardinality(String)"`
	Region       string `ch:"region" type:"LowCardinality(String)"`
	QueryType    string `ch:"query_type" type:"LowCardinality(String)"`

	PromptTokens    table.Opt[uint32] `ch:"prompt_tokens"`
	OutputTokens    table.Opt[uint32] `ch:"output_tokens"`
	ReasoningTokens table.Opt[uint32] `ch:"reasoning_tokens"`
	CachedTokens    table.Opt[uint32] `ch:"cached_tokens"`

	CacheHit            string            `ch:"cache_hit" type:"LowCardinality(String)"`
	CacheLevel          string            `ch:"cache_level" type:"LowCardinality(String)"`
	CacheKeyVersion     string            `ch:"cache_key_version" type:"LowCardinality(String)"`
	ChunkSize           table.Opt[uint32] `ch:"chunk_size"`
	MaxNumBatchedTokens table.Opt[uint32] `ch:"max_num_batched_tokens"`
	SpecDraft           table.Opt[uint32] `ch:"spec_draft"`
	SpecAccepted        table.Opt[uint32] `ch:"spec_accepted"`
	BatchSize           table.Opt[uint32] `ch:"batch_size"`

	QueueUS    table.Opt[uint64] `ch:"queue_us"`
	PrefillUS  table.Opt[uint64] `ch:"prefill_us"`
	DecodeUS   table.Opt[uint64] `ch:"decode_us"`
	TTFBUS     table.Opt[uint64] `ch:"ttfb_us"` // wire.Stream.HeadersUS
	EndUS      table.Opt[uint64] `ch:"end_us"`
	ObservedUS table.Opt[uint64] `ch:"observed_us"`

	// Chunk arrays. OffsetUS is the first chunk's offset, GapsUS the n-1 differences that follow. KindRuns
	// holds runs of kinds, length*16 + kind; empty: all content. Choices is empty when all are choice 0.
	OffsetUS uint64    `ch:"first_us"`
	GapsUS   []uint32  `ch:"gaps_us"`
	Bytes    []uint32  `ch:"bytes"`
	Tokens   []uint32  `ch:"tokens"`
	KindRuns []uint32  `ch:"kind_runs"`
	Choices  []uint16  `ch:"choices"`
	Logprobs []float32 `ch:"logprobs"`

	Scalars

	ReportedDefinition string            `ch:"reported_definition" type:"LowCardinality(String)"`
	ReportedTTFTUS     table.Opt[uint64] `ch:"reported_ttft_us"`
	ReportedTTFAUS     table.Opt[uint64] `ch:"reported_ttfa_us"`
	ReportedITLMeanUS  table.Opt[uint64] `ch:"reported_itl_mean_us"`
	ReportedTPOTUS     table.Opt[uint64] `ch:"reported_tpot_us"`
	ReportedE2EUS      table.Opt[uint64] `ch:"reported_e2e_us"`
	Synthetic          bool              `ch:"synthetic"`

	FinishReason string   `ch:"finish_reason" type:"LowCardinality(String)"`
	StopReason   string   `ch:"stop_reason" type:"LowCardinality(String)"`
	ErrorType    string   `ch:"error_type" type:"LowCardinality(String)"`
	Status       int32    `ch:"status"`
	ResponseID   string   `ch:"response_id"`
	TraceID      string   `ch:"trace_id"`
	SpanID       string   `ch:"span_id"`
	Aliases      []string `ch:"aliases"`
}

// Scalars are computed from the chunk arrays of one row. A gap is the time between two consecutive
// content-bearing chunks of the row; gaps of fewer than two such chunks are 0.
type Scalars struct {
	NChunks      uint32            `ch:"n_chunks" rank:"-"`
	NContent     uint32            `ch:"n_content" rank:"-"`        // content-bearing chunks
	ContentBytes uint64            `ch:"content_bytes" rank:"-"`    // of content-bearing chunks
	ChunkTokens  table.Opt[uint64] `ch:"chunk_tokens" rank:"-"`     // sum over all chunks; NULL: not known by chunk
	FirstUS      table.Opt[uint64] `ch:"first_content_us" rank:"-"` // first content-bearing chunk of the row
	AnswerUS     table.Opt[uint64] `ch:"first_answer_us" rank:"-"`  // first non-empty chunk of kind content
	LastUS       table.Opt[uint64] `ch:"last_content_us" rank:"-"`  // last content-bearing chunk of the row
	MaxGapUS     uint32            `ch:"max_gap_us" rank:"-"`
	MaxGapChunk  uint32            `ch:"max_gap_chunk" rank:"-"` // content-bearing chunk that ended it, counted from 0 in the row
	P50GapUS     uint32            `ch:"p50_gap_us" rank:"-"`
	P99GapUS     uint32            `ch:"p99_gap_us" rank:"-"`
}
