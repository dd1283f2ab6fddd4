// Package clock bounds the offset between two processes' clocks by causality alone: nothing arrives before it
// was sent. It is pure: no I/O, no own clock.
//
// Let θ = client clock − server clock. A request sent at c (client) and received at s (server) gives
// θ ≥ c − s; a byte sent at s and received at c gives θ ≤ c − s. Every byte position of a stream gives such an
// upper bound; the tightest is the least delayed byte.
package clock
