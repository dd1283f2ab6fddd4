-- How far back a window must reach to hold some number of records: bounds the newest page of a list.
-- Index: primary key (tenant, hour); reads one column of the window.
SELECT toUnixTimestamp64Micro(min(at)), count()
FROM
(
    SELECT at
    FROM
    (
        SELECT started_at AS at FROM streams WHERE tenant = {tenant:String} AND started_at >= toDateTime64({since:String}, 6, 'UTC') AND started_at < toDateTime64({until:String}, 6, 'UTC')
        UNION ALL
        SELECT received_at AS at FROM gateways WHERE tenant = {tenant:String} AND received_at >= toDateTime64({since:String}, 6, 'UTC') AND received_at < toDateTime64({until:String}, 6, 'UTC')
        UNION ALL
        SELECT received_at AS at FROM clients WHERE tenant = {tenant:String} AND received_at >= toDateTime64({since:String}, 6, 'UTC') AND received_at < toDateTime64({until:String}, 6, 'UTC')
    )
    ORDER BY at DESC
    LIMIT {limit:UInt32}
)
