// Package clocks is the table of what each request of a page's session says of the page's clock against another process's:
// the bounds of package clock, pruned to a few points. A look-up of one request reads those of its session's other
// requests. Rows follow from the joined records alone and are written by the joiner.
package clocks
