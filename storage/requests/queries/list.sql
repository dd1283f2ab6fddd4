-- The next requests of a window, newest first, from a position on: the last state of each of which some state fits the
-- filter. Index: the inner query reads the primary key (tenant, started_at, request_id) backwards and stops at the limit;
-- the outer one looks its keys up.
SELECT {{columns}}
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
