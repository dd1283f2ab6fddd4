-- All delivered segments of some request ids, one delivery of each.
-- Index: primary key (tenant, hour, request_id), then the bloom filter on request_id: a few granules a day.
SELECT `tenant`, `request_id`, `tier`, `attempt`, `emitter`, toUnixTimestamp64Micro(`started_at`), `seq`, `final`, `version`, `start_unknown`, `provider`, `deployment`, `model`, `model_version`, `route`, `app`, `region`, `query_type`, `prompt_tokens`, `output_tokens`, `reasoning_tokens`, `cached_tokens`, `cache_hit`, `cache_level`, `cache_key_version`, `chunk_size`, `max_num_batched_tokens`, `spec_draft`, `spec_accepted`, `batch_size`, `queue_us`, `prefill_us`, `decode_us`, `ttfb_us`, `end_us`, `observed_us`, `first_us`, `gaps_us`, `bytes`, `tokens`, `kind_runs`, `choices`, `logprobs`, `n_chunks`, `n_content`, `content_bytes`, `chunk_tokens`, `first_content_us`, `first_answer_us`, `last_content_us`, `max_gap_us`, `max_gap_chunk`, `p50_gap_us`, `p99_gap_us`, `reported_definition`, `reported_ttft_us`, `reported_ttfa_us`, `reported_itl_mean_us`, `reported_tpot_us`, `reported_e2e_us`, `synthetic`, `finish_reason`, `stop_reason`, `error_type`, `status`, `response_id`, `trace_id`, `span_id`, `aliases`
FROM streams
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
ORDER BY request_id, tier, attempt, emitter, started_at, seq, version DESC
LIMIT 1 BY request_id, tier, attempt, emitter, started_at, seq
LIMIT {limit:UInt32}
