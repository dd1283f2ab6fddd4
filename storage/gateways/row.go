package gateways

import "github.com/fermata-io/fermata/storage/table"

// Table is the gateways table.
var Table = table.Of[Row]("gateways")

// Row is one row of the gateways table; its tags are the only list of the table's columns. Meanings are those
// of wire.Gateway, but instants are stored as offsets from ReceivedAt in µs, NULL where not known.
type Row struct {
	Tenant     string       `ch:"tenant" type:"LowCardinality(String)" rank:"-"`
	RequestID  string       `ch:"request_id" rank:"-"`
	Emitter    string       `ch:"emitter" type:"LowCardinality(String)" rank:"-"`
	ReceivedAt table.Micros `ch:"received_at" rank:"-"`
	Version    uint64       `ch:"version" rank:"-"`

	Provider     string `ch:"provider" type:"LowCardinality(String)"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version" type:"LowCardinality(String)"`
	Route        string `ch:"route" type:"LowCardinality(String)"`
	App          string `ch:"app" type:"LowCardinality(String)"`
	Region       string `ch:"region" type:"LowCardinality(String)"`
	QueryType    string `ch:"query_type" type:"LowCardinality(String)"`

	UpstreamSentUS   table.Opt[int64] `ch:"upstream_sent_us"`
	FirstByteUS      table.Opt[int64] `ch:"first_byte_us"`
	LastByteUS       table.Opt[int64] `ch:"last_byte_us"`
	CancelledUS      table.Opt[int64] `ch:"cancelled_us"`
	UpstreamClosedUS table.Opt[int64] `ch:"upstream_closed_us"`

	QueueWaitUS     table.Opt[uint64] `ch:"queue_wait_us"`
	CacheLookupUS   table.Opt[uint64] `ch:"cache_lookup_us"`
	CacheResult     string            `ch:"cache_result" type:"LowCardinality(String)"`
	RouteDecisionUS table.Opt[uint64] `ch:"route_decision_us"`
	OverheadUS      table.Opt[uint64] `ch:"overhead_us"`

	RoutePolicy     string   `ch:"route_policy" type:"LowCardinality(String)"`
	RouteCandidates []string `ch:"route_candidates" type:"Array(LowCardinality(String))"`
	RouteChosen     string   `ch:"route_chosen" type:"LowCardinality(String)"`
	RouteReason     string   `ch:"route_reason" type:"LowCardinality(String)"`

	Retries    table.Opt[uint32] `ch:"retries"`
	Fallbacks  table.Opt[uint32] `ch:"fallbacks"`
	Priority   table.Opt[int64]  `ch:"priority"`
	InFlight   table.Opt[uint32] `ch:"in_flight"`
	QueueDepth table.Opt[uint32] `ch:"queue_depth"`
	Status     int32             `ch:"status"`
	ErrorType  string            `ch:"error_type" type:"LowCardinality(String)"`

	// ServedAttempt is the number of the attempt that the gateway marked as served; 0: none marked.
	ServedAttempt uint16 `ch:"served_attempt" rank:"-"`

	Attempts           []uint16 `ch:"attempts.attempt"`
	AttemptDeployments []string `ch:"attempts.deployment" type:"Array(LowCardinality(String))"`
	AttemptProviders   []string `ch:"attempts.provider" type:"Array(LowCardinality(String))"`
	AttemptModels      []string `ch:"attempts.model" type:"Array(LowCardinality(String))"`
	AttemptStartsUS    []*int64 `ch:"attempts.start_us"`
	AttemptEndsUS      []*int64 `ch:"attempts.end_us"`
	AttemptStatuses    []int32  `ch:"attempts.status"`
	AttemptErrorTypes  []string `ch:"attempts.error_type" type:"Array(LowCardinality(String))"`
	AttemptServed      []bool   `ch:"attempts.served"`

	ReportedDefinition string            `ch:"reported_definition" type:"LowCardinality(String)"`
	ReportedTTFTUS     table.Opt[uint64] `ch:"reported_ttft_us"`
	ReportedTTFAUS     table.Opt[uint64] `ch:"reported_ttfa_us"`
	ReportedITLMeanUS  table.Opt[uint64] `ch:"reported_itl_mean_us"`
	ReportedTPOTUS     table.Opt[uint64] `ch:"reported_tpot_us"`
	ReportedE2EUS      table.Opt[uint64] `ch:"reported_e2e_us"`

	PromptTokens table.Opt[uint32] `ch:"prompt_tokens"`
	OutputTokens table.Opt[uint32] `ch:"output_tokens"`

	ResponseID string   `ch:"response_id"`
	TraceID    string   `ch:"trace_id"`
	SpanID     string   `ch:"span_id"`
	Aliases    []string `ch:"aliases"`
}
