-- Stalls and slow starts of one emitter and target that began between two instants, the first so many after one by its id: some hours by the primary key.
SELECT /*columns*/
FROM findings FINAL
WHERE tenant = {tenant:String}
  AND toStartOfHour(at) >= toStartOfHour(fromUnixTimestamp64Micro({since:Int64}, 'UTC'))
  AND at BETWEEN fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND fromUnixTimestamp64Micro({until:Int64}, 'UTC')
  AND (at > fromUnixTimestamp64Micro({since:Int64}, 'UTC') OR id > {after:String})
  AND origin = 'stream' AND tier = 'server' AND kind IN ('stall', 'slow_start') AND NOT withdrawn
  AND emitter = {emitter:String} AND provider = {provider:String} AND deployment = {deployment:String} AND model = {model:String}
ORDER BY at, id
LIMIT {limit:UInt32}
