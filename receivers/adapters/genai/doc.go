// Package genai translates OTLP spans and log records about LLM calls into wire records: Fermata's own
// attributes, one event or log record for each chunk or token, per-token arrays, and plain GenAI spans that
// only tell phases and times. README.md lists every form and where its names come from.
//
// The package is pure: no clock, no I/O, no logger. It reads the views that package otlpwire hands out and
// copies what it keeps.
package genai
