// Package wire holds the records that enter Fermata: one stream or segment of a stream as a server or
// gateway sent it ([Stream]), one request as a gateway handled it ([Gateway]) and one stream as a
// browser received, rendered and painted it ([Client]).
//
// The three types are the JSON bodies of POST /v1/chunks, /v1/gateway and /v1/rum, and the only shapes
// that processors and the exporter know. Every adapter of another system's format ends here; package
// streamlog carries them through Collector pipelines.
//
// Units: instants are integer microseconds since the Unix epoch, offsets and durations integer
// microseconds. Client offsets count from that page's time origin.
package wire
