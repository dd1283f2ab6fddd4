package requests

import (
	"encoding/json"

	"github.com/fermata-io/fermata/storage/clocks"
)

// State says how far a stream or request is.
type State string

// States of a stream.
const (
	StateRunning   State = "running"   // no final record yet
	StateCompleted State = "completed" // ended without an error
	StateFailed    State = "failed"    // ended by an error
	StateAborted   State = "aborted"   // ended by the user or client
)

// Request is one request as all tiers saw it. A null value is not known. Instants are µs since the Unix epoch
// on the clock of the tier that gives them; offsets count from started_at of their tier, in µs.
type Request struct {
	RequestID     string            `json:"request_id"`
	Tenant        string            `json:"tenant"`
	Aliases       []string          `json:"aliases"` // sorted
	Target        Target            `json:"target"`  // of the served attempt
	App           *string           `json:"app"`
	Route         *string           `json:"route"`
	Region        *string           `json:"region"`
	QueryType     string            `json:"query_type"` // other when no tier says
	State         State             `json:"state"`
	ServedAttempt *uint32           `json:"served_attempt"`
	Attempts      []Attempt         `json:"attempts"` // by number
	Gateway       *Gateway          `json:"gateway"`  // what a gateway says of the request as a whole
	Client        *Client           `json:"client"`
	Clock         *Clock            `json:"clock"`
	Perceived     Perceived         `json:"perceived"`
	Conflicts     []Conflict        `json:"conflicts"`
	Findings      []json.RawMessage `json:"findings"`

	clockRows       []clocks.Row
	clockNeighbours []string
}

// Target is who served.
type Target struct {
	Provider     *string `json:"provider"`
	Deployment   *string `json:"deployment"`
	Model        *string `json:"model"`
	ModelVersion *string `json:"model_version"`
}

// Attempt is one upstream call of the request.
type Attempt struct {
	Attempt uint32          `json:"attempt"`
	Served  bool            `json:"served"`
	State   State           `json:"state"`
	Target  Target          `json:"target"`
	Server  *Stream         `json:"server"`
	Gateway *GatewayAttempt `json:"gateway"`
	// OtherStreams holds further streams of this attempt: another emitter's view of it, or a different stream
	// under the same id (then named in the request's conflicts).
	OtherStreams []Stream `json:"other_streams"`
}

// Stream is one chunk stream of the server or gateway tier, its segments merged.
type Stream struct {
	Tier         string    `json:"tier"`
	Emitter      *string   `json:"emitter"`
	StartedAt    int64     `json:"started_at"`
	StartUnknown bool      `json:"start_unknown"` // started_at is the first chunk's own time
	State        State     `json:"state"`
	TTFBUS       *int64    `json:"ttfb_us"`
	TTFTUS       *int64    `json:"ttft_us"`
	TTFAUS       *int64    `json:"ttfa_us"`
	LastUS       *int64    `json:"last_content_us"`
	EndUS        *int64    `json:"end_us"`
	ObservedUS   *int64    `json:"observed_us"`
	LostChunks   *int64    `json:"lost_chunks"` // seen by the emitter and not handed on as they were
	FinishReason *string   `json:"finish_reason"`
	StopReason   *string   `json:"stop_reason"`
	Error        *string   `json:"error"`
	Status       *int32    `json:"status"`
	NChunks      int       `json:"n_chunks"`
	NContent     int       `json:"n_content"` // content-bearing chunks
	ContentBytes int64     `json:"content_bytes"`
	Tokens       *int64    `json:"tokens"` // output tokens as reported, else the sum over chunks
	PromptTokens *int64    `json:"prompt_tokens"`
	OutputTokens *int64    `json:"output_tokens"`
	Reasoning    *int64    `json:"reasoning_tokens"`
	CachedTokens *int64    `json:"cached_tokens"`
	MaxGapUS     *int64    `json:"max_gap_us"`    // between content-bearing chunks
	MaxGapChunk  *int64    `json:"max_gap_chunk"` // content-bearing chunk that ended it, from 0
	P50GapUS     *int64    `json:"p50_gap_us"`
	P99GapUS     *int64    `json:"p99_gap_us"`
	Segments     int       `json:"segments"`
	Synthetic    bool      `json:"synthetic"`
	Target       Target    `json:"target"`
	Phases       Phases    `json:"phases"`
	Engine       Engine    `json:"engine"`
	Reported     *Reported `json:"reported"`
	ResponseID   *string   `json:"response_id"`
	TraceID      *string   `json:"trace_id"`
	SpanID       *string   `json:"span_id"`
	Chunks       *Chunks   `json:"chunks"`
}

