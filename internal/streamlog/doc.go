// Package streamlog carries the records of package wire through Collector pipelines, queues and Kafka as
// OTLP log records: one log record for each wire record, its event name telling the type, its scalars as
// attributes and its chunk arrays packed into byte attributes.
//
// The same form is what OTLP senders may use to hand in streams (docs/otlp.md): packed arrays cost a
// collector a tenth of what one span event for each chunk costs.
//
// Records are read from pdata, or straight from the bytes of a request or a queue (View). One table for each type of record, in
// records.go, serves both, and writing.
//
// # Packed arrays
//
//   - fermata.chunks.dt: unsigned varints; the first is the first chunk's offset in µs, each next one the
//     difference to the chunk before. An int array attribute, or fermata.chunks.t with absolute offsets,
//     is read too.
//   - fermata.chunks.bytes, fermata.chunks.tokens: one unsigned varint for each chunk.
//   - fermata.chunks.kind: pairs of one byte (the kind's number) and an unsigned varint (how many chunks in
//     a row). A string array of kind names is read too.
//   - fermata.chunks.choice: pairs of unsigned varints (choice, how many chunks in a row).
//   - fermata.chunks.logprob: float32, little-endian, one for each chunk.
package streamlog
