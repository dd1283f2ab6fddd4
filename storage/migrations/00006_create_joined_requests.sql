-- Purpose: joined_requests, one row of scalars for each request of a tenant and time window: the served attempt's
-- server, its gateway and its client. For windows and dashboards; a look-up by id reads the tables.
-- Class: metadata-only (a view).
--
--   SELECT model, quantile(0.99)(gap_us)
--   FROM joined_requests(tenant = 'default', since = '2026-10-01 10:00:00', until = '2026-10-01 11:00:00')
--   GROUP BY model
--
-- The rules are those of Go's requests.Assemble, and a test holds the two together. What a window can't know: records
-- that an engine logged under its own id are requests of their own here; client records that arrive more than an hour
-- after the window, and other records more than ten minutes outside of it, are not seen.
--
-- Re-deliveries go by FINAL. A whole stream (its first segment is the final one) is taken as it is; only streams in
-- segments are grouped. rank orders the streams of a request as compareStreams does: marked by the gateway, completed,
-- higher attempt, with content, start known, earlier, emitter. Columns that a query does not ask for cost nothing.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE VIEW joined_requests AS
WITH
    segment AS
    (
        SELECT
            request_id, tier, attempt, emitter, started_at, seq, final, start_unknown, provider, deployment, model, model_version,
            app, query_type, finish_reason, error_type, status, ttfb_us, end_us, first_content_us, first_answer_us, last_content_us,
            n_chunks, n_content, output_tokens, chunk_tokens, max_gap_us
        FROM streams FINAL
        WHERE tenant = {tenant:String}
            AND started_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 10 MINUTE
            AND started_at < {until:DateTime64(6, 'UTC')} + INTERVAL 10 MINUTE
    ),
    stream AS
    (
        SELECT
            request_id, tier, attempt, emitter, started_at,
            start_unknown AS s_start_unknown,
            final OR isNotNull(end_us) AS s_ended,
            provider AS s_provider, deployment AS s_deployment, model AS s_model, model_version AS s_model_version,
            app AS s_app, query_type AS s_query_type,
            finish_reason AS s_finish_reason, error_type AS s_error_type, status AS s_status,
            ttfb_us AS s_ttfb_us, end_us AS s_end_us,
            if(start_unknown, NULL, first_content_us) AS s_ttft_us,
            if(start_unknown, NULL, first_answer_us) AS s_ttfa_us,
            toUInt64(n_chunks) AS s_n_chunks, toUInt64(n_content) AS s_n_content,
            if(isNotNull(output_tokens), toUInt64(output_tokens), chunk_tokens) AS s_tokens,
            CAST([], 'Array(Tuple(UInt32, UInt64, UInt64))') AS spans,
            if(n_content < 2, NULL, toInt64(max_gap_us)) AS s_max_gap_us
        FROM segment
        WHERE seq = 0 AND final
        UNION ALL
        SELECT
            request_id, tier, attempt, emitter, started_at,
            max(start_unknown) AS s_start_unknown,
            max(final) OR count(end_us) > 0 AS s_ended,
            argMaxIf(provider, seq, provider != '') AS s_provider, argMaxIf(deployment, seq, deployment != '') AS s_deployment,
            argMaxIf(model, seq, model != '') AS s_model, argMaxIf(model_version, seq, model_version != '') AS s_model_version,
            argMaxIf(app, seq, app != '') AS s_app, argMaxIf(query_type, seq, query_type != '') AS s_query_type,
            argMaxIf(finish_reason, seq, finish_reason != '') AS s_finish_reason,
            argMaxIf(error_type, seq, error_type != '') AS s_error_type, argMaxIf(status, seq, status != 0) AS s_status,
            argMax(ttfb_us, seq) AS s_ttfb_us, argMax(end_us, seq) AS s_end_us,
            if(max(start_unknown) OR min(seq) > 0, NULL, min(first_content_us)) AS s_ttft_us,
            if(max(start_unknown) OR min(seq) > 0, NULL, min(first_answer_us)) AS s_ttfa_us,
            sum(n_chunks) AS s_n_chunks, sum(n_content) AS s_n_content,
            multiIf(count(output_tokens) > 0, toUInt64(argMax(output_tokens, seq)),
                countIf(n_chunks > 0 AND isNull(chunk_tokens)) = 0 AND sum(n_chunks) > 0, sum(chunk_tokens), NULL) AS s_tokens,
            arraySort(groupArrayIf((seq, assumeNotNull(first_content_us), assumeNotNull(last_content_us)), n_content > 0)) AS spans,
            if(sum(n_content) < 2, NULL, arrayMax(arrayPushBack(
                arrayMap((a, b) -> b.2 - a.3, arrayPopBack(spans), arrayPopFront(spans)), toInt64(max(max_gap_us))))) AS s_max_gap_us
        FROM segment
        WHERE NOT (seq = 0 AND final)
        GROUP BY request_id, tier, attempt, emitter, started_at
    ),
    -- Which attempt a gateway marked matters only where there are several.
    marked AS
    (
        SELECT request_id, argMinIf(served_attempt, (-toInt32(length(`attempts.attempt`)), received_at, emitter), served_attempt > 0) AS attempt
        FROM gateways FINAL
        WHERE tenant = {tenant:String}
            AND received_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 10 MINUTE
            AND received_at < {until:DateTime64(6, 'UTC')} + INTERVAL 10 MINUTE
            AND served_attempt > 0
            AND request_id IN (
                SELECT request_id
                FROM streams
                WHERE tenant = {tenant:String}
                    AND started_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 10 MINUTE
                    AND started_at < {until:DateTime64(6, 'UTC')} + INTERVAL 10 MINUTE
                    AND attempt > 1)
        GROUP BY request_id
    ),
    ended AS
    (
        SELECT
            stream.*, marked.attempt > 0 AND marked.attempt != stream.attempt AS s_unmarked,
            multiIf(NOT s_ended, 'running', has(['client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], s_finish_reason) OR has(['client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], s_error_type), 'aborted',
                s_error_type != '' OR s_status >= 400 OR s_finish_reason = 'error', 'failed', 'completed') AS s_state
        FROM stream
        LEFT JOIN marked ON stream.request_id = marked.request_id
    ),
    part AS
    (
        -- 1: server stream, 2: gateway's stream
        SELECT
            request_id, if(tier = 'server', 1, 2) AS src, started_at AS at, attempt AS no, s_state AS state,
            bitShiftLeft(toUInt128(
                bitShiftLeft(toUInt64(s_unmarked), 63)
                + bitShiftLeft(toUInt64(s_state != 'completed'), 62) + bitShiftLeft(toUInt64(1023 - attempt), 52)
                + bitShiftLeft(toUInt64(s_n_content = 0), 51) + bitShiftLeft(toUInt64(s_start_unknown), 50)
                + toUInt64(toUnixTimestamp64Micro(started_at) - 1420070400000000)), 64)
                + reinterpretAsUInt64(reverse(substring(concat(emitter, '\0\0\0\0\0\0\0\0'), 1, 8))) AS rank,
            s_provider AS provider, s_deployment AS deployment, s_model AS model, s_model_version AS model_version,
            s_app AS app, s_query_type AS query_type, s_finish_reason AS finish_reason, s_error_type AS error_type,
            s_ttfb_us AS ttfb_us, s_ttft_us AS ttft_us, s_ttfa_us AS ttfa_us, s_end_us AS end_us,
            s_n_chunks AS n_chunks, s_n_content AS n_content, s_tokens AS tokens, s_max_gap_us AS max_gap_us,
            CAST([], 'Array(UInt16)') AS numbers,
            NULL::Nullable(UInt64) AS queue_wait_us, NULL::Nullable(UInt64) AS cache_lookup_us, NULL::Nullable(UInt64) AS route_decision_us,
            NULL::Nullable(Int64) AS first_byte_us,
            NULL::Nullable(Int64) AS paint_us, NULL::Nullable(Int64) AS client_ttft_us, '' AS page, '' AS browser, '' AS country
        FROM ended
        UNION ALL
        -- 3: gateway's record
        SELECT
            request_id, 3 AS src, received_at AS at, served_attempt AS no,
            multiIf(isNotNull(cancelled_us) OR has(['client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], g.error_type), 'aborted', g.error_type != '' OR status >= 400, 'failed',
                isNotNull(last_byte_us), 'completed', 'running') AS state,
            bitShiftLeft(toUInt128(255 - least(length(g.`attempts.attempt`), 255)), 114)
                + bitShiftLeft(toUInt128(toUInt64(toUnixTimestamp64Micro(received_at) - 1420070400000000)), 64)
                + reinterpretAsUInt64(reverse(substring(concat(emitter, '\0\0\0\0\0\0\0\0'), 1, 8))) AS rank,
            if(listed > 0 AND g.`attempts.provider`[listed] != '', g.`attempts.provider`[listed], g.provider) AS provider,
            if(listed > 0 AND g.`attempts.deployment`[listed] != '', g.`attempts.deployment`[listed], g.deployment) AS deployment,
            if(listed > 0 AND g.`attempts.model`[listed] != '', g.`attempts.model`[listed], g.model) AS model,
            g.model_version AS model_version, g.app AS app, g.query_type AS query_type, '' AS finish_reason, g.error_type AS error_type,
            NULL AS ttfb_us, NULL AS ttft_us, NULL AS ttfa_us, NULL AS end_us, 0 AS n_chunks, 0 AS n_content, NULL AS tokens, NULL AS max_gap_us,
            g.`attempts.attempt` AS numbers,
            g.queue_wait_us AS queue_wait_us, g.cache_lookup_us AS cache_lookup_us, g.route_decision_us AS route_decision_us,
            g.first_byte_us AS first_byte_us,
            NULL AS paint_us, NULL AS client_ttft_us, '' AS page, '' AS browser, '' AS country
        FROM
        (
            SELECT
                request_id, received_at, emitter, provider, deployment, model, model_version, app, query_type, error_type, status,
                served_attempt, cancelled_us, last_byte_us, first_byte_us, queue_wait_us, cache_lookup_us, route_decision_us,
                `attempts.attempt`, `attempts.provider`, `attempts.deployment`, `attempts.model`,
                indexOf(`attempts.attempt`, if(served_attempt > 0, served_attempt, arrayMax(`attempts.attempt`))) AS listed
            FROM gateways FINAL
            WHERE tenant = {tenant:String}
                AND received_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 10 MINUTE
                AND received_at < {until:DateTime64(6, 'UTC')} + INTERVAL 10 MINUTE
        ) AS g
        UNION ALL
        -- 4: page
        SELECT
            request_id, 4 AS src,
            if(c_origin > 0 AND c_origin + submit_us BETWEEN toUnixTimestamp64Micro(c_received) - 86400000000 AND toUnixTimestamp64Micro(c_received),
                fromUnixTimestamp64Micro(toInt64(c_origin + submit_us), 'UTC'), c_received) AS at,
            0 AS no,
            multiIf(c_aborted, 'aborted', c_error != '' AND NOT has(['client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], c_error), 'failed',
                c_error != '' OR has(['client_abort', 'abort', 'aborted', 'cancelled', 'canceled'], c_finish), 'aborted', c_done, 'completed', 'running') AS state,
            bitShiftLeft(toUInt128(NOT has_submit), 127) + bitShiftLeft(toUInt128(isNull(c_paint)), 126)
                + bitShiftLeft(toUInt128(reinterpretAsUInt64(reverse(substring(concat(session_id, '\0\0\0\0\0\0\0\0'), 1, 8)))), 46)
                + submit_us AS rank,
            '' AS provider, '' AS deployment, '' AS model, '' AS model_version, c_app AS app, c_query_type AS query_type,
            '' AS finish_reason, c_error AS error_type,
            NULL AS ttfb_us, NULL AS ttft_us, NULL AS ttfa_us, NULL AS end_us, 0 AS n_chunks, 0 AS n_content, NULL AS tokens, NULL AS max_gap_us,
            [] AS numbers, NULL AS queue_wait_us, NULL AS cache_lookup_us, NULL AS route_decision_us, NULL AS first_byte_us,
            if(has_submit AND c_paint >= 0, c_paint, NULL) AS paint_us, if(has_submit, c_ttft, NULL) AS client_ttft_us,
            c_page AS page, c_browser AS browser, c_country AS country
        FROM
        (
            SELECT
                request_id, session_id, has_submit, submit_us,
                min(received_at) AS c_received, argMinIf(time_origin, seq, time_origin > 0) AS c_origin,
                count(aborted_us) > 0 AND (count(done_us) = 0 OR min(aborted_us) < min(done_us)) AS c_aborted, count(done_us) > 0 AS c_done,
                argMaxIf(error_type, seq, error_type != '') AS c_error, argMaxIf(finish_reason, seq, finish_reason != '') AS c_finish,
                argMaxIf(app, seq, app != '') AS c_app, argMaxIf(query_type, seq, query_type != '') AS c_query_type,
                argMaxIf(page, seq, page != '') AS c_page, argMaxIf(browser, seq, browser != '') AS c_browser,
                argMaxIf(country, seq, country != '') AS c_country, min(first_paint_us) AS c_paint, min(ttft_us) AS c_ttft
            FROM clients FINAL
            WHERE tenant = {tenant:String} AND request_id != ''
                AND received_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 10 MINUTE
                AND received_at < {until:DateTime64(6, 'UTC')} + INTERVAL 1 HOUR
            GROUP BY request_id, session_id, has_submit, submit_us
        )
    ),
    gathered AS
    (
        SELECT
            request_id,
            countIf(src = 1) > 0 AS has_server, countIf(src = 2) > 0 AS has_relay, countIf(src = 3) > 0 AS has_gateway, countIf(src = 4) > 0 AS has_client,
            minIf(at, src = 1) AS at1, minIf(at, src = 2) AS at2, minIf(at, src = 3) AS at3, minIf(at, src = 4) AS at4,
            argMinIf(no, rank, src = 1) AS no1, argMinIf(no, rank, src = 2) AS no2, argMinIf(no, rank, src = 3 AND no > 0) AS no3,
            argMinIf(state, rank, src = 1) AS state1, argMinIf(state, rank, src = 2) AS state2,
            argMinIf(state, rank, src = 3) AS state3, argMinIf(state, rank, src = 4) AS state4,
            greatest(maxIf(no, src < 3), maxIf(arrayMax(numbers), src = 3)) AS last_no,
            groupUniqArrayIf(no, src < 3) AS stream_numbers, groupUniqArrayArrayIf(numbers, src = 3) AS listed_numbers,
            argMinIf(provider, rank, src = 1) AS provider1, argMinIf(provider, rank, src = 2) AS provider2, argMinIf(provider, rank, src = 3 AND provider != '') AS provider3,
            argMinIf(deployment, rank, src = 1) AS deployment1, argMinIf(deployment, rank, src = 2) AS deployment2, argMinIf(deployment, rank, src = 3 AND deployment != '') AS deployment3,
            argMinIf(model, rank, src = 1) AS model1, argMinIf(model, rank, src = 2) AS model2, argMinIf(model, rank, src = 3 AND model != '') AS model3,
            argMinIf(model_version, rank, src = 1) AS model_version1, argMinIf(model_version, rank, src = 2) AS model_version2, argMinIf(model_version, rank, src = 3 AND model_version != '') AS model_version3,
            argMinIf(app, rank, src = 1) AS app1, argMinIf(app, rank, src = 3 AND app != '') AS app3, argMinIf(app, rank, src = 4) AS app4,
            argMinIf(query_type, rank, src = 1) AS query_type1, argMinIf(query_type, rank, src = 3 AND query_type != '') AS query_type3, argMinIf(query_type, rank, src = 4) AS query_type4,
            argMinIf(finish_reason, rank, src = 1) AS finish_reason1,
            argMinIf(error_type, rank, src = 1) AS error_type1,
            argMinIf(tuple(ttfb_us), rank, src = 1).1 AS ttfb_us1,
            argMinIf(tuple(ttft_us), rank, src = 1).1 AS ttft_us1,
            argMinIf(tuple(ttfa_us), rank, src = 1).1 AS ttfa_us1,
            argMinIf(tuple(end_us), rank, src = 1).1 AS end_us1,
            argMinIf(tuple(n_chunks), rank, src = 1).1 AS n_chunks1,
            argMinIf(tuple(n_content), rank, src = 1).1 AS n_content1,
            argMinIf(tuple(tokens), rank, src = 1).1 AS tokens1,
            argMinIf(tuple(max_gap_us), rank, src = 1).1 AS max_gap_us1,
            argMinIf(queue_wait_us, rank, src = 3) AS queue_wait_us3,
            argMinIf(cache_lookup_us, rank, src = 3) AS cache_lookup_us3,
            argMinIf(route_decision_us, rank, src = 3) AS route_decision_us3,
            argMinIf(tuple(first_byte_us), rank, src = 3).1 AS first_byte_us3,
            argMinIf(tuple(paint_us), rank, src = 4).1 AS paint_us4, argMinIf(tuple(client_ttft_us), rank, src = 4).1 AS client_ttft_us4,
            argMinIf(page, rank, src = 4) AS page4, argMinIf(browser, rank, src = 4) AS browser4, argMinIf(country, rank, src = 4) AS country4
        FROM part
        GROUP BY request_id
    ),
    placed AS
    (
        SELECT
            *,
            multiIf(has_server, at1, has_relay, at2, has_gateway, at3, at4) AS started,
            multiIf(no3 > 0, no3, has_server AND state1 = 'completed', no1, NOT has_server AND state2 = 'completed', no2,
                greatest(last_no, toUInt16(has_gateway))) AS served
        FROM gathered
    ),
    request AS
    (
        SELECT *, has_server AND no1 = served AS server_served, has_relay AND no2 = served AS relay_served
        FROM placed
        WHERE started >= {since:DateTime64(6, 'UTC')} AND started < {until:DateTime64(6, 'UTC')}
    )
SELECT
    request_id, started AS started_at,
    multiIf(server_served AND state1 != 'running', state1, has_gateway AND state3 != 'running', state3, has_client, state4, 'running') AS state,
    served AS served_attempt,
    length(arrayDistinct(arrayConcat(stream_numbers, listed_numbers, if(has_gateway, [served], [])))) AS attempts,
    has_server, has_gateway, has_client,
    multiIf(server_served AND provider1 != '', provider1, relay_served AND provider2 != '', provider2, provider3) AS provider,
    multiIf(server_served AND deployment1 != '', deployment1, relay_served AND deployment2 != '', deployment2, deployment3) AS deployment,
    multiIf(server_served AND model1 != '', model1, relay_served AND model2 != '', model2, model3) AS model,
    multiIf(server_served AND model_version1 != '', model_version1, relay_served AND model_version2 != '', model_version2, model_version3) AS model_version,
    multiIf(app4 != '', app4, app3 != '', app3, server_served, app1, '') AS app,
    multiIf(query_type4 != '', query_type4, query_type3 != '', query_type3, server_served AND query_type1 != '', query_type1, 'other') AS query_type,
    if(server_served, finish_reason1, '') AS finish_reason,
    if(server_served, error_type1, '') AS error_type,
    if(server_served, ttfb_us1, NULL) AS ttfb_us,
    if(server_served, ttft_us1, NULL) AS ttft_us,
    if(server_served, ttfa_us1, NULL) AS ttfa_us,
    if(server_served, end_us1, NULL) AS end_us,
    if(server_served, n_chunks1, NULL) AS n_chunks,
    if(server_served, n_content1, NULL) AS n_content,
    if(server_served, tokens1, NULL) AS tokens,
    if(server_served, max_gap_us1, NULL) AS max_gap_us,
    queue_wait_us3 AS queue_wait_us, cache_lookup_us3 AS cache_lookup_us, route_decision_us3 AS route_decision_us,
    first_byte_us3 AS gateway_first_byte_us, client_ttft_us4 AS client_ttft_us, paint_us4 AS perceived_ttft_us,
    if(server_served, paint_us4 - toInt64(ttft_us1), NULL) AS gap_us,
    page4 AS page, browser4 AS browser, country4 AS country
FROM request
-- +goose StatementEnd