// Phases are the parts of a server's time, as the engine reports them.
type Phases struct {
	QueueUS   *int64 `json:"queue_us"`
	PrefillUS *int64 `json:"prefill_us"`
	DecodeUS  *int64 `json:"decode_us"`
}

// Engine is the engine's setting and load at the time of the request.
type Engine struct {
	CacheHit            *string `json:"cache_hit"`
	CacheLevel          *string `json:"cache_level"`
	CacheKeyVersion     *string `json:"cache_key_version"`
	ChunkSize           *int64  `json:"chunk_size"`
	MaxNumBatchedTokens *int64  `json:"max_num_batched_tokens"`
	SpecDraft           *int64  `json:"speculative_draft"`
	SpecAccepted        *int64  `json:"speculative_accepted"`
	BatchSize           *int64  `json:"batch_size"`
}

// Reported holds quantities that an emitter computed itself, under the name of their definition.
type Reported struct {
	Definition string `json:"definition"`
	TTFTUS     *int64 `json:"ttft_us"`
	TTFAUS     *int64 `json:"ttfa_us"`
	ITLMeanUS  *int64 `json:"itl_mean_us"`
	TPOTUS     *int64 `json:"tpot_us"`
	E2EUS      *int64 `json:"e2e_us"`
}

// Chunks holds the chunks of one stream as parallel lists of one length; bytes, tokens, choice and logprob
// are null where not known.
type Chunks struct {
	TUS     []int64    `json:"t_us"`
	Bytes   []uint32   `json:"bytes"`
	Tokens  []uint32   `json:"tokens"`
	Kind    []string   `json:"kind"`
	Choice  []uint16   `json:"choice,omitempty"` // absent when all chunks are choice 0
	Logprob []*float64 `json:"logprob,omitempty"`
}

// GatewayAttempt is one attempt as gateways saw it. Its offsets count from started_at, the moment the gateway
// got the request. Chunk times, ttft_us and ttfa_us do so too when one emitter sent both the record and the
// chunk stream; else they count from the chunk stream's own start. chunks_started_at is the instant in either
// case.
type GatewayAttempt struct {
	Emitter         *string       `json:"emitter"`
	StartedAt       *int64        `json:"started_at"` // instant the gateway got the request
	StartUS         *int64        `json:"start_us"`   // upstream call made
	EndUS           *int64        `json:"end_us"`
	TTFBUS          *int64        `json:"ttfb_us"`
	TTFTUS          *int64        `json:"ttft_us"`
	TTFAUS          *int64        `json:"ttfa_us"`
	Status          *int32        `json:"status"`
	Error           *string       `json:"error"`
	Served          *bool         `json:"served"`
	Target          Target        `json:"target"`
	FinishReason    *string       `json:"finish_reason"`
	NChunks         *int          `json:"n_chunks"`
	Tokens          *int64        `json:"tokens"`
	Phases          GatewayPhases `json:"phases"`
	ChunksStartedAt *int64        `json:"chunks_started_at"`
	Chunks          *Chunks       `json:"chunks"`
	Stream          *Stream       `json:"stream"` // the gateway's chunk stream in full, without its chunks
}

// GatewayPhases are the parts of a gateway's time.
type GatewayPhases struct {
	QueueWaitUS     *int64 `json:"queue_wait_us"`
	CacheLookupUS   *int64 `json:"cache_lookup_us"`
	RouteDecisionUS *int64 `json:"route_decision_us"`
	UpstreamUS      *int64 `json:"upstream_us"` // call sent upstream → first byte
	OverheadUS      *int64 `json:"overhead_us"` // as reported, else sent upstream − received − the waits above
}

