// Package chunkreceiver takes the streams of the server tier: from inference engines and whatever talks to
// them, as JSON or NDJSON on POST /v1/chunks, one object for each stream or segment of a running stream.
//
// Other ways in are parts of the same receiver (parts.go): OTLP logs and spans, and the tap, a reverse proxy
// that records what passes.
package chunkreceiver
