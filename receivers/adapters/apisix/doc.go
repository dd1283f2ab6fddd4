// Package apisix translates Apache APISIX's log entries (http-logger, kafka-logger, file-logger, …) of routes
// with ai-proxy or ai-proxy-multi into gateway records. README.md has the mapping. Its tests use the
// documented shapes: APISIX itself could not be run.
package apisix
