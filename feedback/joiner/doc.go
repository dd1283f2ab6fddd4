// Package joiner is the extension `fermata_joiner`. It looks at the requests that got new records, joins them, and stores
//
//   - one row of scalars for each (table requests), which windows and lists read,
//   - the findings that only several tiers together show, so that they can be listed by window like those of single streams,
//   - what sessions tell of their pages' clocks.
//
// It also tells when streams of one emitter fell silent together, and when the streams of a target's new version feel
// different from those of the one before (package texture).
//
// Its work is idempotent: what it stores follows from the records alone, a state is stored only when it differs from the
// last one, and what later records explain away is withdrawn. Any number of joiners may run; one is enough.
//
// Each record is read once, when the second of its arrival is over and no insert that began in it still runs (package arrivals);
// memory.go holds the records of recent requests, filter.go tells which names are new, so that only what comes late is read
// by id (read.go). pending.go says when a request is joined, rows.go what is written of it, output.go writes what many joins have to be stored. How far everything is written
// is stored: a joiner that was away or killed goes on there.
//
// Versions of findings: the stream processor leaves 1024 between two states of a stream; a state that the joiner adds to
// (attribution, event) is stored 8 above the one it read, so that the next state of the stream still wins.
package joiner
