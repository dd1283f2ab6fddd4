// Package streamprocessor is the Collector processor that finds what goes wrong inside one stream while it
// runs: stalls, slow episodes, silences that are still open, dead streams, slow starts and repetition loops.
//
// Records pass through unchanged but for the text of chunks, which ends here: it is read for loops and taken
// out, unless the tenant opted in. Findings leave as log records of their own beside the records, and, for
// streams that fall silent, from a timer.
//
// The rules are in packages stall and repetition; this package keeps their state for each open stream, in
// order of the segments, bounded and carried over restarts.
package streamprocessor
