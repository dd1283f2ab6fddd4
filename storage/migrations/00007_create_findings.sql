-- Purpose: what went wrong in requests, one row for each state of a finding as delivered.
-- Class: metadata-only (new table).
-- Order: as for streams. Reads must pick the greatest version of each id.

-- +goose Up
CREATE TABLE IF NOT EXISTS findings
(
    tenant LowCardinality(String) COMMENT 'Tenant the request belongs to',
    request_id String COMMENT 'Request it was found in' CODEC(ZSTD(1)),
    id String COMMENT 'Same each time the same thing is found' CODEC(ZSTD(1)),
    at DateTime64(6, 'UTC') COMMENT 'Instant it began, on the emitter''s clock' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'Of several states of one finding the greatest holds' CODEC(T64, ZSTD(1)),

    origin LowCardinality(String) COMMENT 'stream: found in one stream; join: found between the tiers of a request; target: between the versions of a target',
    kind LowCardinality(String) COMMENT 'stall, loop, slow_start, …',
    grade LowCardinality(String) COMMENT 'Of a stall: hitch, stall, freeze; empty: none',
    tier LowCardinality(String) COMMENT 'Tier it was found in',
    attempt UInt16 COMMENT 'Attempt' CODEC(T64, ZSTD(1)),
    emitter LowCardinality(String) COMMENT 'Program whose record showed it',
    started_at DateTime64(6, 'UTC') COMMENT 'Start of the stream' CODEC(T64, ZSTD(1)),
    channel LowCardinality(String) COMMENT 'content, reasoning, tool',

    chunk Nullable(UInt32) COMMENT 'Content-bearing chunk, from 0, that ended the gap or began the loop' CODEC(ZSTD(1)),
    start_us Int64 COMMENT 'Begin, µs from started_at' CODEC(T64, ZSTD(1)),
    duration_us Int64 COMMENT 'Duration, µs' CODEC(T64, ZSTD(1)),
    open Bool COMMENT 'Still going on',
    withdrawn Bool COMMENT 'Later data explained it away',
    severity LowCardinality(String) COMMENT 'info, warning, critical',
    attribution LowCardinality(String) COMMENT 'engine, gateway, proxy_buffering, network, render, hidden, unknown',
    confidence_permille UInt16 COMMENT 'Confidence, thousandths' CODEC(T64, ZSTD(1)),
    evidence String COMMENT 'JSON object of numbers and names' CODEC(ZSTD(3)),

    provider LowCardinality(String) COMMENT 'Provider of the target',
    deployment LowCardinality(String) COMMENT 'Deployment of the target',
    model LowCardinality(String) COMMENT 'Model of the target',
    model_version LowCardinality(String) COMMENT 'Version of the model',
    query_type LowCardinality(String) COMMENT 'Query type of the request; empty: not known',

    arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1)),
    inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table' CODEC(Delta, ZSTD(1)),

    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(at)
PRIMARY KEY (tenant, toStartOfHour(at), request_id)
ORDER BY (tenant, toStartOfHour(at), request_id, id)
COMMENT 'What went wrong in requests, as delivered';
