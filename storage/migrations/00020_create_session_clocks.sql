-- Purpose: what each request of a page's session says of the page's clock, so that a look-up of one request goes by all of
-- its session.
-- Class: metadata-only (new table). The joiner fills it from what the source tables hold.
-- Order: a session's rows lie together by time; the nearest of them are read in order, however many there are. A row
-- replaces the one made of fewer records; reads tell versions apart themselves.

-- +goose Up
CREATE TABLE IF NOT EXISTS session_clocks
(
    tenant LowCardinality(String) COMMENT 'Tenant of the request',
    session_id String COMMENT 'Session of the page' CODEC(ZSTD(1)),
    time_origin UInt64 COMMENT 'Time origin of the page''s clock, µs since 1970' CODEC(ZSTD(1)),
    submit_us UInt64 COMMENT 'Start of the request, µs from the time origin' CODEC(Delta, ZSTD(1)),
    request_id String COMMENT 'Id of the request' CODEC(ZSTD(1)),
    tier LowCardinality(String) COMMENT 'The other process: server or gateway',
    version UInt64 COMMENT 'How many records and chunks it was made of; the greatest holds' CODEC(T64, ZSTD(1)),

    peer LowCardinality(String) COMMENT 'Whose clock it is: emitter and deployment',
    started_at DateTime64(6, 'UTC') COMMENT 'When the request reached the peer, on its clock' CODEC(Delta, ZSTD(1)),
    theta_us Int64 COMMENT 'Base of the bounds of θ = page − peer, µs' CODEC(Delta, ZSTD(1)),
    lower_at_us Array(UInt64) COMMENT 'Instants of the lower bounds, µs from started_at' CODEC(ZSTD(1)),
    lower_us Array(Int32) COMMENT 'Lower bounds, µs from theta_us' CODEC(ZSTD(1)),
    upper_at_us Array(UInt64) COMMENT 'Instants of the upper bounds, µs from started_at' CODEC(ZSTD(1)),
    upper_us Array(Int32) COMMENT 'Upper bounds, µs from theta_us' CODEC(ZSTD(1)),
    wall_us Nullable(Int64) COMMENT 'Page''s wall clock − (time origin + what had passed since), µs' CODEC(ZSTD(1)),

    arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(started_at)
ORDER BY (tenant, session_id, time_origin, submit_us, request_id, tier)
SETTINGS index_granularity = 1024
COMMENT 'Bounds of the clocks of pages, one row for each request and process that it reached';
