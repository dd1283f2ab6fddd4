-- The requests that got answers of some ids, where it is one request. Index: primary key (tenant, alias).
SELECT any(request_id)
FROM aliases
WHERE tenant = {tenant:String} AND alias IN {ids:Array(String)} AND kind = 'response_id'
GROUP BY alias
HAVING uniqExact(request_id) = 1
