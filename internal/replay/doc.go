// Package replay reads recordings and result files of other tools and turns them into wire records: the readers of
// `fermata replay`.
//
// Reading a file twice gives the same records: request ids come from the file, or from a hash of its content and the
// options that shape the record, and times come from the file or from a stated model with a fixed seed. A server that
// stores a record once however often it is sent therefore doesn't change when a replay is repeated.
//
// Readers keep what was measured and nothing else. Where a tool recorded each chunk, each chunk is there; where it kept
// only its own averages, those are kept under the tool's name ([wire.Reported]) and no chunk times are made up. Traces
// that hold nothing but arrivals and token counts get chunk times from a [Pacing], and are marked Synthetic. Text is
// measured and dropped.
package replay