// Gateway is what a gateway says of the request as a whole. Offsets count from started_at.
type Gateway struct {
	Emitter          *string        `json:"emitter"`
	StartedAt        int64          `json:"started_at"`
	UpstreamSentUS   *int64         `json:"upstream_sent_us"`
	FirstByteUS      *int64         `json:"first_byte_us"`
	LastByteUS       *int64         `json:"last_byte_us"`
	CancelledUS      *int64         `json:"cancelled_us"`
	UpstreamClosedUS *int64         `json:"upstream_closed_us"`
	CacheResult      *string        `json:"cache_result"`
	RouteDecision    *RouteDecision `json:"route_decision"`
	Retries          *int64         `json:"retries"`
	Fallbacks        *int64         `json:"fallbacks"`
	Priority         *int64         `json:"priority"`
	InFlight         *int64         `json:"in_flight"`
	QueueDepth       *int64         `json:"queue_depth"`
	Status           *int32         `json:"status"`
	Error            *string        `json:"error"`
	PromptTokens     *int64         `json:"prompt_tokens"`
	OutputTokens     *int64         `json:"output_tokens"`
	Phases           GatewayPhases  `json:"phases"`
	Reported         *Reported      `json:"reported"`
	Clock            *Clock         `json:"clock"` // against the served attempt's server's
}

// RouteDecision says why a gateway chose a target.
type RouteDecision struct {
	Policy     *string  `json:"policy"`
	Candidates []string `json:"candidates"`
	Chosen     *string  `json:"chosen"`
	Reason     *string  `json:"reason"`
}

// Client is the request as the page saw it. started_at is the submit event (else the request's sending, else
// the first event known) on the page's own wall clock; null when the page's time origin is not known.
type Client struct {
	SessionID       *string      `json:"session_id"`
	StartedAt       *int64       `json:"started_at"`
	State           State        `json:"state"`
	TTFBUS          *int64       `json:"ttfb_us"`
	TTFTUS          *int64       `json:"ttft_us"`
	TTFAUS          *int64       `json:"ttfa_us"`
	EndUS           *int64       `json:"end_us"`
	SubmitUS        *int64       `json:"submit_us"`
	FirstFeedbackUS *int64       `json:"first_feedback_us"`
	RequestSentUS   *int64       `json:"request_sent_us"`
	HeadersUS       *int64       `json:"headers_us"`
	FirstPaintUS    *int64       `json:"first_meaningful_paint_us"`
	AbortedUS       *int64       `json:"aborted_us"`
	DoneUS          *int64       `json:"done_us"`
	ClosedUS        *int64       `json:"closed_us"`
	FinishReason    *string      `json:"finish_reason"`
	Error           *string      `json:"error"`
	NChunks         int          `json:"n_chunks"`
	Tokens          *int64       `json:"tokens"`
	ContentBytes    int64        `json:"content_bytes"`
	BytesTotal      *int64       `json:"bytes_total"`
	MaxGapUS        *int64       `json:"max_gap_us"`
	PaintMaxGapUS   *int64       `json:"paint_max_gap_us"`
	Phases          ClientPhases `json:"phases"`
	Chunks          *Chunks      `json:"chunks"` // as received
	DOM             *Curve       `json:"dom"`
	Paint           *Curve       `json:"paint"`
	Visibility      []Visibility `json:"visibility"`
	LongFrames      []LongFrame  `json:"long_frames"`
	Retractions     []Retraction `json:"retractions"`
	Reconnects      *int64       `json:"reconnects"`
	LostBeacons     *int64       `json:"lost_beacons"`
	SampleWeight    *float64     `json:"sample_weight"` // answers that this one stands for, at least 1, where the page samples
	Segments        int          `json:"segments"`
	Attempt         *int64       `json:"attempt"`
	Page            *string      `json:"page"`
	App             *string      `json:"app"`
	Release         *string      `json:"release"`
	Browser         *string      `json:"browser"`
	OS              *string      `json:"os"`
	Device          *string      `json:"device"`
	Country         *string      `json:"country"`
	Protocol        *string      `json:"protocol"`
	ContentKind     *string      `json:"content_kind"`
	PaintSource     *string      `json:"paint_source"`
	Connection      Connection   `json:"connection"`
	ClockInfo       ClientClock  `json:"clock"`

	ArrivedAt int64 `json:"-"` // earliest arrival of a record
	// BeganAt is when the submit event was by the clock of the receiver, which windows go by where no other tier tells: ArrivedAt
	// less what passed on the page's own clock until it sent that record.
	BeganAt int64 `json:"-"`
}

