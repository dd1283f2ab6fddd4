-- Findings of a tenant, the latest first. Reads the hours between since and until by the primary key; with a
-- request id the bloom filter leaves a few granules. Expected: milliseconds an hour of a million findings.
SELECT /*columns*/
FROM
(
    SELECT *
    FROM findings
    WHERE tenant = {tenant:String}
      AND toStartOfHour(at) >= toStartOfHour(fromUnixTimestamp64Micro({since:Int64}, 'UTC'))
      AND at >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')
      AND at < fromUnixTimestamp64Micro({until:Int64}, 'UTC')
      AND (at, id) < (fromUnixTimestamp64Micro({before_at:Int64}, 'UTC'), {before_id:String})
      AND ({request_id:String} = '' OR request_id = {request_id:String})
      AND ({kind:String} = '' OR kind = {kind:String})
    ORDER BY version DESC, withdrawn DESC, open ASC
    LIMIT 1 BY tenant, request_id, id
)
WHERE NOT withdrawn
ORDER BY at DESC, id DESC
LIMIT {limit:UInt32}
