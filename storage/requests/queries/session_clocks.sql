-- What the requests of one session that lie nearest in time say of its page's clock.
-- Index: primary key (tenant, session_id, time_origin, submit_us), read in order from the asked request both ways: a
-- granule or two a part, however long the session is. Versions of a row are told apart by the reader.
SELECT *
FROM
(
    SELECT {{columns}}
    FROM session_clocks
    WHERE tenant = {tenant:String} AND session_id = {session:String} AND time_origin = {origin:UInt64} AND submit_us <= {at:UInt64}
    ORDER BY tenant DESC, session_id DESC, time_origin DESC, submit_us DESC
    LIMIT {limit:UInt32}
)
UNION ALL
SELECT *
FROM
(
    SELECT {{columns}}
    FROM session_clocks
    WHERE tenant = {tenant:String} AND session_id = {session:String} AND time_origin = {origin:UInt64} AND submit_us > {at:UInt64}
    ORDER BY tenant, session_id, time_origin, submit_us
    LIMIT {limit:UInt32}
)
