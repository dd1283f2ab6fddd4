-- The latest whole streams of one version of a target, with their chunks; a stream that was delivered twice once.
SELECT {{columns}}
FROM streams
WHERE tenant = {tenant:String} AND provider = {provider:String} AND deployment = {deployment:String} AND model = {model:String}
  AND model_version = {version:String} AND inserted_at >= now() - {window:Int64}
  AND tier = 'server' AND seq = 0 AND final AND NOT synthetic
ORDER BY started_at DESC, request_id, attempt, emitter, version DESC
LIMIT 1 BY started_at, request_id, attempt, emitter
LIMIT {limit:UInt32}
