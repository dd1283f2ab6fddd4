// Package higress translates Higress access log lines (JSON) with the ai-statistics plugin's ai_log into
// gateway records. README.md has the mapping. Its tests use the documented shapes: Higress itself could not
// be run.
package higress
