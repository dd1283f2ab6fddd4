-- Between which instants, for each emitter and target, stalls and slow starts lie of which something new was stored since
-- the last look; the next so many after one. The skip index on inserted_at leaves the newest granules.
SELECT
    tenant, emitter, provider, deployment, model,
    toUnixTimestamp64Micro(min(at)) AS since,
    max(toUnixTimestamp64Micro(at) + duration_us) AS until
FROM findings
WHERE inserted_at >= fromUnixTimestamp({from:Int64})
  AND origin = 'stream' AND tier = 'server' AND kind IN ('stall', 'slow_start') AND NOT open
  AND (tenant, emitter, provider, deployment, model)
    > ({tenant:String}, {emitter:String}, {provider:String}, {deployment:String}, {model:String})
GROUP BY tenant, emitter, provider, deployment, model
ORDER BY tenant, emitter, provider, deployment, model
LIMIT {limit:UInt32}
