// Package ingestbench measures what it costs to bring chunk streams into ClickHouse: CPU seconds of the collector's process
// and of ClickHouse for each million chunks, and bytes on disk for each chunk, beside the floor: the same gaps inserted
// as bare columns with nothing around them. Runs of both alternate in one sitting, since machines are noisy and only
// ratios of one sitting mean something.
//
// The path measured starts with the bytes of an OTLP logs request and ends with rows merged in ClickHouse: decoding, group
// commit, the queue on disk with fsync, batching, conversion to rows, inserts, merges. HTTP and gRPC are not in it.
package ingestbench
