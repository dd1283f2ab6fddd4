-- Findings of a tenant, the latest first. Reads the hours between since and until by the primary key, in its order, so that
-- FINAL drops old states without sorting; with a request id the bloom filter leaves a few granules. Expected: milliseconds
-- for an hour of a million findings.
SELECT /*columns*/
FROM findings FINAL
WHERE tenant = {tenant:String}
  AND toStartOfHour(at) >= toStartOfHour(fromUnixTimestamp64Micro({since:Int64}, 'UTC'))
  AND at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')
  AND at < fromUnixTimestamp64Micro({until:Int64}, 'UTC')
  AND (at, id) < (fromUnixTimestamp64Micro({before_at:Int64}, 'UTC'), {before_id:String})
  AND ({request_id:String} = '' OR request_id = {request_id:String})
  AND ({kind:String} = '' OR kind = {kind:String})
  AND NOT withdrawn
ORDER BY at DESC, id DESC
LIMIT {limit:UInt32}
