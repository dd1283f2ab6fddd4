-- The next requests of a window, newest first, from a position on: the last state of each of which some state fits the
-- filter. Index: the inner query reads the primary key (tenant, started_at, request_id) backwards and stops at the limit;
-- the outer one looks its keys up.
SELECT `tenant`, toUnixTimestamp64Micro(`started_at`), `request_id`, `version`, `gone`, `state`, `provider`, `deployment`, `model`, `model_version`, `route`, `region`, `app`, `query_type`, `page`, `browser`, `country`, `finish_reason`, `error_type`, `cache_hit`, `cache_result`, `served_attempt`, `attempts`, `has_server`, `has_gateway`, `has_client`, `synthetic`, `ttfb_us`, `ttft_us`, `ttfa_us`, `end_us`, `n_chunks`, `n_content`, `tokens`, `prompt_tokens`, `max_gap_us`, `queue_wait_us`, `cache_lookup_us`, `route_decision_us`, `gateway_first_byte_us`, `client_ttft_us`, `perceived_ttft_us`, `gap_us`, `gap_page_us`, `gap_uplink_us`, `gap_gateway_queue_us`, `gap_retries_us`, `gap_upstream_us`, `gap_reasoning_us`, `gap_downlink_us`, `gap_network_us`, `gap_drift_us`, `gap_render_us`, `clock_offset_us`, `clock_uncertainty_us`
FROM requests
WHERE tenant = {tenant:String} AND (started_at, request_id) IN
(
    SELECT started_at, request_id
    FROM requests
    WHERE tenant = {tenant:String}
        AND started_at >= toDateTime64({since:String}, 6, 'UTC') AND started_at < toDateTime64({until:String}, 6, 'UTC')
        AND started_at <= toDateTime64({before:String}, 6, 'UTC')
        AND (started_at, request_id) < (toDateTime64({before:String}, 6, 'UTC'), {before_id:String})
        AND ({provider:String} = '' OR provider = {provider:String})
        AND ({deployment:String} = '' OR deployment = {deployment:String})
        AND ({model:String} = '' OR model = {model:String})
        AND ({app:String} = '' OR app = {app:String})
        AND ({query_type:String} = '' OR query_type = {query_type:String})
        AND ({state:String} = '' OR state = {state:String})
    ORDER BY started_at DESC, request_id DESC
    LIMIT 1 BY started_at, request_id
    LIMIT {limit:UInt32}
)
ORDER BY requests.started_at DESC, request_id DESC, version DESC
LIMIT 1 BY requests.started_at, request_id
