// Package ingestextension owns the HTTP listener on which records come in (:4381), so that the receivers
// of all three tiers share one port, its TLS, authentication and CORS. Receivers mount their handlers on it
// with internal/ingest.FindMounter; while the collector starts or stops, paths that are not mounted answer
// 503 with Retry-After, otherwise 404 with the list of paths.
package ingestextension
