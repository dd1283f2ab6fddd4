-- Purpose: the parts of the gap between what a user felt and what the server measured, for windows: which leg got slower.
-- They add up to gap_us (NULL: no such part); those between two clocks are good to ± clock_uncertainty_us.
-- Class: metadata-only (new columns, a view). Rows written before have none until their request is joined again.

-- +goose Up
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_page_us Nullable(Int64) COMMENT 'Part of gap_us: submit event → request sent, µs' CODEC(T64, ZSTD(1)) AFTER gap_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_uplink_us Nullable(Int64) COMMENT 'Part of gap_us: request sent → got by the gateway, else by the server, µs' CODEC(T64, ZSTD(1)) AFTER gap_page_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_gateway_queue_us Nullable(Int64) COMMENT 'Part of gap_us: got by the gateway → first sent on, µs' CODEC(T64, ZSTD(1)) AFTER gap_uplink_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_retries_us Nullable(Int64) COMMENT 'Part of gap_us: first sent on → sent on to the server that served, µs' CODEC(T64, ZSTD(1)) AFTER gap_gateway_queue_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_upstream_us Nullable(Int64) COMMENT 'Part of gap_us: way from gateway to server and back, µs' CODEC(T64, ZSTD(1)) AFTER gap_retries_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_reasoning_us Nullable(Int64) COMMENT 'Part of gap_us: first chunk of the server → its first chunk of the answer, µs' CODEC(T64, ZSTD(1)) AFTER gap_upstream_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_downlink_us Nullable(Int64) COMMENT 'Part of gap_us: first of the answer sent by gateway or server → received, µs' CODEC(T64, ZSTD(1)) AFTER gap_reasoning_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_network_us Nullable(Int64) COMMENT 'Part of gap_us: uplink and downlink together, where no clock tells them apart, µs' CODEC(T64, ZSTD(1)) AFTER gap_downlink_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_drift_us Nullable(Int64) COMMENT 'Part of gap_us: what the two clocks ran apart in the meantime, µs' CODEC(T64, ZSTD(1)) AFTER gap_network_us;
ALTER TABLE requests ADD COLUMN IF NOT EXISTS gap_render_us Nullable(Int64) COMMENT 'Part of gap_us: received → painted, µs' CODEC(T64, ZSTD(1)) AFTER gap_drift_us;

CREATE OR REPLACE VIEW joined_requests AS
SELECT
    request_id, started_at, state, served_attempt, attempts, has_server, has_gateway, has_client, synthetic,
    provider, deployment, model, model_version, route, region, app, query_type, finish_reason, error_type, cache_hit, cache_result,
    ttfb_us, ttft_us, ttfa_us, end_us, n_chunks, n_content, tokens, prompt_tokens, max_gap_us,
    queue_wait_us, cache_lookup_us, route_decision_us, gateway_first_byte_us, client_ttft_us, perceived_ttft_us, gap_us,
    gap_page_us, gap_uplink_us, gap_gateway_queue_us, gap_retries_us, gap_upstream_us,
    gap_reasoning_us, gap_downlink_us, gap_network_us, gap_drift_us, gap_render_us,
    clock_offset_us, clock_uncertainty_us, page, browser, country
FROM requests FINAL
WHERE tenant = {tenant:String}
    AND started_at >= {since:DateTime64(6, 'UTC')} AND started_at < {until:DateTime64(6, 'UTC')}
    AND NOT gone;
