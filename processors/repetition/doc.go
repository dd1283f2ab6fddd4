// Package repetition finds loops in the text of a stream while it runs: the tail of a channel's text has a
// period. It works in any script, for periods from one character to about 3 000, in constant memory and with
// constant work per character. It does no I/O and keeps no text beyond the last 512 characters of a channel.
//
// # Two followers
//
// Characters: with s_i the i-th character, a period p is followed as long as s_i = s_(i−p); the length of
// that run, r, gives copies = 1 + r/p and start = i − r − p. Candidates for p come from a table of 256
// entries: where were the last eight characters last seen? p is at most 384, which the ring of the last 512
// characters allows to follow and to extend backwards.
//
// Words: the same with words instead of characters and 500 words at most. A word is a run of letters, digits
// and underscores with the white space and punctuation after it; where a script or format has no spaces the
// content decides where it ends (as in content-defined chunking), so that equal texts are cut alike. Of each
// word 16 bits are kept: a hash in which a run of digits counts as one '#' and a run of white space as one
// blank, a class, and a few bits of the exact hash. Words may miss: a track of n words of which m match has
// quality m/n, is dropped when that falls below 0.6 or nothing matches for long, and takes another period
// when the last three words were last seen a little nearer or farther (copies that grow or shrink). A
// challenger without misses, such as a longer period, takes its place.
//
// No index of the text is kept and no work grows with it. A text that repeats long enough is found because
// its newest eight characters (three words) were then, but for collisions in the table, last seen exactly one
// period back. Test oracles use the Z function (D. Gusfield, "Algorithms on Strings, Trees, and Sequences",
// 1997) on the whole text instead.
//
// # Judgement
//
// What is a loop depends on what a copy says, on how copies agree and on how the text ended, see judge.go
// and docs/detection.md for the numbers:
//
//   - exact copies need MinRepeats (3) and MinChars (60) in all when the text ran to its limit, more where there
//     is less to read: code and data, rulers and boxes, text without words such as base64;
//   - copies that differ in digits or white space (masked) or in a word (drifting) are a loop only while they
//     say nothing new: a running number may change, the share of words that match must be high, and there
//     must be sentences;
//   - a text that ended by itself may have been asked to repeat something: much more is needed;
//   - while the text goes on a loop is raised before its fifth copy, or third for periods of 200 characters
//     on; it is withdrawn when the text leaves it, unless it was very long, or ends by itself.
package repetition
