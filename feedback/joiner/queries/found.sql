-- Requests of which findings arrived within some seconds: whether of streams, and whether of a gateway's, to be attributed.
SELECT tenant, request_id, toBool(max(origin = 'stream')) AS of_stream, toBool(max(origin = 'stream' AND tier = 'gateway')) AS of_gateway
FROM findings
WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64})
    AND ({shards:UInt32} = 1 OR cityHash64(request_id) % {shards:UInt32} = {shard:UInt32})
GROUP BY tenant, request_id
