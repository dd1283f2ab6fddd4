package clients

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// FromWire returns the row of a validated record.
func FromWire(c *wire.Client) Row {
	base := c.Submit.Or(0)
	from := func(o wire.Opt[int64]) table.Opt[int64] {
		return table.Opt[int64]{V: o.V - base, OK: o.OK}.Canonical()
	}
	row := Row{
		Tenant: c.Tenant, RequestID: c.RequestID, SessionID: c.SessionID, HasSubmit: c.Submit.OK,
		SubmitUS: uint64(base), Seq: c.Seq, BeaconSeq: c.BeaconSeq, Final: c.Final, Attempt: table.Count(c.Attempt), //nolint:gosec // never negative
		ReceivedAt: table.Micros(c.ReceivedAt),
		Page:       c.Page, App: c.App, Release: c.Release, Browser: c.Browser, OS: c.OS, Device: c.Device, Country: c.Country,
		QueryType: c.QueryType, ContentKind: c.ContentKind, Protocol: c.Protocol, PaintSource: c.PaintSource,
		ConnRTTMS: table.Count(c.ConnRTTMS), ConnType: c.ConnType, ConnDownlinkKbit: table.Count(c.ConnDownlinkKb),
		TimeOrigin: uint64(c.TimeOrigin), ClockNowUS: table.Offset(c.ClockNow), WallNow: uint64(c.WallNow), //nolint:gosec // never negative
		FirstFeedbackUS: from(c.FirstFeedback), RequestSentUS: from(c.RequestSent), HeadersUS: from(c.Headers),
		FirstPaintUS: from(c.FirstPaint), AbortedUS: from(c.Aborted), DoneUS: from(c.Done), ClosedUS: from(c.Closed),
		ErrorType: c.ErrorType, FinishReason: c.FinishReason,
		RecvBytes: c.Recv.Bytes, RecvKindRuns: table.PackKinds(nil, c.Recv.Kind), DOMBytes: c.DOM.Bytes, PaintBytes: c.Paint.Bytes,
		Reconnects: table.Count(c.Reconnects), LostBeacons: table.Count(c.LostBeacons), BytesTotal: table.Count(c.BytesTotal),
		SampleWeightMilli: milli(c.SampleWeight),
		ResponseID:        c.ResponseID, TraceID: c.TraceID, Aliases: c.Aliases,
	}
	row.RecvFirstUS, row.RecvGapsUS = packFrom(base, c.Recv.T)
	row.DOMFirstUS, row.DOMGapsUS = packFrom(base, c.DOM.T)
	row.PaintFirstUS, row.PaintGapsUS = packFrom(base, c.Paint.T)
	for _, v := range c.Visibility {
		row.VisibilityUS = append(row.VisibilityUS, uint64(v.T)) //nolint:gosec // never negative
		row.VisibilityHidden = append(row.VisibilityHidden, v.Hidden)
	}
	for _, f := range c.LongFrames {
		row.LongFramesUS = append(row.LongFramesUS, uint64(f.T))         //nolint:gosec // never negative
		row.LongFramesDurUS = append(row.LongFramesDurUS, uint64(f.Dur)) //nolint:gosec // bits kept by the way back
	}
	for _, r := range c.Retractions {
		row.RetractionsUS = append(row.RetractionsUS, uint64(r.T)) //nolint:gosec // never negative
		row.RetractionsBytes = append(row.RetractionsBytes, r.Bytes)
	}
	if row.RequestID == "" && wire.ValidID(c.ResponseID) {
		// The page could not read the request id but knows the answer's, which finds the request too.
		row.RequestID = c.ResponseID
	}
	row.Scalars = ComputeScalars(c)
	row.Version = rank(&row)
	return row
}

// milli is a weight in thousandths, none for 0; validation holds it far below what fits.
func milli(weight float64) table.Opt[uint32] {
	return table.Opt[uint32]{V: uint32(math.Round(weight * 1000)), OK: weight > 0}
}

// packFrom is table.PackOffsets with the first offset counted from base.
func packFrom(base int64, t []int64) (int64, []uint32) {
	if len(t) == 0 {
		return 0, nil
	}
	_, gaps := table.PackOffsets(nil, t)
	return t[0] - base, gaps
}

