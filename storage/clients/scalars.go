package clients

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// ComputeScalars computes what is stored beside the arrays of one record, from this record alone.
func ComputeScalars(c *wire.Client) Scalars {
	base := c.Submit.Or(0)
	//nolint:gosec // counts
	out := Scalars{NRecv: uint32(c.Recv.Len()), NDOM: uint32(c.DOM.Len()), NPaint: uint32(c.Paint.Len())}
	last, seen := int64(0), false
	for i, t := range c.Recv.T {
		if !c.Recv.ContentBearing(i) {
			continue
		}
		if !seen {
			out.TTFTUS = table.Some(t - base)
		} else {
			out.RecvMaxGapUS = max(out.RecvMaxGapUS, gap(t-last))
		}
		if !out.TTFAUS.OK && c.Recv.KindAt(i) == wire.KindContent {
			out.TTFAUS = table.Some(t - base)
		}
		last, seen = t, true
	}
	for i := 1; i < c.Paint.Len(); i++ {
		out.PaintMaxGapUS = max(out.PaintMaxGapUS, gap(c.Paint.T[i]-c.Paint.T[i-1]))
	}
	return out
}

func gap(us int64) uint32 {
	return uint32(min(us, wire.MaxGapUS)) //nolint:gosec // bounded
}
