// Package stall finds pauses and slow-downs in one stream while it runs: hitch, stall and freeze, trains of
// them, slow episodes, open silences and dead streams. It also holds the rules for first-token times and
// token rates. It does no I/O and reads no clock: times come with the data.
//
// # Gaps
//
// A gap lies between two content-bearing chunks (reasoning, content, tool, refusal with a payload). For
// chunk i at t_i carrying n_i tokens (1 when not known), with h_i the time the page was hidden in between:
//
//	g_i = t_i − t_(i−1) − h_i        gap
//	x_i = g_i ÷ n_i                  pace, the ITL of the specification
//	m_i = median of x_1 … x_(i−1)    baseline: the stream's own running median
//
// The gap is a stall when g_i ≥ a floor and x_i ≥ Ratio · m_i. The highest floor it reaches is its grade:
// hitch 300 ms, stall 1 s, freeze 5 s; Ratio is 5. Never stalls: the time to the first chunk; the gap after
// the last chunk of a tool call (a tool runs); hidden time; a gap explained by many tokens in the chunk that
// ends it. Keep-alives, role, usage and error chunks are signs of life and never progress.
//
// Gaps below 1 ms are left out of it all: such chunks came out together.
//
// The median is kept as a histogram of quarter octaves (an eighth of an octave off at worst, 2 % as a rule), so that memory and work
// are constant, and its counts are halved at Memory gaps, so that it follows a stream that changes for good.
//
// # Cold start
//
// Until MinGaps gaps are known a baseline would be a guess. Such gaps wait, at most coldGaps of them, and
// are judged as soon as there is a baseline, with their true place. At the end of a shorter stream the
// lower median of what there is decides; a lone gap must be a freeze. While too few gaps are known an open
// silence is raised only as a freeze.
//
// # Episodes
//
// Stalls belong together when at most MergeChunks ordinary gaps lie between them and these take less than a
// quarter of the mean stall: they are one finding that starts with the first gap and ends with the last.
// Stalls that come at regular distances without belonging together stay apart and say so (EveryChunks).
//
// A slow episode is a many-fold fall of pace that crosses no floor. With y_i = log2(x_i / m), m held since
// the sum was last zero, Page's one-sided cumulative sum runs over clipped differences:
//
//	S_i = max(0, S_(i−1) + min(y_i − k, c))   k = ½·log2(SlowFactor), c = 2
//
// S ≥ h (8) and at least SlowMinDuration since S left zero raises an episode that started where S left
// zero. A mirrored sum finds its end. The clip lets no single gap decide; k is the middle between the
// baseline and a fall by SlowFactor (4), which makes the test most sensitive to just that fall. When a
// stream begins slow and later runs SlowFactor times as fast for long, its beginning is the episode.
//
// Sources: E. S. Page, "Continuous Inspection Schemes", Biometrika 41 (1954), for the sum and the estimate of
// its start; G. Lorden, "Procedures for Reacting to a Change in Distribution", Ann. Math. Statist. 42 (1971),
// for its delay.
//
// # State
//
// A [Tracker] is a flat value below 1 kB, some 300 bytes when encoded; [Tracker.AppendBinary] and [Tracker.UnmarshalBinary] carry it
// across restarts and hand-overs.
package stall
