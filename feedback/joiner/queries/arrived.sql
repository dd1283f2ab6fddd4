-- The rows that arrived within some seconds, or one of several parts of them by id. The skip index on inserted_at leaves the
-- newest parts, since rows are merged with older ones later; of the others only inserted_at is read.
SELECT {{columns}}
FROM {{table}}
WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND inserted_at < fromUnixTimestamp({until:Int64}) AND request_id != ''
    AND ({shards:UInt32} = 1 OR cityHash64(request_id) % {shards:UInt32} = {shard:UInt32})
