package streams

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// ComputeScalars computes what is stored beside the arrays of one stream or segment. It looks at this record
// alone: the gap between two segments belongs to neither and is added by whoever joins them.
func ComputeScalars(s *wire.Stream) Scalars {
	c := &s.Chunks
	out := Scalars{NChunks: uint32(c.Len())} //nolint:gosec // a count
	if len(c.Tokens) > 0 {
		out.ChunkTokens.OK = true
		for _, t := range c.Tokens {
			out.ChunkTokens.V += uint64(t)
		}
	}
	last, n, longest := int64(0), uint32(0), int64(0)
	var lasts map[uint16]int64 // by choice: answers that run side by side have gaps of their own
	if len(c.Choice) > 0 {
		lasts = map[uint16]int64{}
	}
	for i, t := range c.T {
		if !c.ContentBearing(i) {
			continue
		}
		before, follows := last, n > 0
		if lasts != nil {
			before, follows = lasts[c.Choice[i]]
			lasts[c.Choice[i]] = t
		}
		if follows {
			longest = max(longest, t-before)
		}
		if n == 0 {
			out.FirstUS = table.Some(uint64(t)) //nolint:gosec // never negative
		}
		if !out.AnswerUS.OK && c.KindAt(i) == wire.KindContent {
			out.AnswerUS = table.Some(uint64(t)) //nolint:gosec // never negative
		}
		n++
		last = t
	}
	out.NContent, out.MaxGapUS = n, uint32(min(longest, wire.MaxGapUS)) // several gaps in a row can be longer
	return out
}
