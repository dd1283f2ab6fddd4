// Package crosstier finds what goes wrong between the tiers of one request: buffering, stalls that only the
// user has, render lag, connections dropped at an idle limit, waste after an abort, gaps between what was felt
// and what was measured, and orders of events that can't be true. It does no I/O and reads no clock.
//
// # Comparing two tiers
//
// Absolute times of two clocks are never subtracted. Two curves of cumulative content are compared at the
// same position: with t_U(p) the time when the upstream tier had sent p bytes of text, and t_D(p) when the
// downstream tier had received them, a downstream gap between positions p and q is the upstream's own when
//
//	t_U(q) − t_U(p) ≥ ½ · (t_D(q) − t_D(p))
//
// which needs no clock. The ruler is bytes of text; where one side does not know them, or counts other bytes,
// it is the number of content-bearing chunks, provided that the counts agree; else the share of the whole.
//
// Where an event of one tier must be placed on the other's clock (what was produced after an abort), only what
// causality makes certain is used: a server's event at offset s happened, on the page's clock, at
// request_sent + s or later, since the request can't arrive before it was sent. A joined clock narrows this.
//
// # Rules
//
// buffering: a release is a run of downstream chunks that arrive at once; it was held back when the upstream
// took at least HeldFloor (300 ms) and four times as long to send the same content. One release with nine
// tenths of the content is buffering until the end; at least two with six tenths together are periodic:
// driven by time when the intervals between releases vary less than their sizes or are a round time, by size
// otherwise. Gaps that buffering explains are no stalls.
//
// stall, slow_episode, dead_stream of the client: the rules of package stall on what the page received, less
// the time it was hidden. One whose positions the server took as long to send is the server's and not told
// twice. The others are attributed: a gateway's own flat curve, or one kind of chunk held back while another
// passed (a program that reads the events did it), is gateway; a long animation frame is render; flat, then
// everything at once for more than 3 s is proxy_buffering; else network. Without the server's curve: unknown.
//
// render_lag: text was received and for at least 1 s and five times the page's usual pace not painted, the
// page being visible; or painting went on for at least 2 s after the last byte, or never ended.
//
// idle_drop: a connection broke, not by the user, after a silence of a common idle limit, and the upstream was
// alive. cancel_waste: at least 500 ms and two chunks produced after the user went away; on the gateway's leg
// when the gateway knew and kept its upstream.
//
// perceived_gap: submit to first paint takes at least 1 s and twice as long as the server's TTFT.
// retraction: text was taken back. semantic_gap: nothing else explains that delays vary by more than 15 ms on
// average while the user's gaps deviate by more than 450 ms. clock_conflict: a server's first token later
// than the user's first text, clocks that no offset fits, or a page clock that stood still. id_conflict: two
// streams under one id.
package crosstier
