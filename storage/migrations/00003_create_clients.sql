-- Purpose: streams as pages received, rendered and painted them, one row for each record as delivered.
-- Class: metadata-only (new table).
-- Order and re-delivery: as for streams; the time is that of arrival, since a page's own clock may be wrong by
-- any amount, so two deliveries in different hours stay two rows and are told apart by reads alone.
-- Columns: as for streams.

-- +goose Up
CREATE TABLE IF NOT EXISTS clients
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    request_id String COMMENT 'Id that joins all tiers; empty: the page could not read it' CODEC(ZSTD(1)),
    session_id String COMMENT 'Session of the page' CODEC(ZSTD(1)),
    has_submit Bool COMMENT 'The submit event is known',
    submit_us UInt64 COMMENT 'Submit event, µs from the page''s time origin; 0 when not known' CODEC(T64, ZSTD(1)),
    seq UInt32 COMMENT 'Order of the segments of one stream' CODEC(T64, ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'Arrival, on the receiver''s clock' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),
    page LowCardinality(String) COMMENT 'Path without query string',
    browser LowCardinality(String) COMMENT 'Browser',
    country LowCardinality(String) COMMENT 'Country of the address, which itself is dropped',
    time_origin UInt64 COMMENT 'Time origin on the page''s wall clock, µs since 1970; 0: not known' CODEC(ZSTD(1)),
    recv_gaps_us Array(UInt32) COMMENT 'Times between consecutive chunks received, µs; n_recv - 1 entries' CODEC(T64, ZSTD(1)),
    recv_bytes Array(UInt32) COMMENT 'UTF-8 bytes of text in each; empty: not known' CODEC(T64, ZSTD(1)),
    recv_kind_runs Array(UInt32) COMMENT 'Runs of kinds, as in streams.kind_runs' CODEC(ZSTD(1)),
    dom_gaps_us Array(UInt32) COMMENT 'Times between consecutive insertions, µs; n_dom - 1 entries' CODEC(T64, ZSTD(1)),
    dom_bytes Array(UInt32) COMMENT 'UTF-8 bytes of each; empty: not known' CODEC(T64, ZSTD(1)),
    paint_gaps_us Array(UInt32) COMMENT 'Times between consecutive paints of new text, µs; n_paint - 1 entries' CODEC(T64, ZSTD(1)),
    paint_bytes Array(UInt32) COMMENT 'UTF-8 bytes that each paint added; empty: not known' CODEC(T64, ZSTD(1)),
    labels LowCardinality(String) COMMENT 'JSON object: words of the record, and under "at" which numbers it has, each with its place in numbers from 1',
    numbers Array(UInt32) COMMENT 'Numbers of the record; labels says which' CODEC(ZSTD(1)),
    detail String COMMENT 'JSON object of what labels and numbers can not hold' CODEC(ZSTD(1)),
    inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table; filled by the server' CODEC(Delta, ZSTD(1)),

    beacon_seq UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'beacon_seq') = 0, JSONExtract(detail, 'beacon_seq', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'beacon_seq')]) COMMENT 'Number of the beacon within the session',
    final Bool ALIAS bitTest(version, 40) COMMENT 'No segment follows',
    attempt Nullable(UInt32) ALIAS JSONExtract(labels, 'attempt', 'Nullable(UInt32)') COMMENT 'Attempt, when the page knows that it retried',
    app LowCardinality(String) ALIAS JSONExtractString(labels, 'app') COMMENT 'Application',
    release LowCardinality(String) ALIAS JSONExtractString(labels, 'release') COMMENT 'Release of the application',
    os LowCardinality(String) ALIAS JSONExtractString(labels, 'os') COMMENT 'Operating system',
    device LowCardinality(String) ALIAS JSONExtractString(labels, 'device') COMMENT 'Kind of device',
    query_type LowCardinality(String) ALIAS JSONExtractString(labels, 'query_type') COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',
    content_kind LowCardinality(String) ALIAS JSONExtractString(labels, 'content_kind') COMMENT 'text, markdown, code, …',
    protocol LowCardinality(String) ALIAS JSONExtractString(labels, 'protocol') COMMENT 'sse, websocket, fetch',
    paint_source LowCardinality(String) ALIAS JSONExtractString(labels, 'paint_source') COMMENT 'interaction_contentful_paint, element_timing, frame',
    conn_rtt_ms Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'conn_rtt_ms') = 0, JSONExtract(detail, 'conn_rtt_ms', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'conn_rtt_ms')]) COMMENT 'Round trip the browser estimates, ms',
    conn_type LowCardinality(String) ALIAS JSONExtractString(labels, 'conn_type') COMMENT 'Connection type the browser names',
    conn_downlink_kbit Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'conn_downlink_kbit') = 0, JSONExtract(detail, 'conn_downlink_kbit', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'conn_downlink_kbit')]) COMMENT 'Downlink the browser estimates, kbit/s',
    clock_now_us Nullable(UInt64) ALIAS if(JSONExtractUInt(labels, 'at', 'clock_now_us') = 0, JSONExtract(detail, 'clock_now_us', 'Nullable(UInt64)'), numbers[JSONExtractUInt(labels, 'at', 'clock_now_us')]) COMMENT 'When the beacon was made, µs from the time origin',
    wall_now UInt64 ALIAS JSONExtract(detail, 'wall_now', 'UInt64') COMMENT 'What the page''s wall clock showed then, µs since 1970; 0: not known',
    first_feedback_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'first_feedback_us') = 0, JSONExtract(detail, 'first_feedback_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'first_feedback_us')]) COMMENT 'First visible reaction, µs from submit (as all that follow; from the time origin without a submit event)',
    request_sent_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'request_sent_us') = 0, JSONExtract(detail, 'request_sent_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'request_sent_us')]) COMMENT 'Request sent',
    headers_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'headers_us') = 0, JSONExtract(detail, 'headers_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'headers_us')]) COMMENT 'Response headers received',
    first_paint_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'first_paint_us') = 0, JSONExtract(detail, 'first_paint_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'first_paint_us')]) COMMENT 'First meaningful paint: the perceived TTFT where has_submit',
    aborted_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'aborted_us') = 0, JSONExtract(detail, 'aborted_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'aborted_us')]) COMMENT 'The user aborted',
    done_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'done_us') = 0, JSONExtract(detail, 'done_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'done_us')]) COMMENT 'The stream ended for the page',
    closed_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'closed_us') = 0, JSONExtract(detail, 'closed_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'closed_us')]) COMMENT 'The page was hidden for good',
    error_type LowCardinality(String) ALIAS JSONExtractString(labels, 'error_type') COMMENT 'Short class of the error; empty: none',
    finish_reason LowCardinality(String) ALIAS JSONExtractString(labels, 'finish_reason') COMMENT 'Why the stream ended',
    recv_first_us Int64 ALIAS if(JSONExtractUInt(labels, 'at', 'recv_first_us') = 0, JSONExtract(detail, 'recv_first_us', 'Int64'), numbers[JSONExtractUInt(labels, 'at', 'recv_first_us')]) COMMENT 'First chunk received',
    dom_first_us Int64 ALIAS if(JSONExtractUInt(labels, 'at', 'dom_first_us') = 0, JSONExtract(detail, 'dom_first_us', 'Int64'), numbers[JSONExtractUInt(labels, 'at', 'dom_first_us')]) COMMENT 'First text put into the DOM',
    paint_first_us Int64 ALIAS if(JSONExtractUInt(labels, 'at', 'paint_first_us') = 0, JSONExtract(detail, 'paint_first_us', 'Int64'), numbers[JSONExtractUInt(labels, 'at', 'paint_first_us')]) COMMENT 'First paint of text',
    `visibility.t_us` Array(UInt64) ALIAS JSONExtract(detail, 'visibility.t_us', 'Array(UInt64)') COMMENT 'Changes of visibility, µs from the time origin',
    `visibility.hidden` Array(Bool) ALIAS JSONExtract(detail, 'visibility.hidden', 'Array(Bool)') COMMENT 'Hidden from then on',
    `long_frames.t_us` Array(UInt64) ALIAS JSONExtract(detail, 'long_frames.t_us', 'Array(UInt64)') COMMENT 'Long animation frames, µs from the time origin',
    `long_frames.dur_us` Array(UInt64) ALIAS JSONExtract(detail, 'long_frames.dur_us', 'Array(UInt64)') COMMENT 'Their durations, µs',
    `retractions.t_us` Array(UInt64) ALIAS JSONExtract(detail, 'retractions.t_us', 'Array(UInt64)') COMMENT 'Shown text taken back, µs from the time origin',
    `retractions.bytes` Array(UInt32) ALIAS JSONExtract(detail, 'retractions.bytes', 'Array(UInt32)') COMMENT 'How much of it, UTF-8 bytes',
    reconnects Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'reconnects') = 0, JSONExtract(detail, 'reconnects', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'reconnects')]) COMMENT 'Reconnects of the stream',
    lost_beacons Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'lost_beacons') = 0, JSONExtract(detail, 'lost_beacons', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'lost_beacons')]) COMMENT 'Beacons the browser refused to send',
    bytes_total Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'bytes_total') = 0, JSONExtract(detail, 'bytes_total', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'bytes_total')]) COMMENT 'Bytes of generated text received in all',
    n_recv UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'n_recv') = 0, JSONExtract(detail, 'n_recv', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'n_recv')]) COMMENT 'Chunks received, in the row',
    n_dom UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'n_dom') = 0, JSONExtract(detail, 'n_dom', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'n_dom')]) COMMENT 'DOM insertions, in the row',
    n_paint UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'n_paint') = 0, JSONExtract(detail, 'n_paint', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'n_paint')]) COMMENT 'Paints of new text, in the row',
    ttft_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'ttft_us') = 0, JSONExtract(detail, 'ttft_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'ttft_us')]) COMMENT 'First content-bearing chunk received, in the row',
    ttfa_us Nullable(Int64) ALIAS if(JSONExtractUInt(labels, 'at', 'ttfa_us') = 0, JSONExtract(detail, 'ttfa_us', 'Nullable(Int64)'), numbers[JSONExtractUInt(labels, 'at', 'ttfa_us')]) COMMENT 'First answer chunk received, in the row',
    recv_max_gap_us UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'recv_max_gap_us') = 0, JSONExtract(detail, 'recv_max_gap_us', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'recv_max_gap_us')]) COMMENT 'Longest gap between content-bearing chunks received, µs',
    paint_max_gap_us UInt32 ALIAS if(JSONExtractUInt(labels, 'at', 'paint_max_gap_us') = 0, JSONExtract(detail, 'paint_max_gap_us', 'UInt32'), numbers[JSONExtractUInt(labels, 'at', 'paint_max_gap_us')]) COMMENT 'Longest gap between paints, µs',
    response_id String ALIAS JSONExtract(detail, 'response_id', 'String') COMMENT 'Id in the response body',
    trace_id String ALIAS JSONExtract(detail, 'trace_id', 'String') COMMENT 'Trace, 32 hex digits',
    aliases Array(String) ALIAS JSONExtract(detail, 'aliases', 'Array(String)') COMMENT 'Other names of the request that the record carries',

    INDEX inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1,
    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(received_at)
PRIMARY KEY (tenant, toStartOfHour(received_at), request_id)
ORDER BY (tenant, toStartOfHour(received_at), request_id, session_id, has_submit, submit_us, seq)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Streams as pages saw them, one row for each stream or segment as delivered';
