-- Purpose: requests, one lean row for each state of a joined request, written by the joiner from Go's requests.Assemble; the
-- view joined_requests, its rows of a tenant and time window as they are now; how far the joiner is.
-- Class: metadata-only (new tables, a view). The joiner fills them from what the source tables hold.
--
--   SELECT model, quantile(0.99)(gap_us)
--   FROM joined_requests(tenant = 'default', since = '2026-10-01 10:00:00', until = '2026-10-01 11:00:00')
--   GROUP BY model
--
-- Order: by time. The parts of a window then hardly overlap once they are merged, and FINAL has little to do: it costs two
-- or three times a read without it, where a key of hour and id costs six times. A state replaces the one before, which has
-- the same started_at and request_id and a smaller version; a request whose started_at moved leaves a row that is gone at
-- the old place. Every read picks the greatest version itself: merges drop the others some time later.
-- The source tables stay the truth: a look-up by id reads them.

-- +goose Up
CREATE TABLE IF NOT EXISTS requests
(
    tenant LowCardinality(String) COMMENT 'Tenant of the request',
    started_at DateTime64(6, 'UTC') COMMENT 'Its start: on the server''s clock, else the gateway''s, else the page''s by the receiver''s clock, else the arrival of the page''s record' CODEC(Delta, ZSTD(1)),
    request_id String COMMENT 'Id of the request' CODEC(ZSTD(1)),
    version UInt64 COMMENT 'When the state was read, µs since the Unix epoch; the greatest holds' CODEC(Delta, ZSTD(1)),
    gone Bool COMMENT 'The request is no longer here: its start moved',

    state LowCardinality(String) COMMENT 'running, completed, failed, aborted',
    provider LowCardinality(String) COMMENT 'Provider of the served attempt''s target',
    deployment LowCardinality(String) COMMENT 'Its deployment',
    model LowCardinality(String) COMMENT 'Its model',
    model_version LowCardinality(String) COMMENT 'Version of the model',
    route LowCardinality(String) COMMENT 'Route of the request',
    region LowCardinality(String) COMMENT 'Region of the target, else of the gateway',
    app LowCardinality(String) COMMENT 'Application that asked',
    query_type LowCardinality(String) COMMENT 'short_qa, long_form, code_completion, translate_summarize, other',
    page LowCardinality(String) COMMENT 'Page that asked',
    browser LowCardinality(String) COMMENT 'Its browser',
    country LowCardinality(String) COMMENT 'Its country',
    finish_reason LowCardinality(String) COMMENT 'Why the served attempt''s stream ended',
    error_type LowCardinality(String) COMMENT 'Short class of its error; empty: none',
    cache_hit LowCardinality(String) COMMENT 'Prefix cache of the served attempt: none, partial, full; empty: not known',
    cache_result LowCardinality(String) COMMENT 'Response cache of the gateway: hit, miss, bypass; empty: not known',

    served_attempt UInt16 COMMENT 'Attempt that the user got; 0: not known' CODEC(T64, ZSTD(1)),
    attempts UInt16 COMMENT 'Attempts known' CODEC(T64, ZSTD(1)),
    has_server Bool COMMENT 'A server''s stream is known',
    has_gateway Bool COMMENT 'A gateway''s record is known',
    has_client Bool COMMENT 'A page''s record is known',
    synthetic Bool COMMENT 'The served attempt''s chunk times were made from a stated model, not measured',

    ttfb_us Nullable(UInt64) COMMENT 'Response headers of the served attempt''s server, µs from its start' CODEC(T64, ZSTD(1)),
    ttft_us Nullable(UInt64) COMMENT 'Its TTFT, µs' CODEC(T64, ZSTD(1)),
    ttfa_us Nullable(UInt64) COMMENT 'Its TTFA, µs' CODEC(T64, ZSTD(1)),
    end_us Nullable(UInt64) COMMENT 'Its end, µs from its start' CODEC(T64, ZSTD(1)),
    n_chunks Nullable(UInt32) COMMENT 'Its chunks' CODEC(T64, ZSTD(1)),
    n_content Nullable(UInt32) COMMENT 'Its content-bearing chunks' CODEC(T64, ZSTD(1)),
    tokens Nullable(UInt64) COMMENT 'Its output tokens, as reported, else the sum over chunks' CODEC(T64, ZSTD(1)),
    prompt_tokens Nullable(UInt32) COMMENT 'Tokens of its prompt' CODEC(T64, ZSTD(1)),
    max_gap_us Nullable(UInt64) COMMENT 'Its longest gap between content-bearing chunks, µs' CODEC(T64, ZSTD(1)),
    queue_wait_us Nullable(UInt64) COMMENT 'Time in the gateway''s queue, µs' CODEC(T64, ZSTD(1)),
    cache_lookup_us Nullable(UInt64) COMMENT 'The gateway''s look-up in its response cache, µs' CODEC(T64, ZSTD(1)),
    route_decision_us Nullable(UInt64) COMMENT 'The gateway''s choice of the target, µs' CODEC(T64, ZSTD(1)),
    gateway_first_byte_us Nullable(Int64) COMMENT 'First body byte sent by the gateway, µs from its receipt of the request' CODEC(T64, ZSTD(1)),
    client_ttft_us Nullable(Int64) COMMENT 'Submit event → first chunk received by the page, µs' CODEC(T64, ZSTD(1)),
    perceived_ttft_us Nullable(Int64) COMMENT 'Submit event → first meaningful paint, µs' CODEC(T64, ZSTD(1)),
    gap_us Nullable(Int64) COMMENT 'perceived_ttft_us − ttft_us' CODEC(T64, ZSTD(1)),
    clock_offset_us Nullable(Int64) COMMENT 'Page''s clock − server''s clock, µs' CODEC(T64, ZSTD(1)),
    clock_uncertainty_us Nullable(UInt64) COMMENT '± of clock_offset_us, µs' CODEC(T64, ZSTD(1)),

    arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1)),

    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(started_at)
ORDER BY (tenant, started_at, request_id)
SETTINGS index_granularity = 2048
COMMENT 'Joined requests, one row for each state of one as the joiner wrote it';

CREATE OR REPLACE VIEW joined_requests AS
SELECT
    request_id, started_at, state, served_attempt, attempts, has_server, has_gateway, has_client, synthetic,
    provider, deployment, model, model_version, route, region, app, query_type, finish_reason, error_type, cache_hit, cache_result,
    ttfb_us, ttft_us, ttfa_us, end_us, n_chunks, n_content, tokens, prompt_tokens, max_gap_us,
    queue_wait_us, cache_lookup_us, route_decision_us, gateway_first_byte_us, client_ttft_us, perceived_ttft_us, gap_us,
    clock_offset_us, clock_uncertainty_us, page, browser, country
FROM requests FINAL
WHERE tenant = {tenant:String}
    AND started_at >= {since:DateTime64(6, 'UTC')} AND started_at < {until:DateTime64(6, 'UTC')}
    AND NOT gone;

CREATE TABLE IF NOT EXISTS joiner_progress
(
    name LowCardinality(String) COMMENT 'What the position is of: requests',
    handled Int64 COMMENT 'Everything that arrived before this second is joined, seconds since the Unix epoch on the database''s clock' CODEC(ZSTD(1)),
    saved_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the position was saved; the latest holds' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(saved_at)
ORDER BY name
COMMENT 'How far the joiner is; everything is joined anew where this is lost';