// ClientPhases are durations on the page's own clock.
type ClientPhases struct {
	SubmitToSendUS   *int64 `json:"submit_to_send_us"`
	SendToHeadersUS  *int64 `json:"send_to_headers_us"`
	HeadersToFirstUS *int64 `json:"headers_to_first_us"`
	FirstToPaintUS   *int64 `json:"first_to_paint_us"` // first answer chunk received → first meaningful paint
}

// Curve is a list of times with how many bytes of text each added.
type Curve struct {
	TUS   []int64  `json:"t_us"`
	Bytes []uint32 `json:"bytes"`
}

// Visibility says that the page was visible or hidden from t_us on.
type Visibility struct {
	TUS   int64  `json:"t_us"`
	State string `json:"state"`
}

// LongFrame is an animation frame that kept the main thread.
type LongFrame struct {
	TUS   int64 `json:"t_us"`
	DurUS int64 `json:"dur_us"`
}

// Retraction is shown text that was taken back.
type Retraction struct {
	TUS   int64  `json:"t_us"`
	Bytes uint32 `json:"bytes"`
}

// Connection is the browser's own estimate of the network.
type Connection struct {
	RTTMS        *int64  `json:"rtt_ms"`
	Type         *string `json:"type"`
	DownlinkKbit *int64  `json:"downlink_kbit"`
}

// ClientClock is what the page said of its clock. Instants are on its wall clock.
type ClientClock struct {
	TimeOrigin *int64 `json:"time_origin"`
	NowUS      *int64 `json:"now_us"` // from the time origin
	WallNow    *int64 `json:"wall_now"`
}

// Clock relates a process's clock to the server's: its time = server time + offset ± uncertainty, at the instant when the
// request reached the server (docs/clock.md).
type Clock struct {
	OffsetUS      int64  `json:"offset_us"`
	UncertaintyUS int64  `json:"uncertainty_us"`
	Source        string `json:"source"` // causal or session
	// MinUS and MaxUS are what causality alone leaves of the offset.
	MinUS int64 `json:"min_us"`
	MaxUS int64 `json:"max_us"`
	// RoundTripUS is the best of the requests that it rests on, without the server's time.
	RoundTripUS *int64 `json:"round_trip_us"`
	// DriftPPM is by how much the clock runs faster than the server's, parts per million; null where that is not known
	// to ± 50.
	DriftPPM            *float64 `json:"drift_ppm"`
	DriftUncertaintyPPM *float64 `json:"drift_uncertainty_ppm"`
	Requests            int      `json:"requests"` // that it rests on
}

// Sources of a clock.
const (
	ClockCausal  = "causal"  // this request's own records
	ClockSession = "session" // all requests of its session
)

// Perceived compares what the user felt with what the server measured; both are durations on one clock each.
type Perceived struct {
	TTFTUS *int64    `json:"ttft_us"` // submit event → first meaningful paint
	GapUS  *int64    `json:"gap_us"`  // perceived − TTFT of the served attempt's server
	Parts  []GapPart `json:"parts"`   // add up to gap_us; empty where that is not known
}

// Conflict is something that can't be true of one request; a finding is made of it.
type Conflict struct {
	Kind     string  `json:"kind"`
	Tier     string  `json:"tier"`
	Attempt  *uint32 `json:"attempt"`
	Emitter  *string `json:"emitter"`
	Detail   string  `json:"detail"`   // which rule was broken
	Evidence []int64 `json:"evidence"` // the numbers that disagree: instants or segment numbers
}

// Kinds of conflict.
const (
	ConflictID       = "id_conflict"      // two different streams under one id
	ConflictSegments = "segment_conflict" // a segment is missing or segments overlap in time
	ConflictClock    = "clock_conflict"   // no offset of the clocks fits what was sent and received
)
