-- Purpose: requests as gateways handled them, one row for each record as delivered.
-- Class: metadata-only (new table).
-- Order and re-delivery: as for streams.
-- Columns: as for streams.

-- +goose Up
CREATE TABLE IF NOT EXISTS gateways
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    request_id String COMMENT 'Id that joins all tiers of one user-visible question' CODEC(ZSTD(1)),
    emitter LowCardinality(String) COMMENT 'Gateway product or instance',
    received_at DateTime64(6, 'UTC') COMMENT 'Instant the gateway got the request, on its own clock' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),
    deployment LowCardinality(String) COMMENT 'Deployment of the target, when there are no attempts',
    model LowCardinality(String) COMMENT 'Model of the target, when there are no attempts',
    labels LowCardinality(String) COMMENT 'JSON object: words of the record, and under "at" which numbers it has, each with its place in numbers from 1',
    numbers Array(UInt32) COMMENT 'Numbers of the record; labels says which' CODEC(ZSTD(1)),
    detail String COMMENT 'JSON object of what labels and numbers can not hold' CODEC(ZSTD(1)),
    inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table; filled by the server' CODEC(Delta, ZSTD(1)),

    provider LowCardinality(String) ALIAS JSONExtractString(labels, 'provider') COMMENT 'Provider of the target, when there are no attempts',
    model_version LowCardinality(String) ALIAS JSONExtractString(labels, 'model_version') COMMENT 'Version of the model',
    route LowCardinality(String) ALIAS JSONExtractString(labels, 'route') COMMENT 'Route of the request',
    app LowCardinality(String) ALIAS JSONExtractString(labels, 'app') COMMENT 'Application that asked',
    region LowCardinality(String) ALIAS JSONExtractString(labels, 'region') COMMENT 'Region of the gateway',
    query_type LowCardinality(String) ALIAS JSONExtractString(labels, 'query_type') COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',
    upstream_sent_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'upstream_sent_us') = 0, JSONExtract(detail, 'upstream_sent_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'upstream_sent_us')]) COMMENT 'Request sent upstream, µs from received_at',
    first_byte_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'first_byte_us') = 0, JSONExtract(detail, 'first_byte_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'first_byte_us')]) COMMENT 'First body byte sent to the client, µs from received_at',
    last_byte_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'last_byte_us') = 0, JSONExtract(detail, 'last_byte_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'last_byte_us')]) COMMENT 'Last body byte sent to the client, µs from received_at',
    cancelled_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'cancelled_us') = 0, JSONExtract(detail, 'cancelled_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'cancelled_us')]) COMMENT 'The client went away, µs from received_at',
    upstream_closed_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'upstream_closed_us') = 0, JSONExtract(detail, 'upstream_closed_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'upstream_closed_us')]) COMMENT 'The leg to the engine ended, µs from received_at',
    queue_wait_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'queue_wait_us') = 0, JSONExtract(detail, 'queue_wait_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'queue_wait_us')]) COMMENT 'Time in the gateway''s queue, µs',
    cache_lookup_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'cache_lookup_us') = 0, JSONExtract(detail, 'cache_lookup_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'cache_lookup_us')]) COMMENT 'Look-up in the response cache, µs',
    cache_result LowCardinality(String) ALIAS JSONExtractString(labels, 'cache_result') COMMENT 'hit, miss, bypass; empty: not known',
    route_decision_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'route_decision_us') = 0, JSONExtract(detail, 'route_decision_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'route_decision_us')]) COMMENT 'Choice of the target, µs',
    overhead_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'overhead_us') = 0, JSONExtract(detail, 'overhead_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'overhead_us')]) COMMENT 'The gateway''s own work, µs, as reported',
    route_policy LowCardinality(String) ALIAS JSONExtractString(labels, 'route_policy') COMMENT 'Policy that chose the target',
    route_candidates Array(String) ALIAS JSONExtract(labels, 'route_candidates', 'Array(String)') COMMENT 'Targets that could be chosen',
    route_chosen LowCardinality(String) ALIAS JSONExtractString(labels, 'route_chosen') COMMENT 'Target that was chosen',
    route_reason LowCardinality(String) ALIAS JSONExtractString(labels, 'route_reason') COMMENT 'Why',
    retries Nullable(UInt32) ALIAS JSONExtract(labels, 'retries', 'Nullable(UInt32)') COMMENT 'Retries on the same target',
    fallbacks Nullable(UInt32) ALIAS JSONExtract(labels, 'fallbacks', 'Nullable(UInt32)') COMMENT 'Moves to another target',
    priority Nullable(Int64) ALIAS JSONExtract(labels, 'priority', 'Nullable(Int64)') COMMENT 'Priority of the request',
    in_flight Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'in_flight') = 0, JSONExtract(detail, 'in_flight', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'in_flight')]) COMMENT 'Requests in flight at arrival',
    queue_depth Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'queue_depth') = 0, JSONExtract(detail, 'queue_depth', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'queue_depth')]) COMMENT 'Requests queued at arrival',
    status Int32 ALIAS JSONExtract(labels, 'status', 'Int32') COMMENT 'HTTP status sent to the client; 0: not known',
    error_type LowCardinality(String) ALIAS JSONExtractString(labels, 'error_type') COMMENT 'Short class of the error; empty: none',
    served_attempt UInt16 ALIAS JSONExtract(labels, 'served_attempt', 'UInt16') COMMENT 'Attempt marked as served; 0: none marked',
    `attempts.attempt` Array(UInt16) ALIAS JSONExtract(labels, 'attempts.attempt', 'Array(UInt16)') COMMENT 'Number of each upstream call',
    `attempts.deployment` Array(String) ALIAS JSONExtract(labels, 'attempts.deployment', 'Array(String)') COMMENT 'Its deployment',
    `attempts.provider` Array(String) ALIAS JSONExtract(labels, 'attempts.provider', 'Array(String)') COMMENT 'Its provider',
    `attempts.model` Array(String) ALIAS JSONExtract(labels, 'attempts.model', 'Array(String)') COMMENT 'Its model',
    `attempts.start_us` Array(Nullable(Int64)) ALIAS if(empty(JSONExtract(labels, 'at', 'attempts.start_us', 'Array(UInt32)')), JSONExtract(detail, 'attempts.start_us', 'Array(Nullable(Int64))'), arrayMap(i -> if(i = 0, NULL, numbers[i]), JSONExtract(labels, 'at', 'attempts.start_us', 'Array(UInt32)'))) COMMENT 'Its start, µs from received_at',
    `attempts.end_us` Array(Nullable(Int64)) ALIAS if(empty(JSONExtract(labels, 'at', 'attempts.end_us', 'Array(UInt32)')), JSONExtract(detail, 'attempts.end_us', 'Array(Nullable(Int64))'), arrayMap(i -> if(i = 0, NULL, numbers[i]), JSONExtract(labels, 'at', 'attempts.end_us', 'Array(UInt32)'))) COMMENT 'Its end, µs from received_at; NULL while it runs',
    `attempts.status` Array(Int32) ALIAS JSONExtract(labels, 'attempts.status', 'Array(Int32)') COMMENT 'Its HTTP status; 0: not known',
    `attempts.error_type` Array(String) ALIAS JSONExtract(labels, 'attempts.error_type', 'Array(String)') COMMENT 'Short class of its error; empty: none',
    `attempts.served` Array(Bool) ALIAS JSONExtract(labels, 'attempts.served', 'Array(Bool)') COMMENT 'The user got this one',
    reported_definition LowCardinality(String) ALIAS JSONExtractString(labels, 'reported_definition') COMMENT 'Definition that the reported_ columns follow; empty: none reported',
    reported_ttft_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_ttft_us') = 0, JSONExtract(detail, 'reported_ttft_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_ttft_us')]) COMMENT 'TTFT as the gateway computed it, µs',
    reported_ttfa_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_ttfa_us') = 0, JSONExtract(detail, 'reported_ttfa_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_ttfa_us')]) COMMENT 'TTFA as the gateway computed it, µs',
    reported_itl_mean_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_itl_mean_us') = 0, JSONExtract(detail, 'reported_itl_mean_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_itl_mean_us')]) COMMENT 'Mean inter-token latency as the gateway computed it, µs',
    reported_tpot_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_tpot_us') = 0, JSONExtract(detail, 'reported_tpot_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_tpot_us')]) COMMENT 'Time per output token as the gateway computed it, µs',
    reported_e2e_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_e2e_us') = 0, JSONExtract(detail, 'reported_e2e_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_e2e_us')]) COMMENT 'Whole duration as the gateway computed it, µs',
    prompt_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'prompt_tokens') = 0, JSONExtract(detail, 'prompt_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'prompt_tokens')]) COMMENT 'Tokens of the prompt',
    output_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'output_tokens') = 0, JSONExtract(detail, 'output_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'output_tokens')]) COMMENT 'Tokens generated',
    response_id String ALIAS JSONExtract(detail, 'response_id', 'String') COMMENT 'Id in the response body',
    trace_id String ALIAS JSONExtract(detail, 'trace_id', 'String') COMMENT 'Trace, 32 hex digits',
    span_id String ALIAS JSONExtract(detail, 'span_id', 'String') COMMENT 'Span, 16 hex digits',
    aliases Array(String) ALIAS JSONExtract(detail, 'aliases', 'Array(String)') COMMENT 'Other names of the request that the record carries',

    INDEX inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1,
    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(received_at)
PRIMARY KEY (tenant, toStartOfHour(received_at), request_id)
ORDER BY (tenant, toStartOfHour(received_at), request_id, emitter, received_at)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Requests as gateways handled them, one row for each record as delivered';
