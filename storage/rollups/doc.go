// Package rollups keeps aggregates by minute, for questions about more chunks than can be read: sketches that
// merge, so that a percentile over any window is one small read.
//
// A minute is never added to. When a record of it arrived, the whole minute is computed anew from the source
// tables and replaces what was there: a record that is delivered twice or late counts once.
package rollups
