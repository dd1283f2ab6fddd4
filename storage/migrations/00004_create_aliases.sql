-- Purpose: other names of requests (response ids, trace ids, call ids), for look-up by any of them.
-- Class: metadata-only (new table).

-- +goose Up
CREATE TABLE IF NOT EXISTS aliases
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    alias String COMMENT 'A name that a record of the request carried' CODEC(ZSTD(1)),
    request_id String COMMENT 'The request' CODEC(ZSTD(1)),
    kind LowCardinality(String) COMMENT 'response_id, trace_id or alias',
    seen_at DateTime64(6, 'UTC') COMMENT 'Time of the record, for retention' CODEC(T64, ZSTD(1)),
    arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention; filled by the server' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(seen_at)
ORDER BY (tenant, alias, request_id)
COMMENT 'Other names of requests';
