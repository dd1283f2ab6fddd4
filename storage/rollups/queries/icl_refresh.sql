-- Computes minutes anew. One stream stands for each attempt: the one that requests.Assemble shows, and its gaps are those
-- that Assemble tells (a test compares them). A minute of which some chunk times are no longer kept stays as it is.
-- Index: primary key (tenant, hour) of streams; reads the gaps of the minutes' streams.
INSERT INTO icl_minute (tenant, minute, provider, deployment, model, model_version, generation, read_before, streams, chunks, max_gap_us, icl)
WITH
    segment AS
    (
        -- Its place in s, by number: 1 seq, 2 final, 3 last chunk (0: none), 4 content-bearing chunks, 5 the first of them, 6 gaps
        -- between them, 7 their choices (empty: all 0), 8 start unknown, 9 a chunk of kind role or usage, 10 of kind done, 11 end,
        -- 12 watched up to, 13 error, 14 finish reason, 15 status, 16 to 19 target, 20 chunks, 21 one of kind keepalive.
        SELECT
            tenant, request_id, attempt, emitter, started_at,
            (
                seq, final, if(n_chunks = 0, 0, first_us + arraySum(gaps_us)), n_content, ifNull(first_content_us, 0),
                icl_us, if(empty(choices), [], arrayFilter((c, b) -> b, arrayResize(choices, length(gaps_us) + 1), bears_content)),
                start_unknown, arrayExists(r -> bitAnd(r, 15) IN (4, 5), kind_runs), arrayExists(r -> bitAnd(r, 15) = 8, kind_runs),
                end_us, observed_us, error_type, finish_reason, status, provider, deployment, model, model_version, n_chunks,
                arrayExists(r -> bitAnd(r, 15) = 6, kind_runs)
            ) AS s
        FROM streams FINAL
        WHERE tier = 'server'
            AND started_at >= toDateTime64({first:String}, 6, 'UTC') AND started_at < toDateTime64({last:String}, 6, 'UTC') + INTERVAL 1 MINUTE
            AND tenant IN {tenants:Array(String)}
            AND (tenant, toStartOfMinute(started_at)) IN (
                SELECT t.1, toDateTime(t.2, 'UTC') FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {minutes:Array(UInt32)})) AS t))
    ),
    -- One level of subqueries for each step: an expression that names others is copied into each of their places otherwise.
    told AS
    (
        -- The record with which a stream that fell silent is buried says nothing of its chunks.
        SELECT
            tenant, request_id, attempt, emitter, started_at, length(delivered) > 1 AND delivered[-1].1 = {lost:UInt32} AS buried,
            if(buried, delivered[-1].12, NULL) AS buried_us, if(buried, arrayPopBack(delivered), delivered) AS told
        FROM
        (
            SELECT tenant, request_id, attempt, emitter, started_at, arraySort(x -> x.1, groupArray(s)) AS delivered
            FROM segment
            GROUP BY tenant, request_id, attempt, emitter, started_at
        )
    ),
    part AS
    (
        -- Segments that came before a record of the whole stream say nothing that it doesn't.
        SELECT
            tenant, request_id, attempt, emitter, started_at, buried, buried_us,
            if(length(told) > 1 AND told[1].1 = 0 AND told[1].2,
                arrayFilter(x -> NOT (x.1 > 0 AND (x.20 > 0 OR NOT x.2) AND x.3 <= told[1].3), told), told) AS segs
        FROM told
    ),
    merged AS
    (
        SELECT
            tenant, request_id, attempt, emitter, started_at, buried, buried_us, segs, length(segs) = 1 AND empty(segs[1].7) AS simple,
            arrayLastOrNull(x -> isNotNull(x), segs.11) AS end, arrayLastOrNull(x -> isNotNull(x), segs.12) AS observed,
            arrayLast(x -> x != '', segs.13) AS error, arrayLast(x -> x != '', segs.14) AS reason, arrayLast(x -> x != 0, segs.15) AS status,
            has(segs.10, 1) AS done, has(segs.9, 1) AS tells_kinds, has(segs.21, 1) AS pings, has(segs.8, 1) AS unknown, NOT has(segs.2, 1) AS goes_on,
            arrayMax(segs.3) AS last, toUInt64(arraySum(segs.4)) AS n_content,
            -- Each content-bearing chunk's choice and time, where one record's gaps are not all there is to say.
            arraySort(arrayFlatten(arrayMap(
                x -> arrayZip(if(empty(x.7), arrayWithConstant(length(x.6) + 1, toUInt16(0)), x.7), arrayCumSum(arrayPushFront(x.6, x.5))),
                if(simple, [], arrayFilter(x -> x.4 > 0 AND length(x.6) + 1 = x.4, segs))))) AS points
        FROM part
    ),
    stream AS
    (
        SELECT
            tenant, request_id, attempt, emitter, started_at, unknown, n_content,
            isNotNull(observed) AND isNull(end) AND reason = '' AND error = '' AND status < 400 AND NOT done AS silent,
            (buried AND (goes_on OR silent) AND greatest(ifNull(observed, 0), last) <= ifNull(buried_us, 0))
                OR (goes_on AND isNull(end)) OR silent OR error != '' OR status >= 400 OR lower(reason) IN {broken:Array(String)}
                OR (reason = '' AND NOT done AND (tells_kinds OR n_content = 0 AND pings)) AS incomplete,
            arrayLast(x -> x != '', segs.16) AS p, arrayLast(x -> x != '', segs.17) AS d,
            arrayLast(x -> x != '', segs.18) AS m, arrayLast(x -> x != '', segs.19) AS v,
            if(simple, segs[1].6, arrayMap(
                i -> toUInt32(least(points[i].2 - points[i - 1].2, 4294967295)),
                arrayFilter(i -> i > 1 AND points[i].1 = points[i - 1].1, arrayEnumerate(points)))) AS gaps,
            arrayExists(x -> x.4 > 0 AND length(x.6) + 1 != x.4, segs) AS forgotten
        FROM merged
    ),
    attempt AS
    (
        SELECT
            tenant, toStartOfMinute(min(started_at)) AS minute,
            argMin((p, d, m, v, n_content, gaps, forgotten), (incomplete, n_content = 0, unknown, started_at, emitter)) AS s
        FROM stream
        GROUP BY tenant, request_id, attempt
    )
SELECT tenant, minute, provider, deployment, model, model_version, generation, read_before, streams, chunks, max_gap_us, icl
FROM
(
    SELECT
        tenant, minute, s.1 AS provider, s.2 AS deployment, s.3 AS model, s.4 AS model_version,
        toDateTime64({generation:String}, 6, 'UTC') AS generation, {read_before:Int64} AS read_before,
        count() AS streams, sum(s.5) AS chunks, max(arrayMax(s.6)) AS max_gap_us,
        quantilesDDArrayState(0.005, 0.5, 0.9, 0.95, 0.99)(s.6) AS icl,
        max(max(s.7)) OVER (PARTITION BY tenant, minute) AS forgotten
    FROM attempt
    GROUP BY tenant, minute, provider, deployment, model, model_version
)
WHERE NOT forgotten
