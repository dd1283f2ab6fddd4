package wire

// Tier says where in the request's way a record was made.
type Tier string

// The tiers.
const (
	TierServer  Tier = "server"  // inference engine, or whatever talks to it
	TierGateway Tier = "gateway" // router between user and engine
	TierClient  Tier = "client"  // browser
)

// DefaultTenant is the tenant of a record that names none.
const DefaultTenant = "default"

// SeqLost is the Seq of the record with which the stream processor ends a stream that fell silent for good. It has no chunks
// and says nothing once a last segment comes.
const SeqLost = 1<<32 - 1

// Stream is one stream, or one segment of a stream that is still running, of the server or gateway tier.
// Its identity is (Tenant, RequestID, Tier, Attempt, Emitter, StartedAt); Seq orders its segments.
type Stream struct {
	RequestID string
	Tenant    string // DefaultTenant when the body has none
	Tier      Tier   // server unless the body says gateway
	Attempt   uint32 // 1 when absent
	Emitter   string // program that made the record: "tap", "vllm", "aiperf", …; may be empty
	Seq       uint32 // 0 for a whole stream or the first segment
	Final     bool   // no segment follows; true when the body has neither seq nor final

	Target
	Route     string
	App       string
	Region    string
	QueryType string // short_qa, long_form, code_completion, translate_summarize, other; empty: not known

	PromptTokens    Opt[int64]
	OutputTokens    Opt[int64]
	ReasoningTokens Opt[int64]
	CachedTokens    Opt[int64]

	CacheHit            string // none, partial, full
	CacheLevel          string // where the hit came from, for instance gpu, cpu, disk, remote
	CacheKeyVersion     string
	ChunkSize           Opt[int64] // the engine's chunked-prefill size, tokens
	MaxNumBatchedTokens Opt[int64]
	SpecDraft           Opt[int64] // speculative decoding: tokens drafted
	SpecAccepted        Opt[int64] // and accepted
	BatchSize           Opt[int64]

	QueueUS   Opt[int64] // server phases, as the engine reports them
	PrefillUS Opt[int64]
	DecodeUS  Opt[int64]

	StartedAt int64 // instant the tier got the request (tap: sent it upstream)
	// StartUnknown says that StartedAt is the first chunk's own time, because the emitter doesn't tell when the
	// request began: gaps hold, TTFT and TTFA aren't known.
	StartUnknown bool
	HeadersUS    Opt[int64] // offset of the response headers (TTFB)
	EndUS        Opt[int64] // offset of the stream's end; absent while it runs
	// ObservedUS is the offset up to which the emitter watched the stream: silence after the last chunk is
	// known to have lasted at least to here. Absent: up to the last chunk.
	ObservedUS Opt[int64]
	// LostChunks counts chunks so far that the emitter saw and could not hand on as they were: merged into the
	// one before them, or not recorded at all. Absent: none.
	LostChunks Opt[int64]

	Chunks Chunks
	// Reported holds quantities the emitter computed itself, for records without chunk times.
	Reported Reported
	// Synthetic marks chunk times that were made from a stated model, not measured.
	Synthetic bool

	FinishReason string // as the emitter said it: stop, length, tool_calls, repetition, client_abort, …
	StopReason   string // engine's detail: repetition_detected, a stop string's name, …
	ErrorType    string // short class: timeout, upstream_reset, http_500, …
	Status       int32  // HTTP status; 0: not known
	ResponseID   string
	TraceID      string // 32 lower-case hex digits
	SpanID       string // 16 lower-case hex digits
	Aliases      []string
}

// Target is what a router can choose: who serves the request.
type Target struct {
	Provider     string
	Deployment   string
	Model        string
	ModelVersion string
}

// Reported quantities keep the name of the definition they follow; never mix two in one percentile.
type Reported struct {
	Definition string // vllm_prom, vllm_api, vllm_span, aiperf, guidellm, llmperf, litellm, otel_client, …; empty: none reported
	TTFTUS     Opt[int64]
	TTFAUS     Opt[int64]
	ITLMeanUS  Opt[int64]
	TPOTUS     Opt[int64]
	E2EUS      Opt[int64]
}

// Chunks holds one stream's or segment's chunks as parallel columns. T is never nil when any chunk is
// known; each other column is empty or as long as T.
type Chunks struct {
	T      []int64  // ascending offsets from StartedAt (client: from the time origin)
	Bytes  []uint32 // UTF-8 bytes of generated text in each chunk, not cumulative
	Tokens []uint32 // tokens in each chunk
	Kind   []Kind   // empty: all content
	Choice []uint16 // index of the answer each chunk belongs to, for n > 1; empty: all 0
	// Text is in memory only, for detection; it never leaves the process unless the tenant opted in.
	Text []string
	// Hashes stands in for Text where no text may be sent: the keyed hashes of each chunk's words, or its token ids, as
	// hexadecimal numbers of up to 64 bits with a blank between them. In memory only, like Text.
	Hashes []string
	// Logprob is the sum of the log-probabilities of each chunk's tokens; NaN: not known. Empty: none.
	Logprob []float32
}

// Len returns the number of chunks.
func (c *Chunks) Len() int { return len(c.T) }

// KindAt returns the kind of chunk i.
func (c *Chunks) KindAt(i int) Kind {
	if len(c.Kind) == 0 {
		return KindContent
	}
	return c.Kind[i]
}

// ContentBearing reports whether chunk i carries generated text. An empty payload never does; where sizes
// are not known the kind decides.
func (c *Chunks) ContentBearing(i int) bool {
	if !c.KindAt(i).ContentBearing() {
		return false
	}
	return len(c.Bytes) == 0 || c.Bytes[i] > 0 || (len(c.Tokens) > 0 && c.Tokens[i] > 0)
}

// Even reports whether every array that is there has one entry for each chunk. Of a record that was validated it is true; one
// from elsewhere has to be asked before its arrays are indexed.
func (c *Chunks) Even() bool {
	for _, n := range [...]int{
		len(c.Bytes), len(c.Tokens), len(c.Kind), len(c.Choice), len(c.Text), len(c.Hashes), len(c.Logprob),
	} {
		if n != 0 && n != len(c.T) {
			return false
		}
	}
	return true
}
