// Command bench measures Fermata beside what it is compared with, in one sitting: CPU seconds by process, bytes on disk,
// times until data is seen, memory. Machines are noisy, so what counts are the ratios of interleaved runs. It prints
// tables for docs/benchmarks.md.
//
//	make build
//	go run ./test/bench -peer /path/to/otelcol-contrib            # everything
//	go run ./test/bench -parts ingest -streams 10000 -runs 1      # a short look, without the peer
//
// # Parts
//
//   - ingest: workload W through a real `fermata collector` process over OTLP/gRPC, OTLP/HTTP and POST /v1/chunks, and as
//     unchanged span events and log records; beside it bare column inserts (the floor) and, with -peer, an OpenTelemetry
//     Collector with the contrib clickhouseexporter that gets the same bytes.
//   - growth: what a chunk costs once ten times as many are there.
//   - beacons: POST /v1/rum, accepted and durable in the queue.
//   - queries: streams with a long gap, percentiles from rollups.
//   - live: how long after a chunk a query shows it while its stream runs, and memory of `fermata up`.
//   - outage: ClickHouse away while streams come, a queue that is full, ten times the callers that are let in.
//
// # The peer
//
// -peer names the binary of any OpenTelemetry Collector that has the otlp receiver, the batch processor and the contrib
// clickhouseexporter, such as the published otelcol-contrib. bench starts it with the configuration in peer.yaml.tmpl
// against the same engine.
package main
