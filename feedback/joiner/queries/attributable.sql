-- Requests of which a gateway's stream has new findings, to be attributed.
SELECT DISTINCT tenant, request_id
FROM findings
WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    AND origin = 'stream' AND tier = 'gateway'
    AND ({shards:UInt32} = 1 OR cityHash64(request_id) % {shards:UInt32} = {shard:UInt32})
