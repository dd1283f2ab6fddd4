// Package otlpwire reads OTLP trace and log export requests straight from their protobuf bytes.
//
// Decoding one span event for each chunk into Collector pdata costs 160–400 ns a chunk, which is nearly the
// whole cost of taking such streams; walking the bytes costs about 10 ns (docs/benchmarks.md). The walker
// hands out views into the request: nothing is copied, and nothing is valid after the callback returns.
//
// Field numbers are those of opentelemetry-proto v1 (trace.proto, logs.proto, common.proto). Unknown fields
// are skipped; bytes that aren't protobuf give [ErrMalformed].
package otlpwire
