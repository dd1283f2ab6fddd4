package streams

import "github.com/fermata-io/fermata/storage/table"

// Table is the streams table.
var Table = table.Of[Row]("streams")

// Row is one row of the streams table; its tags are the only list of the table's columns and of what is packed into
// them. Meanings are those
// of wire.Stream. Offsets count from StartedAt, in µs. An Opt is NULL where the sender did not say.
type Row struct {
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)" rank:"-"`
	RequestID string       `ch:"request_id" rank:"-"`
	Tier      string       `ch:"tier" type:"LowCardinality(String)" rank:"-"`
	Attempt   uint16       `ch:"attempt" rank:"-"`
	Emitter   string       `ch:"emitter" type:"LowCardinality(String)" rank:"-"`
	StartedAt table.Micros `ch:"started_at" rank:"-"`
	Seq       uint32       `ch:"seq" rank:"-"`
	Final     bool         // no column: Version holds it
	Version   uint64       `ch:"version" rank:"-"`

	StartUnknown bool `ch:"start_unknown,label"` // StartedAt is the first chunk's own time

	Provider     string `ch:"provider,label"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version,label"`
	Route        string `ch:"route,label"`
	App          string `ch:"app,label"`
	Region       string `ch:"region,label"`
	QueryType    string `ch:"query_type,label"`

	PromptTokens    table.Opt[uint32] `ch:"prompt_tokens,number"`
	ReasoningTokens table.Opt[uint32] `ch:"reasoning_tokens,number"`
	CachedTokens    table.Opt[uint32] `ch:"cached_tokens,number"`

	CacheHit            string            `ch:"cache_hit,label"`
	CacheLevel          string            `ch:"cache_level,label"`
	CacheKeyVersion     string            `ch:"cache_key_version,label"`
	ChunkSize           table.Opt[uint32] `ch:"chunk_size,label"`
	MaxNumBatchedTokens table.Opt[uint32] `ch:"max_num_batched_tokens,label"`
	SpecDraft           table.Opt[uint32] `ch:"spec_draft,number"`
	SpecAccepted        table.Opt[uint32] `ch:"spec_accepted,number"`
	BatchSize           table.Opt[uint32] `ch:"batch_size,number"`

	OutputTokens table.Opt[uint32] `ch:"output_tokens,number"`

	Scalars

	OffsetUS   uint64            `ch:"first_us,number"`
	TTFBUS     table.Opt[uint64] `ch:"ttfb_us,number"` // wire.Stream.HeadersUS
	EndUS      table.Opt[uint64] `ch:"end_us,number"`
	ObservedUS table.Opt[uint64] `ch:"observed_us,number"`
	QueueUS    table.Opt[uint64] `ch:"queue_us,number"`
	PrefillUS  table.Opt[uint64] `ch:"prefill_us,number"`
	DecodeUS   table.Opt[uint64] `ch:"decode_us,number"`
	LostChunks table.Opt[uint32] `ch:"lost_chunks,number"`

	// Chunk arrays. OffsetUS is the first chunk's offset, GapsUS the n-1 differences that follow. KindRuns
	// holds runs of kinds, length*16 + kind; empty: all content. Choices is empty when all are choice 0.
	GapsUS   []uint32  `ch:"gaps_us"`
	Bytes    []uint32  `ch:"bytes"`
	Tokens   []uint32  `ch:"tokens"`
	KindRuns []uint32  `ch:"kind_runs"`
	Choices  []uint16  `ch:"choices,chunk_detail"`
	Logprobs []float32 `ch:"logprobs,chunk_detail"`

	ReportedDefinition string            `ch:"reported_definition,label"`
	ReportedTTFTUS     table.Opt[uint64] `ch:"reported_ttft_us,number"`
	ReportedTTFAUS     table.Opt[uint64] `ch:"reported_ttfa_us,number"`
	ReportedITLMeanUS  table.Opt[uint64] `ch:"reported_itl_mean_us,number"`
	ReportedTPOTUS     table.Opt[uint64] `ch:"reported_tpot_us,number"`
	ReportedE2EUS      table.Opt[uint64] `ch:"reported_e2e_us,number"`
	Synthetic          bool              `ch:"synthetic,label"`

	FinishReason string   `ch:"finish_reason,label"`
	StopReason   string   `ch:"stop_reason,label"`
	ErrorType    string   `ch:"error_type,label"`
	Status       int32    `ch:"status,label"`
	ResponseID   string   `ch:"response_id,detail"`
	TraceID      string   `ch:"trace_id,detail"`
	SpanID       string   `ch:"span_id,detail"`
	Aliases      []string `ch:"aliases,detail"`
}

// Scalars are computed from the chunk arrays of one row. A gap is the time between two consecutive
// content-bearing chunks of the row; gaps of fewer than two such chunks are 0.
type Scalars struct {
	NChunks     uint32            // no column: the version holds it
	ChunkTokens table.Opt[uint64] `ch:"chunk_tokens,number" rank:"-"`     // sum over all chunks; NULL: not known by chunk
	NContent    uint32            `ch:"n_content,number" rank:"-"`        // content-bearing chunks
	AnswerUS    table.Opt[uint64] `ch:"first_answer_us,number" rank:"-"`  // first non-empty chunk of kind content
	FirstUS     table.Opt[uint64] `ch:"first_content_us,number" rank:"-"` // first content-bearing chunk of the row
	MaxGapUS    uint32            `ch:"max_gap_us" rank:"-"`
}
