// Package clock bounds the offset between two processes' clocks by causality alone: nothing arrives before it
// was sent. It is pure: no I/O, no own clock.
//
// Let θ(x) = the client's reading − the server's, at the instant when the server's clock shows x. A request sent at c
// (client) that arrived at s (server) gives θ(s) ≥ c − s; a byte sent at s that arrived at c gives θ(s) ≤ c − s. Both hold
// exactly, whatever the delays. Each byte position of a stream is such an upper bound; the tightest is the least
// delayed byte.
//
// The bounds of all requests of one session are points in the plane of (x, θ). Two clocks that run evenly differ by a
// line, θ(x) = a + b·x with |b| ≤ MaxRate, which lies above every lower point and below every upper one. The lines that
// do are a convex polygon in the plane of (b, a), an intersection of half-planes. At an asked instant the estimate is the
// centre of what these lines reach there, the uncertainty half of it. No line at all is a contradiction: a clock was
// stepped, a page slept, or two records are not of one request.
//
// "Client" and "server" stand for any two processes: a page and a gateway, a gateway and an engine.
package clock
