-- Stalls and slow starts of some emitters and targets that began between two instants, the next so many after one: some hours of
-- their tenants by the primary key.
SELECT /*columns*/
FROM findings FINAL
WHERE tenant IN {tenants:Array(String)}
  AND toStartOfHour(at) >= toStartOfHour(fromUnixTimestamp64Micro({since:Int64}, 'UTC'))
  AND at BETWEEN fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND fromUnixTimestamp64Micro({until:Int64}, 'UTC')
  AND origin = 'stream' AND tier = 'server' AND kind IN ('stall', 'slow_start') AND NOT withdrawn
  AND (tenant, emitter, provider, deployment, model) IN
  (
      SELECT s.1, s.2, s.3, s.4, s.5 FROM
      (
          SELECT arrayJoin(arrayZip(
              {tenants:Array(String)}, {emitters:Array(String)}, {providers:Array(String)}, {deployments:Array(String)}, {models:Array(String)})) AS s
      )
  )
  AND (tenant, emitter, provider, deployment, model, at, id)
    > ({tenant:String}, {emitter:String}, {provider:String}, {deployment:String}, {model:String}, fromUnixTimestamp64Micro({after:Int64}, 'UTC'), {after_id:String})
ORDER BY tenant, emitter, provider, deployment, model, at, id
LIMIT {limit:UInt32}
