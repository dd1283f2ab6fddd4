-- Requests of a window without their chunks, newest first, from a position on.
-- Index: primary key (tenant, hour) of each source table; the reader asks short windows first, newest to oldest.
SELECT
    request_id, toUnixTimestamp64Micro(started_at), state, served_attempt, toUInt32(attempts), has_server, has_gateway, has_client,
    provider, deployment, model, model_version, app, query_type, finish_reason, error_type,
    toInt64(ttft_us), toInt64(ttfa_us), toInt64(end_us), toInt64(n_chunks), toInt64(tokens), max_gap_us,
    toInt64(queue_wait_us), perceived_ttft_us, gap_us
FROM joined_requests(tenant = {tenant:String}, since = {since:String}, until = {until:String})
WHERE (started_at, request_id) < (toDateTime64({before:String}, 6, 'UTC'), {before_id:String})
    AND ({provider:String} = '' OR provider = {provider:String})
    AND ({deployment:String} = '' OR deployment = {deployment:String})
    AND ({model:String} = '' OR model = {model:String})
    AND ({app:String} = '' OR app = {app:String})
    AND ({query_type:String} = '' OR query_type = {query_type:String})
    AND ({state:String} = '' OR state = {state:String})
ORDER BY started_at DESC, request_id DESC
LIMIT {limit:UInt32}
