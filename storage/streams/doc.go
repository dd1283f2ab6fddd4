// Package streams is the table of server and gateway chunk streams: one row for each stream or stream
// segment as it was delivered, with its chunk arrays and the scalars computed once at ingest.
//
// A row's identity is wire.Stream's; a delivery that comes twice makes a second equal row until a merge
// drops it, so every read picks one row for each identity: the one with the greatest version. The version
// is a rank of the content alone (see rank), so the same row wins in whatever order deliveries arrive.
package streams