// rank orders the deliveries of one identity by their content alone: a final record beats one that is not,
// then more chunks beat fewer, then 16 bits of a hash of every other column but the arrival decide.
func rank(row *Row) uint64 {
	n := uint64(row.NRecv) + uint64(row.NDOM) + uint64(row.NPaint)
	v := min(n, 1<<24-1)<<16 | xxh3.Hash(Table.AppendContent(nil, row))>>48
	if row.Final {
		v |= 1 << 40
	}
	return v
}

// ToWire returns the record that FromWire stored.
func (row *Row) ToWire() wire.Client {
	base := int64(row.SubmitUS) //nolint:gosec // was an int64
	from := func(o table.Opt[int64]) wire.Opt[int64] {
		if !o.OK {
			return wire.Opt[int64]{}
		}
		return wire.Some(o.V + base)
	}
	offsets := func(n uint32, first int64, gaps []uint32) []int64 {
		return table.UnpackOffsets(int(n), uint64(first+base), gaps) //nolint:gosec // was an int64
	}
	c := wire.Client{
		RequestID: row.RequestID, Tenant: row.Tenant, SessionID: row.SessionID, Seq: row.Seq, BeaconSeq: row.BeaconSeq,
		Final: row.Version>>40 != 0, Attempt: table.Int(row.Attempt),
		Page: row.Page, App: row.App, Release: row.Release, Browser: row.Browser, OS: row.OS, Device: row.Device, Country: row.Country,
		QueryType: row.QueryType, ContentKind: row.ContentKind, Protocol: row.Protocol, PaintSource: row.PaintSource,
		ConnRTTMS: table.Int(row.ConnRTTMS), ConnType: row.ConnType, ConnDownlinkKb: table.Int(row.ConnDownlinkKbit),
		TimeOrigin: int64(row.TimeOrigin), ClockNow: table.Int(row.ClockNowUS), WallNow: int64(row.WallNow), ReceivedAt: int64(row.ReceivedAt), //nolint:gosec // were int64
		FirstFeedback: from(row.FirstFeedbackUS), RequestSent: from(row.RequestSentUS), Headers: from(row.HeadersUS),
		FirstPaint: from(row.FirstPaintUS), Aborted: from(row.AbortedUS), Done: from(row.DoneUS), Closed: from(row.ClosedUS),
		ErrorType: row.ErrorType, FinishReason: row.FinishReason,
		Recv: wire.Chunks{
			T: offsets(row.NRecv, row.RecvFirstUS, row.RecvGapsUS), Bytes: table.List(row.RecvBytes),
			Kind: table.UnpackKinds(int(row.NRecv), row.RecvKindRuns),
		},
		DOM:        wire.Chunks{T: offsets(row.NDOM, row.DOMFirstUS, row.DOMGapsUS), Bytes: table.List(row.DOMBytes)},
		Paint:      wire.Chunks{T: offsets(row.NPaint, row.PaintFirstUS, row.PaintGapsUS), Bytes: table.List(row.PaintBytes)},
		Reconnects: table.Int(row.Reconnects), LostBeacons: table.Int(row.LostBeacons), BytesTotal: table.Int(row.BytesTotal),
		SampleWeight: float64(row.SampleWeightMilli.V) / 1000,
		ResponseID:   row.ResponseID, TraceID: row.TraceID, Aliases: table.List(row.Aliases),
	}
	if row.RequestID == row.ResponseID {
		c.RequestID = ""
	}
	if row.HasSubmit {
		c.Submit = wire.Some(base)
	}
	for i, t := range row.VisibilityUS {
		c.Visibility = append(c.Visibility, wire.VisibilityChange{T: int64(t), Hidden: row.VisibilityHidden[i]}) //nolint:gosec // was an int64
	}
	for i, t := range row.LongFramesUS {
		c.LongFrames = append(c.LongFrames, wire.LongFrame{T: int64(t), Dur: int64(row.LongFramesDurUS[i])}) //nolint:gosec // were int64
	}
	for i, t := range row.RetractionsUS {
		c.Retractions = append(c.Retractions, wire.Retraction{T: int64(t), Bytes: row.RetractionsBytes[i]}) //nolint:gosec // was an int64
	}
	return c
}
