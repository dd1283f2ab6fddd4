package gateways

import "github.com/fermata-io/fermata/storage/table"

// Table is the gateways table.
var Table = table.Of[Row]("gateways")

// Row is one row of the gateways table; its tags are the only list of the table's columns and of what is packed into
// them. Meanings are those
// of wire.Gateway, but instants are stored as offsets from ReceivedAt in µs, NULL where not known.
type Row struct {
	Tenant     string       `ch:"tenant" type:"LowCardinality(String)" rank:"-"`
	RequestID  string       `ch:"request_id" rank:"-"`
	Emitter    string       `ch:"emitter" type:"LowCardinality(String)" rank:"-"`
	ReceivedAt table.Micros `ch:"received_at" rank:"-"`
	Version    uint64       `ch:"version" rank:"-"`

	Provider     string `ch:"provider,label"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version,label"`
	Route        string `ch:"route,label"`
	App          string `ch:"app,label"`
	Region       string `ch:"region,label"`
	QueryType    string `ch:"query_type,label"`

	UpstreamSentUS   table.Opt[int64] `ch:"upstream_sent_us,number"`
	FirstByteUS      table.Opt[int64] `ch:"first_byte_us,number"`
	LastByteUS       table.Opt[int64] `ch:"last_byte_us,number"`
	CancelledUS      table.Opt[int64] `ch:"cancelled_us,number"`
	UpstreamClosedUS table.Opt[int64] `ch:"upstream_closed_us,number"`

	QueueWaitUS     table.Opt[uint64] `ch:"queue_wait_us,number"`
	CacheLookupUS   table.Opt[uint64] `ch:"cache_lookup_us,number"`
	CacheResult     string            `ch:"cache_result,label"`
	RouteDecisionUS table.Opt[uint64] `ch:"route_decision_us,number"`
	OverheadUS      table.Opt[uint64] `ch:"overhead_us,number"`

	RoutePolicy     string   `ch:"route_policy,label"`
	RouteCandidates []string `ch:"route_candidates,label"`
	RouteChosen     string   `ch:"route_chosen,label"`
	RouteReason     string   `ch:"route_reason,label"`

	Retries    table.Opt[uint32] `ch:"retries,label"`
	Fallbacks  table.Opt[uint32] `ch:"fallbacks,label"`
	Priority   table.Opt[int64]  `ch:"priority,label"`
	InFlight   table.Opt[uint32] `ch:"in_flight,number"`
	QueueDepth table.Opt[uint32] `ch:"queue_depth,number"`
	Status     int32             `ch:"status,label"`
	ErrorType  string            `ch:"error_type,label"`

	// ServedAttempt is the number of the attempt that the gateway marked as served; 0: none marked.
	ServedAttempt uint16 `ch:"served_attempt,label" rank:"-"`

	Attempts           []uint16 `ch:"attempts.attempt,label"`
	AttemptDeployments []string `ch:"attempts.deployment,label"`
	AttemptProviders   []string `ch:"attempts.provider,label"`
	AttemptModels      []string `ch:"attempts.model,label"`
	AttemptStartsUS    []*int64 `ch:"attempts.start_us,number"`
	AttemptEndsUS      []*int64 `ch:"attempts.end_us,number"`
	AttemptStatuses    []int32  `ch:"attempts.status,label"`
	AttemptErrorTypes  []string `ch:"attempts.error_type,label"`
	AttemptServed      []bool   `ch:"attempts.served,label"`

	ReportedDefinition string            `ch:"reported_definition,label"`
	ReportedTTFTUS     table.Opt[uint64] `ch:"reported_ttft_us,number"`
	ReportedTTFAUS     table.Opt[uint64] `ch:"reported_ttfa_us,number"`
	ReportedITLMeanUS  table.Opt[uint64] `ch:"reported_itl_mean_us,number"`
	ReportedTPOTUS     table.Opt[uint64] `ch:"reported_tpot_us,number"`
	ReportedE2EUS      table.Opt[uint64] `ch:"reported_e2e_us,number"`

	PromptTokens table.Opt[uint32] `ch:"prompt_tokens,number"`
	OutputTokens table.Opt[uint32] `ch:"output_tokens,number"`

	ResponseID string   `ch:"response_id,detail"`
	TraceID    string   `ch:"trace_id,detail"`
	SpanID     string   `ch:"span_id,detail"`
	Aliases    []string `ch:"aliases,detail"`
}
