package wire

// Gateway is one request as a gateway handled it. Its identity is (Tenant, RequestID, Emitter, ReceivedAt).
// Instants are on the gateway's clock; 0 means not known.
type Gateway struct {
	RequestID string
	Tenant    string
	Emitter   string // gateway product or instance: litellm, envoy, …
	Target           // of the served attempt, when the record has no attempts
	Route     string
	App       string
	Region    string
	QueryType string

	ReceivedAt     int64
	UpstreamSentAt int64
	FirstByteAt    int64 // first byte of the body sent to the client
	LastByteAt     int64
	CancelledAt    int64 // the client went away
	// UpstreamClosedAt is when the leg to the engine ended; after CancelledAt it is waste.
	UpstreamClosedAt int64

	QueueWaitUS     Opt[int64]
	CacheLookupUS   Opt[int64]
	CacheResult     string // hit, miss, bypass
	RouteDecisionUS Opt[int64]
	OverheadUS      Opt[int64]
	RouteDecision   RouteDecision

	Retries    Opt[int64]
	Fallbacks  Opt[int64]
	Priority   Opt[int64]
	InFlight   Opt[int64]
	QueueDepth Opt[int64]
	Status     int32
	ErrorType  string

	Attempts []Attempt
	Reported Reported

	PromptTokens Opt[int64]
	OutputTokens Opt[int64]

	ResponseID string
	TraceID    string
	SpanID     string
	Aliases    []string
}

// RouteDecision says why the gateway chose a target.
type RouteDecision struct {
	Policy     string
	Candidates []string
	Chosen     string
	Reason     string
}

// Attempt is one upstream call of a gateway.
type Attempt struct {
	Attempt    uint32
	Deployment string
	Provider   string
	Model      string
	Start      int64 // instant
	End        int64 // instant; 0 while it runs
	Status     int32
	ErrorType  string
	Served     bool
}
