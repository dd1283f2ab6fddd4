-- Inter-chunk latency of a window by model, from the newest computation of each minute.
-- Index: primary key (tenant, minute): one row for each minute and target.
SELECT
    model, sum(streams), sum(chunks), max(max_gap_us),
    quantilesDDArrayMerge(0.005, 0.5, 0.9, 0.95, 0.99)(icl)
FROM icl_minute
WHERE tenant = {tenant:String} AND minute >= toDateTime({since:String}, 'UTC') AND minute < toDateTime({until:String}, 'UTC')
    AND (minute, generation) IN (
        SELECT minute, max(generation)
        FROM icl_minute
        WHERE tenant = {tenant:String} AND minute >= toDateTime({since:String}, 'UTC') AND minute < toDateTime({until:String}, 'UTC')
        GROUP BY minute)
GROUP BY model
ORDER BY model
LIMIT {limit:UInt32}
