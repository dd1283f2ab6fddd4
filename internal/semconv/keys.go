package semconv

// Field is a quantity that adapters read from attributes.
type Field uint8

// Fields of a GenAI span, log record or resource.
const (
	None Field = iota
	Tenant
	RequestID       // the id that joins tiers
	EngineRequestID // the engine's own request id, with its prefix
	HeaderRequestID // the request header of that name, as HTTP instrumentation records it
	GatewayCallID   // a gateway's id of the call
	ResponseID
	Attempt
	Emitter
	Provider
	Deployment
	ServerAddress
	ServerPort
	RequestModel
	ResponseModel
	ModelVersion
	Route
	App
	Region
	QueryType
	Operation    // gen_ai.operation.name and its older kin: what kind of call the span is
	SpanCategory // OpenInference's span kind
	Streaming
	InputTokens
	OutputTokens
	ReasoningTokens
	CachedTokens
	FinishReasons
	ErrorType
	ExceptionType
	HTTPStatus
	TTFTSeconds      // time to first token or chunk, s
	TTFTMillis       // the same, ms
	FirstTokenAt     // instant of the first token, as text
	QueueSeconds     // engine phases, s
	PrefillSeconds   //
	DecodeSeconds    //
	InferenceSeconds // prefill + decode
	E2ESeconds       //
	OtherSeconds     // engine times that are only checked for their unit
	ChunkGaps        // one array: the first chunk's offset, then the gaps, µs
	TokenGeneratedAt // per-token arrays: offsets from the request's start, s
	TokenScheduledAt //
	TokenText        //
	TokenLogprobs    //
	TokenBatchSize   //
	TokenCached      //
	StartedAt        // instant, µs
	StartedAtNano    // instant, ns
	ServiceName      // resource
	ServiceInstance  //
	K8sDeployment    //
	ChunkIndex       // of one chunk, on an event or a log record
	ChunkOffset      // µs since the request's start
	ChunkBytes       //
	ChunkTokens      //
	ChunkKind        //
	ChunkChoice      //
	ChunkText        // counted and dropped
	EventName        // event name as an attribute, from before log records had a field for it
	LiteLLMMark      // present on LiteLLM's spans only
	TraceloopMark    // present on OpenLLMetry's spans only
	GenAIMark        // any other attribute that says: this is a GenAI item
	// FieldCount is the number of fields, for tables indexed by one.
	FieldCount
)

