// Package timeline draws a joined request for a terminal: every tier on one time axis, as lines of blocks whose height is
// the text that came in that slice of time, so that a stall is a hole, buffering a hole with a burst behind it, and
// delay the distance between two lines.
package timeline
