// Package joiner is the extension `fermata_joiner`. Every second it looks at the requests that got new records, joins them,
// and stores the findings that only several tiers together show, so that they can be listed by window like those of
// single streams. It also tells when streams of one emitter fell silent together, and when the streams of a target's new
// version feel different from those of the one before (package texture).
//
// Its work is idempotent: what it stores follows from the records alone, a state is stored only when it differs from the
// last one, and what later records explain away is withdrawn. Any number of joiners may run; one is enough. A joiner that
// was away looks back catch_up at its start.
//
// Versions of findings: the stream processor leaves 1024 between two states of a stream; a state that the joiner adds to
// (attribution, event) is stored 8 above the one it read, so that the next state of the stream still wins.
package joiner
