// Package otlp serves OTLP for logs and traces over gRPC and HTTP and hands what they tell of LLM streams to
// a logs pipeline: Fermata's own records, spans with one event for each chunk, one log record for each chunk,
// per-token arrays, plain GenAI spans, and Envoy's access log. Package genai and package envoy under
// receivers/adapters translate; this package is transport, admission and answers.
//
// Requests are walked as protobuf bytes and never become pdata, which would cost more than all the rest
// (package otlpwire). JSON is turned into protobuf first.
package otlp
