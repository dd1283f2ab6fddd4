-- Purpose: requests as gateways handled them, one row for each record as delivered.
-- Class: metadata-only (new table).
-- Order and re-delivery: as for streams.

-- +goose Up
CREATE TABLE IF NOT EXISTS gateways
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    request_id String COMMENT 'Id that joins all tiers of one user-visible question' CODEC(ZSTD(1)),
    emitter LowCardinality(String) COMMENT 'Gateway product or instance',
    received_at DateTime64(6, 'UTC') COMMENT 'Instant the gateway got the request, on its own clock' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),

    provider LowCardinality(String) COMMENT 'Provider of the target, when there are no attempts',
    deployment LowCardinality(String) COMMENT 'Deployment of the target, when there are no attempts',
    model LowCardinality(String) COMMENT 'Model of the target, when there are no attempts',
    model_version LowCardinality(String) COMMENT 'Version of the model',
    route LowCardinality(String) COMMENT 'Route of the request',
    app LowCardinality(String) COMMENT 'Application that asked',
    region LowCardinality(String) COMMENT 'Region of the gateway',
    query_type LowCardinality(String) COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',

    upstream_sent_us Nullable(Int64) COMMENT 'Request sent upstream, µs from received_at' CODEC(ZSTD(1)),
    first_byte_us Nullable(Int64) COMMENT 'First body byte sent to the client, µs from received_at' CODEC(ZSTD(1)),
    last_byte_us Nullable(Int64) COMMENT 'Last body byte sent to the client, µs from received_at' CODEC(ZSTD(1)),
    cancelled_us Nullable(Int64) COMMENT 'The client went away, µs from received_at' CODEC(ZSTD(1)),
    upstream_closed_us Nullable(Int64) COMMENT 'The leg to the engine ended, µs from received_at' CODEC(ZSTD(1)),

    queue_wait_us Nullable(UInt64) COMMENT 'Time in the gateway''s queue, µs' CODEC(ZSTD(1)),
    cache_lookup_us Nullable(UInt64) COMMENT 'Look-up in the response cache, µs' CODEC(ZSTD(1)),
    cache_result LowCardinality(String) COMMENT 'hit, miss, bypass; empty: not known',
    route_decision_us Nullable(UInt64) COMMENT 'Choice of the target, µs' CODEC(ZSTD(1)),
    overhead_us Nullable(UInt64) COMMENT 'The gateway''s own work, µs, as reported' CODEC(ZSTD(1)),

    route_policy LowCardinality(String) COMMENT 'Policy that chose the target',
    route_candidates Array(LowCardinality(String)) COMMENT 'Targets that could be chosen',
    route_chosen LowCardinality(String) COMMENT 'Target that was chosen',
    route_reason LowCardinality(String) COMMENT 'Why',

    retries Nullable(UInt32) COMMENT 'Retries on the same target' CODEC(ZSTD(1)),
    fallbacks Nullable(UInt32) COMMENT 'Moves to another target' CODEC(ZSTD(1)),
    priority Nullable(Int64) COMMENT 'Priority of the request' CODEC(ZSTD(1)),
    in_flight Nullable(UInt32) COMMENT 'Requests in flight at arrival' CODEC(ZSTD(1)),
    queue_depth Nullable(UInt32) COMMENT 'Requests queued at arrival' CODEC(ZSTD(1)),
    status Int32 COMMENT 'HTTP status sent to the client; 0: not known' CODEC(T64, ZSTD(1)),
    error_type LowCardinality(String) COMMENT 'Short class of the error; empty: none',

    served_attempt UInt16 COMMENT 'Attempt marked as served; 0: none marked' CODEC(T64, ZSTD(1)),
    `attempts.attempt` Array(UInt16) COMMENT 'Number of each upstream call' CODEC(ZSTD(1)),
    `attempts.deployment` Array(LowCardinality(String)) COMMENT 'Its deployment',
    `attempts.provider` Array(LowCardinality(String)) COMMENT 'Its provider',
    `attempts.model` Array(LowCardinality(String)) COMMENT 'Its model',
    `attempts.start_us` Array(Nullable(Int64)) COMMENT 'Its start, µs from received_at' CODEC(ZSTD(1)),
    `attempts.end_us` Array(Nullable(Int64)) COMMENT 'Its end, µs from received_at; NULL while it runs' CODEC(ZSTD(1)),
    `attempts.status` Array(Int32) COMMENT 'Its HTTP status; 0: not known' CODEC(ZSTD(1)),
    `attempts.error_type` Array(LowCardinality(String)) COMMENT 'Short class of its error; empty: none',
    `attempts.served` Array(Bool) COMMENT 'The user got this one',

    reported_definition LowCardinality(String) COMMENT 'Definition that the reported_ columns follow; empty: none reported',
    reported_ttft_us Nullable(UInt64) COMMENT 'TTFT as the gateway computed it, µs' CODEC(ZSTD(1)),
    reported_ttfa_us Nullable(UInt64) COMMENT 'TTFA as the gateway computed it, µs' CODEC(ZSTD(1)),
    reported_itl_mean_us Nullable(UInt64) COMMENT 'Mean inter-token latency as the gateway computed it, µs' CODEC(ZSTD(1)),
    reported_tpot_us Nullable(UInt64) COMMENT 'Time per output token as the gateway computed it, µs' CODEC(ZSTD(1)),
    reported_e2e_us Nullable(UInt64) COMMENT 'Whole duration as the gateway computed it, µs' CODEC(ZSTD(1)),

    prompt_tokens Nullable(UInt32) COMMENT 'Tokens of the prompt' CODEC(ZSTD(1)),
    output_tokens Nullable(UInt32) COMMENT 'Tokens generated' CODEC(ZSTD(1)),

    response_id String COMMENT 'Id in the response body' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace, 32 hex digits' CODEC(ZSTD(1)),
    span_id String COMMENT 'Span, 16 hex digits' CODEC(ZSTD(1)),
    aliases Array(String) COMMENT 'Other names of the request that the record carries' CODEC(ZSTD(1)),

    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(received_at)
PRIMARY KEY (tenant, toStartOfHour(received_at), request_id)
ORDER BY (tenant, toStartOfHour(received_at), request_id, emitter, received_at)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Requests as gateways handled them, one row for each record as delivered';
