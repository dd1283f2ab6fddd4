-- All delivered records of some request ids from an instant on. Index: primary key (tenant, hour, request_id), then the
-- bloom filter on request_id.
SELECT {{columns}}
FROM {{table}}
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)} AND {{time}} >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')
