-- All gateway records of some request ids. Deliveries of one identity are told apart by Assemble.
-- Index: as streams_by_id.
SELECT `tenant`, `request_id`, `emitter`, toUnixTimestamp64Micro(`received_at`), `version`, `provider`, `deployment`, `model`, `model_version`, `route`, `app`, `region`, `query_type`, `upstream_sent_us`, `first_byte_us`, `last_byte_us`, `cancelled_us`, `upstream_closed_us`, `queue_wait_us`, `cache_lookup_us`, `cache_result`, `route_decision_us`, `overhead_us`, `route_policy`, `route_candidates`, `route_chosen`, `route_reason`, `retries`, `fallbacks`, `priority`, `in_flight`, `queue_depth`, `status`, `error_type`, `served_attempt`, `attempts.attempt`, `attempts.deployment`, `attempts.provider`, `attempts.model`, `attempts.start_us`, `attempts.end_us`, `attempts.status`, `attempts.error_type`, `attempts.served`, `reported_definition`, `reported_ttft_us`, `reported_ttfa_us`, `reported_itl_mean_us`, `reported_tpot_us`, `reported_e2e_us`, `prompt_tokens`, `output_tokens`, `response_id`, `trace_id`, `span_id`, `aliases`
FROM gateways
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
LIMIT {limit:UInt32}
