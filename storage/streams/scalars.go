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
	last := int64(0)
	var lasts map[uint16]int64 // by choice: answers that run side by side have gaps of their own
	if len(c.Choice) > 0 {
		lasts = map[uint16]int64{}
	}
	for i, t := range c.T {
		if !c.ContentBearing(i) {
			continue
		}
		if out.NContent == 0 {
			out.FirstUS = table.Some(uint64(t)) //nolint:gosec // never negative
		}
		before, follows := last, out.NContent > 0
		if lasts != nil {
			before, follows = lasts[c.Choice[i]]
			lasts[c.Choice[i]] = t
		}
		if follows {
			gap := uint32(t - before) //nolint:gosec // below MaxGapUS, or several of them in a row
			if t-before > wire.MaxGapUS {
				gap = wire.MaxGapUS
			}
			out.MaxGapUS = max(out.MaxGapUS, gap)
		}
		if !out.AnswerUS.OK && c.KindAt(i) == wire.KindContent {
			out.AnswerUS = table.Some(uint64(t)) //nolint:gosec // never negative
		}
		out.NContent++
		last = t
	}
	return out
}
