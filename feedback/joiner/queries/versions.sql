-- Targets with streams of two or more model versions within the window, of which one got new streams since the last
-- comparison; their versions, each with the start of its first stream and how many there are. Reads only keys and
-- low-cardinality columns of the window's granules (skip index on inserted_at).
SELECT tenant, provider, deployment, model, model_version, toUnixTimestamp64Micro(min(started_at)) AS first, count() AS n
FROM streams
WHERE inserted_at >= now() - {window:Int64}
  AND tier = 'server' AND seq = 0 AND final AND NOT synthetic AND model_version != ''
  AND (tenant, provider, deployment, model) IN
  (
      SELECT tenant, provider, deployment, model FROM streams
      WHERE inserted_at >= fromUnixTimestamp({from:Int64}) AND tier = 'server' AND model_version != ''
  )
GROUP BY tenant, provider, deployment, model, model_version
ORDER BY tenant, provider, deployment, model, first, min(inserted_at), model_version
LIMIT 10000
