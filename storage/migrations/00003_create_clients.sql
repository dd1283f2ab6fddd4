-- Purpose: streams as pages received, rendered and painted them, one row for each record as delivered.
-- Class: metadata-only (new table).
-- Order and re-delivery: as for streams; the time is that of arrival, since a page's own clock may be wrong by
-- any amount, so two deliveries in different hours stay two rows and are told apart by reads alone.

-- +goose Up
CREATE TABLE IF NOT EXISTS clients
(
    tenant LowCardinality(String) COMMENT 'Tenant the record belongs to',
    request_id String COMMENT 'Id that joins all tiers; empty: the page could not read it' CODEC(ZSTD(1)),
    session_id String COMMENT 'Session of the page' CODEC(ZSTD(1)),
    has_submit Bool COMMENT 'The submit event is known',
    submit_us UInt64 COMMENT 'Submit event, µs from the page''s time origin; 0 when not known' CODEC(T64, ZSTD(1)),
    seq UInt32 COMMENT 'Order of the segments of one stream' CODEC(T64, ZSTD(1)),
    beacon_seq UInt32 COMMENT 'Number of the beacon within the session' CODEC(T64, ZSTD(1)),
    final Bool COMMENT 'No segment follows',
    attempt Nullable(UInt32) COMMENT 'Attempt, when the page knows that it retried' CODEC(ZSTD(1)),
    received_at DateTime64(6, 'UTC') COMMENT 'Arrival, on the receiver''s clock' CODEC(T64, ZSTD(1)),
    version UInt64 COMMENT 'Rank of the content: of two deliveries of one identity the greater wins' CODEC(T64, ZSTD(1)),

    page LowCardinality(String) COMMENT 'Path without query string',
    app LowCardinality(String) COMMENT 'Application',
    release LowCardinality(String) COMMENT 'Release of the application',
    browser LowCardinality(String) COMMENT 'Browser',
    os LowCardinality(String) COMMENT 'Operating system',
    device LowCardinality(String) COMMENT 'Kind of device',
    country LowCardinality(String) COMMENT 'Country of the address, which itself is dropped',
    query_type LowCardinality(String) COMMENT 'short_qa, long_form, code_completion, translate_summarize, other; empty: not known',
    content_kind LowCardinality(String) COMMENT 'text, markdown, code, …',
    protocol LowCardinality(String) COMMENT 'sse, websocket, fetch',
    paint_source LowCardinality(String) COMMENT 'interaction_contentful_paint, element_timing, frame',

    conn_rtt_ms Nullable(UInt32) COMMENT 'Round trip the browser estimates, ms' CODEC(ZSTD(1)),
    conn_type LowCardinality(String) COMMENT 'Connection type the browser names',
    conn_downlink_kbit Nullable(UInt32) COMMENT 'Downlink the browser estimates, kbit/s' CODEC(ZSTD(1)),

    time_origin UInt64 COMMENT 'Time origin on the page''s wall clock, µs since 1970; 0: not known' CODEC(ZSTD(1)),
    clock_now_us Nullable(UInt64) COMMENT 'When the beacon was made, µs from the time origin' CODEC(ZSTD(1)),
    wall_now UInt64 COMMENT 'What the page''s wall clock showed then, µs since 1970; 0: not known' CODEC(ZSTD(1)),

    first_feedback_us Nullable(Int64) COMMENT 'First visible reaction, µs from submit (as all that follow; from the time origin without a submit event)' CODEC(ZSTD(1)),
    request_sent_us Nullable(Int64) COMMENT 'Request sent' CODEC(ZSTD(1)),
    headers_us Nullable(Int64) COMMENT 'Response headers received' CODEC(ZSTD(1)),
    first_paint_us Nullable(Int64) COMMENT 'First meaningful paint: the perceived TTFT where has_submit' CODEC(ZSTD(1)),
    aborted_us Nullable(Int64) COMMENT 'The user aborted' CODEC(ZSTD(1)),
    done_us Nullable(Int64) COMMENT 'The stream ended for the page' CODEC(ZSTD(1)),
    closed_us Nullable(Int64) COMMENT 'The page was hidden for good' CODEC(ZSTD(1)),
    error_type LowCardinality(String) COMMENT 'Short class of the error; empty: none',
    finish_reason LowCardinality(String) COMMENT 'Why the stream ended',

    recv_first_us Int64 COMMENT 'First chunk received' CODEC(T64, ZSTD(1)),
    recv_gaps_us Array(UInt32) COMMENT 'Times between consecutive chunks received, µs; n_recv - 1 entries' CODEC(T64, ZSTD(1)),
    recv_bytes Array(UInt32) COMMENT 'UTF-8 bytes of text in each; empty: not known' CODEC(T64, ZSTD(1)),
    recv_kind_runs Array(UInt32) COMMENT 'Runs of kinds, as in streams.kind_runs' CODEC(ZSTD(1)),
    dom_first_us Int64 COMMENT 'First text put into the DOM' CODEC(T64, ZSTD(1)),
    dom_gaps_us Array(UInt32) COMMENT 'Times between consecutive insertions, µs; n_dom - 1 entries' CODEC(T64, ZSTD(1)),
    dom_bytes Array(UInt32) COMMENT 'UTF-8 bytes of each; empty: not known' CODEC(T64, ZSTD(1)),
    paint_first_us Int64 COMMENT 'First paint of text' CODEC(T64, ZSTD(1)),
    paint_gaps_us Array(UInt32) COMMENT 'Times between consecutive paints of new text, µs; n_paint - 1 entries' CODEC(T64, ZSTD(1)),
    paint_bytes Array(UInt32) COMMENT 'UTF-8 bytes that each paint added; empty: not known' CODEC(T64, ZSTD(1)),

    `visibility.t_us` Array(UInt64) COMMENT 'Changes of visibility, µs from the time origin' CODEC(ZSTD(1)),
    `visibility.hidden` Array(Bool) COMMENT 'Hidden from then on',
    `long_frames.t_us` Array(UInt64) COMMENT 'Long animation frames, µs from the time origin' CODEC(ZSTD(1)),
    `long_frames.dur_us` Array(UInt64) COMMENT 'Their durations, µs' CODEC(ZSTD(1)),
    `retractions.t_us` Array(UInt64) COMMENT 'Shown text taken back, µs from the time origin' CODEC(ZSTD(1)),
    `retractions.bytes` Array(UInt32) COMMENT 'How much of it, UTF-8 bytes' CODEC(ZSTD(1)),

    reconnects Nullable(UInt32) COMMENT 'Reconnects of the stream' CODEC(ZSTD(1)),
    lost_beacons Nullable(UInt32) COMMENT 'Beacons the browser refused to send' CODEC(ZSTD(1)),
    bytes_total Nullable(UInt32) COMMENT 'Bytes of generated text received in all' CODEC(ZSTD(1)),

    n_recv UInt32 COMMENT 'Chunks received, in the row' CODEC(T64, ZSTD(1)),
    n_dom UInt32 COMMENT 'DOM insertions, in the row' CODEC(T64, ZSTD(1)),
    n_paint UInt32 COMMENT 'Paints of new text, in the row' CODEC(T64, ZSTD(1)),
    ttft_us Nullable(Int64) COMMENT 'First content-bearing chunk received, in the row' CODEC(ZSTD(1)),
    ttfa_us Nullable(Int64) COMMENT 'First answer chunk received, in the row' CODEC(ZSTD(1)),
    last_us Nullable(Int64) COMMENT 'Last content-bearing chunk received, in the row' CODEC(ZSTD(1)),
    recv_max_gap_us UInt32 COMMENT 'Longest gap between content-bearing chunks received, µs' CODEC(T64, ZSTD(1)),
    paint_max_gap_us UInt32 COMMENT 'Longest gap between paints, µs' CODEC(T64, ZSTD(1)),

    response_id String COMMENT 'Id in the response body' CODEC(ZSTD(1)),
    trace_id String COMMENT 'Trace, 32 hex digits' CODEC(ZSTD(1)),
    aliases Array(String) COMMENT 'Other names of the request that the record carries' CODEC(ZSTD(1)),

    INDEX request_id_bloom request_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(received_at)
PRIMARY KEY (tenant, toStartOfHour(received_at), request_id)
ORDER BY (tenant, toStartOfHour(received_at), request_id, session_id, has_submit, submit_us, seq)
SETTINGS index_granularity = 2048, index_granularity_bytes = 1048576, min_bytes_for_wide_part = 134217728
COMMENT 'Streams as pages saw them, one row for each stream or segment as delivered';
