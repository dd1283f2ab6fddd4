// Package tap is a reverse proxy for LLM servers that looks on: bytes pass unchanged, unbuffered and at once, and
// the time of each chunk is recorded from a copy. It emits [wire.Stream] segments through a callback, once a
// second while a stream runs and once when it ends.
//
// What may not happen is written down as rules:
//
//   - Recording never delays or fails a stream. When the callback lags or fails, chunks are merged, then dropped,
//     and counted: in the tap's metrics and in LostChunks of the stream's next segment.
//   - A stream has one writer. All segments go through one goroutine, in the order of their Seq.
//   - A chunk's time is taken when the read that completed it returned, before anything looks at the bytes.
//     Of a compressed answer a copy is decompressed aside; its chunks get the time of the raw read.
//   - The client going away ends the upstream request at once.
//
// docs/tap.md tells what is recorded, from which protocols, and what the tap adds to requests and answers.
package tap
