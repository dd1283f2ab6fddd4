-- Computes minutes anew. One stream stands for each attempt: the one that requests.Assemble shows.
-- Index: primary key (tenant, hour) of streams; reads the gaps of the minutes' streams.
INSERT INTO icl_minute (tenant, minute, provider, deployment, model, model_version, generation, streams, chunks, max_gap_us, icl)
WITH
    segment AS
    (
        SELECT
            tenant, request_id, attempt, emitter, started_at, seq, final, start_unknown, provider, deployment, model, model_version,
            end_us, error_type, finish_reason, status, n_content, first_content_us, last_content_us, icl_us AS gaps
        FROM streams FINAL
        WHERE tier = 'server'
            AND started_at >= toDateTime64({first:String}, 6, 'UTC') AND started_at < toDateTime64({last:String}, 6, 'UTC') + INTERVAL 1 MINUTE
            AND tenant IN {tenants:Array(String)}
            AND (tenant, toStartOfMinute(started_at)) IN (
                SELECT t.1, toDateTime(t.2, 'UTC') FROM (SELECT arrayJoin(arrayZip({tenants:Array(String)}, {minutes:Array(UInt32)})) AS t))
    ),
    stream AS
    (
        SELECT
            tenant, request_id, attempt, emitter, started_at, start_unknown AS unknown, final OR isNotNull(end_us) AS ended,
            error_type AS error, finish_reason AS reason, status AS http_status,
            provider AS p, deployment AS d, model AS m, model_version AS v, toUInt64(n_content) AS content, gaps AS all_gaps
        FROM segment
        WHERE seq = 0 AND final
        UNION ALL
        SELECT
            tenant, request_id, attempt, emitter, started_at, unknown, ended, error, reason, http_status, p, d, m, v, content,
            arrayConcat(inner, arrayMap((a, b) -> toUInt32(least(toUInt64(b.2 - a.3), 4294967295)), arrayPopBack(spans), arrayPopFront(spans))) AS all_gaps
        FROM
        (
            SELECT
                tenant, request_id, attempt, emitter, started_at, max(start_unknown) AS unknown, max(final) OR count(end_us) > 0 AS ended,
                argMaxIf(error_type, seq, error_type != '') AS error, argMaxIf(finish_reason, seq, finish_reason != '') AS reason,
                argMaxIf(status, seq, status != 0) AS http_status,
                argMaxIf(provider, seq, provider != '') AS p, argMaxIf(deployment, seq, deployment != '') AS d,
                argMaxIf(model, seq, model != '') AS m, argMaxIf(model_version, seq, model_version != '') AS v,
                sum(n_content) AS content, arrayFlatten(groupArray(gaps)) AS inner,
                arraySort(groupArrayIf((seq, assumeNotNull(first_content_us), assumeNotNull(last_content_us)), n_content > 0)) AS spans
            FROM segment
            WHERE NOT (seq = 0 AND final)
            GROUP BY tenant, request_id, attempt, emitter, started_at
        )
    ),
    attempt AS
    (
        SELECT
            tenant, toStartOfMinute(min(started_at)) AS minute,
            argMin((p, d, m, v, content, all_gaps), (
                NOT ended OR error != '' OR http_status >= 400
                    OR has(['error', 'client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], reason),
                content = 0, unknown, started_at, emitter)) AS s
        FROM stream
        GROUP BY tenant, request_id, attempt
    )
SELECT
    tenant, minute, s.1 AS provider, s.2 AS deployment, s.3 AS model, s.4 AS model_version,
    toDateTime64({generation:String}, 6, 'UTC') AS generation,
    count() AS streams, sum(s.5) AS chunks, max(arrayMax(s.6)) AS max_gap_us,
    quantilesDDArrayState(0.005, 0.5, 0.9, 0.95, 0.99)(s.6) AS icl
FROM attempt
GROUP BY tenant, minute, provider, deployment, model, model_version
