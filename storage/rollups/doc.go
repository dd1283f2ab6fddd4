// Package rollups keeps aggregates by minute, for questions about more chunks than can be read: sketches that
// merge, so that a percentile over any window is one small read.
//
// A minute is never added to. When a record of it arrived, the whole minute is computed anew from the source
// tables and replaces what was there: a record that is delivered twice or late counts once. With it is stored up to which second of
// arrival its records were there to be read (package arrivals), so that one whose insert ran meanwhile has it computed again.
//
// One stream stands for each attempt, and its gaps are those of its answers, each by itself: what requests.Assemble tells of
// the records under one id. What an engine logged under the id of its answer counts beside the request that got it.
package rollups
