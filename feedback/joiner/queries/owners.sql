-- The requests that claim some ids as those of their answers or as other names, where it is one request. Index: primary key (tenant, alias).
SELECT any(request_id)
FROM aliases
WHERE tenant = {tenant:String} AND alias IN {ids:Array(String)} AND kind != 'trace_id'
GROUP BY alias
HAVING uniqExact(request_id) = 1
