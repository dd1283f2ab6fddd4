-- Under which starts rows of some requests are stored, with the version of the last one and whether it is gone. Index:
-- primary key (tenant, started_at), then the bloom filter on request_id.
SELECT request_id, toUnixTimestamp64Micro(started_at) AS at, max(version), argMax(gone, version)
FROM requests
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
    AND started_at BETWEEN fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND fromUnixTimestamp64Micro({until:Int64}, 'UTC')
GROUP BY request_id, started_at
