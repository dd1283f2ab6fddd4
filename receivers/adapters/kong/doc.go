// Package kong translates Kong Gateway's log entries (http-log, file-log, tcp-log, kafka-log) with the AI
// plugins' analytics into gateway records. README.md has the mapping. Its tests use the documented shapes:
// Kong itself could not be run.
package kong
