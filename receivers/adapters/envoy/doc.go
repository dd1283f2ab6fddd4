// Package envoy translates Envoy's OpenTelemetry access log into gateway records. README.md has the access
// log configuration that it reads, and what each field becomes.
//
// Envoy writes every attribute as a string and a missing value as "-"; both are expected. Records are known
// by their attributes, in any order; a text body alone is not parsed.
package envoy
