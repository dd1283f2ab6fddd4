-- Purpose: chunk streams of the server and gateway tiers, one row for each stream or segment as delivered.
-- Class: metadata-only (new table).
-- Order: the hour in front keeps a time window's rows together; inside an hour rows are found by request id,
-- and the bloom filter spares look-ups by id the other hours.
-- Granules are small (2048 rows, 1 MiB) and parts compact up to 128 MiB: a look-up takes whole rows of many columns, of
-- which it then decompresses less and opens fewer files.
-- Reads must pick one row (the greatest version) for each identity: merges drop re-deliveries some time later.
-- Columns: what keys, joins and hot filters need, and the arrays. A column costs an insert and a merge the same whatever it
-- holds, so the rest is packed into labels, numbers and detail (package storage/table), and computed by name from there.

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
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),
    deployment LowCardinality(String) COMMENT 'Deployment of the target',
    model LowCardinality(String) COMMENT 'Model of the target',
    gaps_us Array(UInt32) COMMENT 'Times between consecutive chunks of the row, µs; n_chunks - 1 entries' CODEC(T64, ZSTD(1)),
    bytes Array(UInt32) COMMENT 'UTF-8 bytes of generated text in each chunk; empty: not known' CODEC(T64, ZSTD(1)),
    tokens Array(UInt32) COMMENT 'Tokens in each chunk; empty: not known' CODEC(T64, ZSTD(1)),
    kind_runs Array(UInt32) COMMENT 'Runs of chunk kinds, length * 16 + kind (0 content, 1 reasoning, 2 tool, 3 refusal, 4 role, 5 usage, 6 keepalive, 7 error, 8 done); empty: all content' CODEC(ZSTD(1)),
    max_gap_us UInt32 COMMENT 'Longest gap between content-bearing chunks of the row, µs' CODEC(T64, ZSTD(1)),
    labels LowCardinality(String) COMMENT 'JSON object: words of the record, and under "at" which numbers it has, each with its place in numbers from 1',
    numbers Array(UInt32) COMMENT 'Numbers of the record; labels says which' CODEC(ZSTD(1)),
    detail String COMMENT 'JSON object of what labels and numbers can not hold' CODEC(ZSTD(1)),
    chunk_detail String COMMENT 'JSON object of rare values of each chunk' CODEC(ZSTD(1)),
    inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table; filled by the server' CODEC(Delta, ZSTD(1)),

    kinds Array(UInt8) ALIAS arrayFlatten(arrayMap(r -> arrayWithConstant(bitShiftRight(r, 4), bitAnd(r, 15)), kind_runs)) COMMENT 'Kind of each chunk; empty: all content',
    icl_us Array(UInt32) ALIAS
        if(n_content = n_chunks, gaps_us,
            CAST(arrayPopFront(arrayDifference(arrayFilter(
                (t, i) -> (empty(kind_runs) OR kinds[i] <= 3) AND (empty(bytes) OR bytes[i] > 0 OR (notEmpty(tokens) AND tokens[i] > 0)),
                arrayCumSum(arrayPushFront(gaps_us, 0)), arrayEnumerate(arrayPushFront(gaps_us, 0))))), 'Array(UInt32)'))
        COMMENT 'ICL: gaps between consecutive content-bearing chunks of the row, µs; empty once the gaps are no longer kept',
    final Bool ALIAS bitTest(version, 40) COMMENT 'No segment follows',
    start_unknown Bool ALIAS JSONExtract(labels, 'start_unknown', 'Bool') COMMENT 'started_at is the first chunk''s own time: gaps hold, TTFT is not known',
    provider LowCardinality(String) ALIAS JSONExtractString(labels, 'provider') COMMENT 'Provider of the target',
    model_version LowCardinality(String) ALIAS JSONExtractString(labels, 'model_version') COMMENT 'Version of the model',
    route LowCardinality(String) ALIAS JSONExtractString(labels, 'route') COMMENT 'Route of the request',
    app LowCardinality(String) ALIAS JSONExtractString(labels, 'app') COMMENT 'Application that asked',
    region LowCardinality(String) ALIAS JSONExtractString(labels, 'region') COMMENT 'Region of the target',
    query_type LowCardinality(String) ALIAS JSONExtractString(labels, 'query_type') COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',
    prompt_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'prompt_tokens') = 0, JSONExtract(detail, 'prompt_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'prompt_tokens')]) COMMENT 'Tokens of the prompt',
    output_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'output_tokens') = 0, JSONExtract(detail, 'output_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'output_tokens')]) COMMENT 'Tokens generated, as reported',
    reasoning_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'reasoning_tokens') = 0, JSONExtract(detail, 'reasoning_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'reasoning_tokens')]) COMMENT 'Tokens of reasoning among them',
    cached_tokens Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'cached_tokens') = 0, JSONExtract(detail, 'cached_tokens', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'cached_tokens')]) COMMENT 'Prompt tokens read from the prefix cache',
    cache_hit LowCardinality(String) ALIAS JSONExtractString(labels, 'cache_hit') COMMENT 'Prefix cache: none, partial, full; empty: not known',
    cache_level LowCardinality(String) ALIAS JSONExtractString(labels, 'cache_level') COMMENT 'Where the hit came from: gpu, cpu, disk, remote',
    cache_key_version LowCardinality(String) ALIAS JSONExtractString(labels, 'cache_key_version') COMMENT 'Version of the cache key',
    chunk_size Nullable(UInt32) ALIAS JSONExtract(labels, 'chunk_size', 'Nullable(UInt32)') COMMENT 'Chunked-prefill size of the engine, tokens',
    max_num_batched_tokens Nullable(UInt32) ALIAS JSONExtract(labels, 'max_num_batched_tokens', 'Nullable(UInt32)') COMMENT 'Batch limit of the engine, tokens',
    spec_draft Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'spec_draft') = 0, JSONExtract(detail, 'spec_draft', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'spec_draft')]) COMMENT 'Speculative decoding: tokens drafted',
    spec_accepted Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'spec_accepted') = 0, JSONExtract(detail, 'spec_accepted', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'spec_accepted')]) COMMENT 'Speculative decoding: tokens accepted',
    batch_size Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'batch_size') = 0, JSONExtract(detail, 'batch_size', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'batch_size')]) COMMENT 'Requests decoded together',
    queue_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'queue_us') = 0, JSONExtract(detail, 'queue_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'queue_us')]) COMMENT 'Engine queue, µs, as the engine reports it',
    prefill_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'prefill_us') = 0, JSONExtract(detail, 'prefill_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'prefill_us')]) COMMENT 'Prefill, µs, as the engine reports it',
    decode_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'decode_us') = 0, JSONExtract(detail, 'decode_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'decode_us')]) COMMENT 'Decode, µs, as the engine reports it',
    ttfb_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'ttfb_us') = 0, JSONExtract(detail, 'ttfb_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'ttfb_us')]) COMMENT 'Response headers, µs from started_at',
    end_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'end_us') = 0, JSONExtract(detail, 'end_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'end_us')]) COMMENT 'End of the stream, µs from started_at; NULL while it runs',
    observed_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'observed_us') = 0, JSONExtract(detail, 'observed_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'observed_us')]) COMMENT 'The emitter watched the stream up to here, µs from started_at',
    lost_chunks Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'lost_chunks') = 0, JSONExtract(detail, 'lost_chunks', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'lost_chunks')]) COMMENT 'Chunks that the emitter saw and could not hand on as they were; NULL: none',
    first_us UInt64 ALIAS if(JSONExtractUInt(labels, 'at', 'first_us') = 0, JSONExtract(detail, 'first_us', 'UInt64'), numbers[JSONExtractUInt(labels, 'at', 'first_us')]) COMMENT 'Offset of the row''s first chunk, µs from started_at',
    choices Array(UInt16) ALIAS JSONExtract(chunk_detail, 'choices', 'Array(UInt16)') COMMENT 'Choice of each chunk (n > 1); empty: all choice 0',
    logprobs Array(Float32) ALIAS arrayMap(x -> ifNull(x, nan), JSONExtract(chunk_detail, 'logprobs', 'Array(Nullable(Float32))')) COMMENT 'Sum of token log-probabilities of each chunk, NaN: not known; empty: none',
    n_chunks UInt32 ALIAS toUInt32(bitAnd(bitShiftRight(version, 16), 16777215)) COMMENT 'Chunks in the row',
    n_content UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'n_content') = 0, JSONExtract(detail, 'n_content', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'n_content')]) COMMENT 'Content-bearing chunks in the row',
    content_bytes UInt64 ALIAS if(n_content = n_chunks, arraySum(bytes), arraySum((b, i) -> if(empty(kind_runs) OR kinds[i] <= 3, b, 0), bytes, arrayEnumerate(bytes))) COMMENT 'Bytes of generated text in the row',
    chunk_tokens Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'chunk_tokens') = 0, JSONExtract(detail, 'chunk_tokens', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'chunk_tokens')]) COMMENT 'Sum of tokens; NULL: not known by chunk',
    first_content_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'first_content_us') = 0, JSONExtract(detail, 'first_content_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'first_content_us')]) COMMENT 'First content-bearing chunk of the row, µs from started_at',
    first_answer_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'first_answer_us') = 0, JSONExtract(detail, 'first_answer_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'first_answer_us')]) COMMENT 'First answer chunk of the row, µs from started_at',
    last_content_us Nullable(UInt64) ALIAS if(n_content = 0, NULL, first_content_us + arraySum(icl_us)) COMMENT 'Last content-bearing chunk of the row, µs from started_at',
    max_gap_chunk UInt32 ALIAS toUInt32(indexOf(icl_us, max_gap_us)) COMMENT 'Content-bearing chunk that ended it, counted from 0 in the row',
    p50_gap_us UInt32 ALIAS arraySort(icl_us)[intDiv(length(icl_us) * 50 + 99, 100)] COMMENT 'Median gap between content-bearing chunks of the row, µs',
    p99_gap_us UInt32 ALIAS arraySort(icl_us)[intDiv(length(icl_us) * 99 + 99, 100)] COMMENT '99th percentile gap (nearest rank) of the row, µs',
    reported_definition LowCardinality(String) ALIAS JSONExtractString(labels, 'reported_definition') COMMENT 'Definition that the reported_ columns follow: vllm_api, aiperf, …; empty: none reported',
    reported_ttft_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_ttft_us') = 0, JSONExtract(detail, 'reported_ttft_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_ttft_us')]) COMMENT 'TTFT as the emitter computed it, µs',
    reported_ttfa_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_ttfa_us') = 0, JSONExtract(detail, 'reported_ttfa_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_ttfa_us')]) COMMENT 'TTFA as the emitter computed it, µs',
    reported_itl_mean_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_itl_mean_us') = 0, JSONExtract(detail, 'reported_itl_mean_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_itl_mean_us')]) COMMENT 'Mean inter-token latency as the emitter computed it, µs',
    reported_tpot_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_tpot_us') = 0, JSONExtract(detail, 'reported_tpot_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_tpot_us')]) COMMENT 'Time per output token as the emitter computed it, µs',
    reported_e2e_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'reported_e2e_us') = 0, JSONExtract(detail, 'reported_e2e_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'reported_e2e_us')]) COMMENT 'Whole duration as the emitter computed it, µs',
    synthetic Bool ALIAS JSONExtract(labels, 'synthetic', 'Bool') COMMENT 'Chunk times were made from a stated model, not measured',
    finish_reason LowCardinality(String) ALIAS JSONExtractString(labels, 'finish_reason') COMMENT 'Why the stream ended, in the emitter''s word',
    stop_reason LowCardinality(String) ALIAS JSONExtractString(labels, 'stop_reason') COMMENT 'The engine''s detail of it',
    error_type LowCardinality(String) ALIAS JSONExtractString(labels, 'error_type') COMMENT 'Short class of the error; empty: none',
    status Int32 ALIAS JSONExtract(labels, 'status', 'Int32') COMMENT 'HTTP status; 0: not known',
    response_id String ALIAS JSONExtract(detail, 'response_id', 'String') COMMENT 'Id in the response body',
    trace_id String ALIAS JSONExtract(detail, 'trace_id', 'String') COMMENT 'Trace, 32 hex digits',
    span_id String ALIAS JSONExtract(detail, 'span_id', 'String') COMMENT 'Span, 16 hex digits',
    aliases Array(String) ALIAS JSONExtract(detail, 'aliases', 'Array(String)') COMMENT 'Other names of the request that the record carries',
    ttft_us Nullable(UInt64) ALIAS if(start_unknown OR seq > 0, NULL, first_content_us) COMMENT 'TTFT of a whole stream, µs; NULL in segments that follow and where the start is not known',
    ttfa_us Nullable(UInt64) ALIAS if(start_unknown OR seq > 0, NULL, first_answer_us) COMMENT 'TTFA of a whole stream, µs; NULL likewise',

    INDEX inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1,
    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(started_at)
PRIMARY KEY (tenant, toStartOfHour(started_at), request_id)
ORDER BY (tenant, toStartOfHour(started_at), request_id, tier, attempt, emitter, started_at, seq)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Server and gateway chunk streams as delivered, one row for each stream or segment';
