-- All client records of some request ids, one delivery of each.
-- Index: as streams_by_id.
SELECT `tenant`, `request_id`, `session_id`, `has_submit`, `submit_us`, `seq`, `beacon_seq`, `final`, `attempt`, toUnixTimestamp64Micro(`received_at`), `version`, `page`, `app`, `release`, `browser`, `os`, `device`, `country`, `query_type`, `content_kind`, `protocol`, `paint_source`, `conn_rtt_ms`, `conn_type`, `conn_downlink_kbit`, `time_origin`, `clock_now_us`, `wall_now`, `first_feedback_us`, `request_sent_us`, `headers_us`, `first_paint_us`, `aborted_us`, `done_us`, `closed_us`, `error_type`, `finish_reason`, `recv_first_us`, `recv_gaps_us`, `recv_bytes`, `recv_kind_runs`, `dom_first_us`, `dom_gaps_us`, `dom_bytes`, `paint_first_us`, `paint_gaps_us`, `paint_bytes`, `visibility.t_us`, `visibility.hidden`, `long_frames.t_us`, `long_frames.dur_us`, `retractions.t_us`, `retractions.bytes`, `reconnects`, `lost_beacons`, `bytes_total`, `n_recv`, `n_dom`, `n_paint`, `ttft_us`, `ttfa_us`, `last_us`, `recv_max_gap_us`, `paint_max_gap_us`, `response_id`, `trace_id`, `aliases`
FROM clients
WHERE tenant = {tenant:String} AND request_id IN {ids:Array(String)}
ORDER BY request_id, session_id, has_submit, submit_us, seq, version DESC
LIMIT 1 BY request_id, session_id, has_submit, submit_us, seq
LIMIT {limit:UInt32}