// keys lists the keys of each field, the preferred one first.
var keys = [FieldCount][]string{
	Tenant: {"fermata.tenant"},
	RequestID: {
		"fermata.request_id", "request_id", "request.id", "http.request_id", "x-request-id", "x_request_id",
	},
	EngineRequestID: {"gen_ai.request.id", "rid"},
	HeaderRequestID: {
		"http.request.header.x-request-id", "http.request.header.x_request_id", "rpc.request.metadata.x-request-id",
	},
	GatewayCallID: {"litellm.call_id", "litellm_call_id", "gen_ai.gateway.request.id"},
	ResponseID: {
		"gen_ai.response.id", "llm.response.id", "ai.response.id", "gen_ai.openai.response.id",
	},
	Attempt:       {"fermata.attempt"},
	Emitter:       {"fermata.emitter"},
	Provider:      {"gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider", "custom_llm_provider"},
	Deployment:    {"fermata.deployment", "litellm.model_id", "azure.deployment", "gen_ai.azure.deployment"},
	ServerAddress: {"server.address", "net.peer.name", "gen_ai.openai.api_base", "gen_ai.api_base", "llm.api_base", "hidden_params.api_base"},
	ServerPort:    {"server.port", "net.peer.port"},
	RequestModel: {
		"gen_ai.request.model", "llm.request.model", "llm.model_name", "ai.model.id", "gen_ai.model.name", "model",
	},
	ResponseModel: {"gen_ai.response.model", "llm.response.model", "ai.response.model"},
	ModelVersion:  {"fermata.model_version", "gen_ai.model.version"},
	Route:         {"fermata.route", "http.route"},
	App:           {"fermata.app"},
	Region:        {"cloud.region"},
	QueryType:     {"fermata.query_type"},
	Operation:     {"gen_ai.operation.name", "llm.request.type", "gen_ai.request.type", "ai.operationId"},
	SpanCategory:  {"openinference.span.kind", "traceloop.span.kind"},
	Streaming:     {"gen_ai.request.stream", "llm.is_streaming", "gen_ai.request.is_stream", "gen_ai.is_streaming", "gen_ai.request.streaming"},
	InputTokens: {
		"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens",
		"llm.usage.input_tokens", "llm.token_count.prompt", "ai.usage.inputTokens", "ai.usage.promptTokens",
	},
	OutputTokens: {
		"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
		"llm.usage.output_tokens", "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens",
	},
	ReasoningTokens: {
		"gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "gen_ai.usage.details.reasoning_tokens",
		"llm.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens",
	},
	CachedTokens: {
		"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cached_tokens",
		"gen_ai.usage.details.cache_read_tokens", "llm.usage.cache_read_input_tokens",
		"llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens",
	},
	FinishReasons: {
		"gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "llm.response.finish_reason",
		"llm.finish_reason", "ai.response.finishReason",
	},
	ErrorType:     {"error.type"},
	ExceptionType: {"exception.type"},
	HTTPStatus:    {"http.response.status_code", "http.status_code"},
	TTFTSeconds: {
		"gen_ai.latency.time_to_first_token", "gen_ai.response.time_to_first_chunk",
		"gen_ai.server.time_to_first_token", "gen_ai.response.time_to_first_token",
	},
	TTFTMillis: {
		"ai.response.msToFirstChunk", "ai.stream.msToFirstChunk", "llm.time_to_first_token_ms",
		"gen_ai.response.time_to_first_token_ms", "llm.latency.time_to_first_token_ms",
	},
	FirstTokenAt: {
		"llm.completion_start_time", "gen_ai.completion_start_time", "completion_start_time",
		"langfuse.observation.completion_start_time",
	},
	QueueSeconds:     {"gen_ai.latency.time_in_queue"},
	PrefillSeconds:   {"gen_ai.latency.time_in_model_prefill"},
	DecodeSeconds:    {"gen_ai.latency.time_in_model_decode"},
	InferenceSeconds: {"gen_ai.latency.time_in_model_inference"},
	E2ESeconds:       {"gen_ai.latency.e2e"},
	OtherSeconds: {
		"gen_ai.latency.time_in_scheduler", "gen_ai.latency.time_in_model_forward", "gen_ai.latency.time_in_model_execute",
	},
	ChunkGaps:        {"gen_ai.chunk.gaps_us", "llm.chunk.gaps_us"},
	TokenGeneratedAt: {"gen_ai.latency.per_token_generation_time"},
	TokenScheduledAt: {"gen_ai.latency.per_token_scheduled_time"},
	TokenText:        {"gen_ai.response.per_token_candidate_decoded_tokens"},
	TokenLogprobs:    {"gen_ai.response.per_token_candidate_tokens_logprobs"},
	TokenBatchSize:   {"gen_ai.iteration.per_token_batch_size"},
	TokenCached:      {"gen_ai.iteration.per_token_cached_tokens"},
	StartedAt:        {"fermata.started_at", "started_at", "request.started_at_us"},
	StartedAtNano:    {"request.start_time_unix_nano", "gen_ai.request.start_time_unix_nano"},
	ServiceName:      {"service.name"},
	ServiceInstance:  {"service.instance.id"},
	K8sDeployment:    {"k8s.deployment.name"},
	ChunkIndex: {
		"fermata.chunk.index", "chunk.index", "gen_ai.chunk.index", "chunk_index", "index", "seq", "token.index",
		"gen_ai.token.index",
	},
	ChunkOffset: {"fermata.chunk.t", "chunk.offset_us", "offset_us", "t_us"},
	ChunkBytes:  {"fermata.chunk.bytes", "chunk.bytes", "gen_ai.chunk.bytes", "chunk.size", "content_bytes", "bytes"},
	ChunkTokens: {
		"fermata.chunk.tokens", "chunk.tokens", "gen_ai.chunk.tokens", "token_count", "gen_ai.token.count", "tokens",
	},
	ChunkKind:   {"fermata.chunk.kind", "chunk.kind", "gen_ai.chunk.kind", "gen_ai.chunk.type", "chunk.type", "kind"},
	ChunkChoice: {"fermata.chunk.choice", "chunk.choice", "gen_ai.choice.index", "choice"},
	ChunkText: {
		"gen_ai.completion.chunk", "gen_ai.chunk.content", "chunk.content", "chunk.text", "content", "delta",
		"gen_ai.token.text", "gen_ai.token.decoded_token", "token",
	},
	EventName:     {"event.name"},
	LiteLLMMark:   {"hidden_params", "metadata.user_api_key_hash", "user_api_key_hash"},
	TraceloopMark: {"traceloop.workflow.name", "traceloop.entity.name", "llm.usage.total_tokens", "llm.headers"},
	GenAIMark: {
		"gen_ai.request.max_tokens", "gen_ai.request.temperature", "gen_ai.request.top_p", "gen_ai.request.n",
		"gen_ai.usage.total_tokens", "gen_ai.conversation.id", "llm.token_count.total", "gen_ai.request.trace_level",
	},
}

type ranked struct {
	field Field
	rank  uint8
}

var byKey = func() map[string]ranked {
	m := make(map[string]ranked, 160)
	for f, ks := range keys {
		for r, k := range ks {
			m[k] = ranked{Field(f), uint8(r)}
		}
	}
	return m
}()

// Lookup returns the field that a key belongs to, and its rank there: the key with the smallest rank wins
// when several are present. An unknown key gives None.
func Lookup(key string) (f Field, rank uint8) {
	r := byKey[key]
	return r.field, r.rank
}

// Keys lists the keys of a field, the preferred one first.
func Keys(f Field) []string { return keys[f] }
