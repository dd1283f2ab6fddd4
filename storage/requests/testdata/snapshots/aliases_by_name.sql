-- The requests that carry a name; with two different ones it is ambiguous.
-- Index: primary key (tenant, alias).
SELECT request_id, max(kind != 'trace_id') AS claims
FROM aliases
WHERE tenant = {tenant:String} AND alias = {name:String}
GROUP BY request_id
ORDER BY claims DESC, request_id
LIMIT {limit:UInt32}
