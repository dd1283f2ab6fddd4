-- Purpose: inter-chunk latency by target and minute, for windows of any number of chunks.
-- Class: metadata-only (new table); storage/rollups fills it.
--
-- A minute is computed anew as a whole when a record of it arrived, so re-deliveries and late records can't count
-- twice, as they would in a materialized view. Reads take the greatest generation of each minute.

-- +goose Up
CREATE TABLE IF NOT EXISTS icl_minute
(
    tenant LowCardinality(String) COMMENT 'Tenant',
    minute DateTime('UTC') COMMENT 'Minute in which the streams started' CODEC(Delta, ZSTD(1)),
    provider LowCardinality(String) COMMENT 'Provider of the target',
    deployment LowCardinality(String) COMMENT 'Deployment of the target',
    model LowCardinality(String) COMMENT 'Model of the target',
    model_version LowCardinality(String) COMMENT 'Version of the model',
    generation DateTime64(6, 'UTC') COMMENT 'When the minute was computed; the greatest of a minute holds' CODEC(Delta, ZSTD(1)),
    streams UInt64 COMMENT 'Attempts with a server stream' CODEC(T64, ZSTD(1)),
    chunks UInt64 COMMENT 'Content-bearing chunks' CODEC(T64, ZSTD(1)),
    max_gap_us UInt32 COMMENT 'Longest gap, µs' CODEC(T64, ZSTD(1)),
    icl AggregateFunction(quantilesDDArray(0.005, 0.5, 0.9, 0.95, 0.99), Array(UInt32)) COMMENT 'Sketch of all gaps, µs, relative error 0.5 %' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(generation)
PARTITION BY toYYYYMM(minute)
ORDER BY (tenant, minute, provider, deployment, model, model_version)
COMMENT 'Inter-chunk latency by target and minute';
