-- Purpose: chunk streams of the server and gateway tiers, one row for each stream or segment as delivered.
-- Class: metadata-only (new table).
-- Order: the hour in front keeps a time window's rows together; inside an hour rows are found by request id,
-- and the bloom filter spares look-ups by id the other hours.
-- Granules are small (2048 rows, 1 MiB) and parts compact up to 128 MiB: a look-up takes whole rows of many columns, of
-- which it then decompresses less and opens fewer files.
-- Reads must pick one row (the greatest version) for each identity: merges drop re-deliveries some time later.

-- +goose Up
CREATE TABLE IF NOT EXISTS streams
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    request_id String COMMENT 'Id that joins all tiers of one user-visible question' CODEC(ZSTD(1)),
    tier LowCardinality(String) COMMENT 'Who recorded it: server or gateway',
    attempt UInt16 COMMENT 'Number of the upstream call, from 1' CODEC(T64, ZSTD(1)),
    emitter LowCardinality(String) COMMENT 'Program that made the record',
    started_at DateTime64(6, 'UTC') COMMENT 'Instant the tier got the request, on its own clock' CODEC(T64, ZSTD(1)),
    seq UInt32 COMMENT 'Order of the segments of one stream; 0: the first, or a whole stream' CODEC(T64, ZSTD(1)),
    final Bool COMMENT 'No segment follows',
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),
    start_unknown Bool COMMENT 'started_at is the first chunk''s own time: gaps hold, TTFT is not known',

    provider LowCardinality(String) COMMENT 'Provider of the target',
    deployment LowCardinality(String) COMMENT 'Deployment of the target',
    model LowCardinality(String) COMMENT 'Model of the target',
    model_version LowCardinality(String) COMMENT 'Version of the model',
    route LowCardinality(String) COMMENT 'Route of the request',
    app LowCardinality(String) COMMENT 'Application that asked',
    region LowCardinality(String) COMMENT 'Region of the target',
    query_type LowCardinality(String) COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',

    prompt_tokens Nullable(UInt32) COMMENT 'Tokens of the prompt' CODEC(ZSTD(1)),
    output_tokens Nullable(UInt32) COMMENT 'Tokens generated, as reported' CODEC(ZSTD(1)),
    reasoning_tokens Nullable(UInt32) COMMENT 'Tokens of reasoning among them' CODEC(ZSTD(1)),
    cached_tokens Nullable(UInt32) COMMENT 'Prompt tokens read from the prefix cache' CODEC(ZSTD(1)),

    cache_hit LowCardinality(String) COMMENT 'Prefix cache: none, partial, full; empty: not known',
    cache_level LowCardinality(String) COMMENT 'Where the hit came from: gpu, cpu, disk, remote',
    cache_key_version LowCardinality(String) COMMENT 'Version of the cache key',
    chunk_size Nullable(UInt32) COMMENT 'Chunked-prefill size of the engine, tokens' CODEC(ZSTD(1)),
    max_num_batched_tokens Nullable(UInt32) COMMENT 'Batch limit of the engine, tokens' CODEC(ZSTD(1)),
    spec_draft Nullable(UInt32) COMMENT 'Speculative decoding: tokens drafted' CODEC(ZSTD(1)),
    spec_accepted Nullable(UInt32) COMMENT 'Speculative decoding: tokens accepted' CODEC(ZSTD(1)),
    batch_size Nullable(UInt32) COMMENT 'Requests decoded together' CODEC(ZSTD(1)),

    queue_us Nullable(UInt64) COMMENT 'Engine queue, µs, as the engine reports it' CODEC(ZSTD(1)),
    prefill_us Nullable(UInt64) COMMENT 'Prefill, µs, as the engine reports it' CODEC(ZSTD(1)),
    decode_us Nullable(UInt64) COMMENT 'Decode, µs, as the engine reports it' CODEC(ZSTD(1)),
    ttfb_us Nullable(UInt64) COMMENT 'Response headers, µs from started_at' CODEC(ZSTD(1)),
    end_us Nullable(UInt64) COMMENT 'End of the stream, µs from started_at; NULL while it runs' CODEC(ZSTD(1)),
    observed_us Nullable(UInt64) COMMENT 'The emitter watched the stream up to here, µs from started_at' CODEC(ZSTD(1)),

    first_us UInt64 COMMENT 'Offset of the row''s first chunk, µs from started_at' CODEC(T64, ZSTD(1)),
    gaps_us Array(UInt32) COMMENT 'Times between consecutive chunks of the row, µs; n_chunks - 1 entries' CODEC(T64, ZSTD(1)),
    bytes Array(UInt32) COMMENT 'UTF-8 bytes of generated text in each chunk; empty: not known' CODEC(T64, ZSTD(1)),
    tokens Array(UInt32) COMMENT 'Tokens in each chunk; empty: not known' CODEC(T64, ZSTD(1)),
    kind_runs Array(UInt32) COMMENT 'Runs of chunk kinds, length * 16 + kind (0 content, 1 reasoning, 2 tool, 3 refusal, 4 role, 5 usage, 6 keepalive, 7 error, 8 done); empty: all content' CODEC(ZSTD(1)),
    choices Array(UInt16) COMMENT 'Choice of each chunk (n > 1); empty: all choice 0' CODEC(ZSTD(1)),
    logprobs Array(Float32) COMMENT 'Sum of token log-probabilities of each chunk, NaN: not known; empty: none' CODEC(ZSTD(1)),

    n_chunks UInt32 COMMENT 'Chunks in the row' CODEC(T64, ZSTD(1)),
    n_content UInt32 COMMENT 'Content-bearing chunks in the row' CODEC(T64, ZSTD(1)),
    content_bytes UInt64 COMMENT 'Bytes of generated text in the row' CODEC(T64, ZSTD(1)),
    chunk_tokens Nullable(UInt64) COMMENT 'Sum of tokens; NULL: not known by chunk' CODEC(ZSTD(1)),
    first_content_us Nullable(UInt64) COMMENT 'First content-bearing chunk of the row, µs from started_at' CODEC(ZSTD(1)),
    first_answer_us Nullable(UInt64) COMMENT 'First answer chunk of the row, µs from started_at' CODEC(ZSTD(1)),
    last_content_us Nullable(UInt64) COMMENT 'Last content-bearing chunk of the row, µs from started_at' CODEC(ZSTD(1)),
    max_gap_us UInt32 COMMENT 'Longest gap between content-bearing chunks of the row, µs' CODEC(T64, ZSTD(1)),
    max_gap_chunk UInt32 COMMENT 'Content-bearing chunk that ended it, counted from 0 in the row' CODEC(T64, ZSTD(1)),
    p50_gap_us UInt32 COMMENT 'Median gap between content-bearing chunks of the row, µs' CODEC(T64, ZSTD(1)),
    p99_gap_us UInt32 COMMENT '99th percentile gap (nearest rank) of the row, µs' CODEC(T64, ZSTD(1)),

    reported_definition LowCardinality(String) COMMENT 'Definition that the reported_ columns follow: vllm_api, aiperf, …; empty: none reported',
    reported_ttft_us Nullable(UInt64) COMMENT 'TTFT as the emitter computed it, µs' CODEC(ZSTD(1)),
    reported_ttfa_us Nullable(UInt64) COMMENT 'TTFA as the emitter computed it, µs' CODEC(ZSTD(1)),
    reported_itl_mean_us Nullable(UInt64) COMMENT 'Mean inter-token latency as the emitter computed it, µs' CODEC(ZSTD(1)),
    reported_tpot_us Nullable(UInt64) COMMENT 'Time per output token as the emitter computed it, µs' CODEC(ZSTD(1)),
    reported_e2e_us Nullable(UInt64) COMMENT 'Whole duration as the emitter computed it, µs' CODEC(ZSTD(1)),
    synthetic Bool COMMENT 'Chunk times were made from a stated model, not measured',

    finish_reason LowCardinality(String) COMMENT 'Why the stream ended, in the emitter''s word',
    stop_reason LowCardinality(String) COMMENT 'The engine''s detail of it',
    error_type LowCardinality(String) COMMENT 'Short class of the error; empty: none',
    status Int32 COMMENT 'HTTP status; 0: not known' CODEC(T64, ZSTD(1)),
    response_id String COMMENT 'Id in the response body' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace, 32 hex digits' CODEC(ZSTD(1)),
    span_id String COMMENT 'Span, 16 hex digits' CODEC(ZSTD(1)),
    aliases Array(String) COMMENT 'Other names of the request that the record carries' CODEC(ZSTD(1)),

    ttft_us Nullable(UInt64) ALIAS if(start_unknown OR seq > 0, NULL, first_content_us) COMMENT 'TTFT of a whole stream, µs; NULL in segments that follow and where the start is not known',
    ttfa_us Nullable(UInt64) ALIAS if(start_unknown OR seq > 0, NULL, first_answer_us) COMMENT 'TTFA of a whole stream, µs; NULL likewise',

    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(started_at)
PRIMARY KEY (tenant, toStartOfHour(started_at), request_id)
ORDER BY (tenant, toStartOfHour(started_at), request_id, tier, attempt, emitter, started_at, seq)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Server and gateway chunk streams as delivered, one row for each stream or segment';
