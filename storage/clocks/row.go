package clocks

import (
	"bytes"
	"cmp"
	"math"

	"github.com/fermata-io/fermata/internal/clock"
	"github.com/fermata-io/fermata/storage/table"
)

// Table is the session_clocks table.
var Table = table.Of[Row]("session_clocks")

// Row is one row of the session_clocks table; its tags are the only list of the table's columns. Its identity is
// (Tenant, SessionID, TimeOrigin, SubmitUS, RequestID, Tier).
type Row struct {
	Tenant     string `ch:"tenant" type:"LowCardinality(String)"`
	SessionID  string `ch:"session_id"`
	TimeOrigin uint64 `ch:"time_origin"` // of the page's clock, µs since the Unix epoch
	SubmitUS   uint64 `ch:"submit_us"`   // of the request, from TimeOrigin
	RequestID  string `ch:"request_id"`
	Tier       string `ch:"tier" type:"LowCardinality(String)"` // the other process: server or gateway
	Version    uint64 `ch:"version" rank:"-"`                   // the row that was made of more records holds

	Peer      string       `ch:"peer" type:"LowCardinality(String)"` // whose clock it is
	StartedAt table.Micros `ch:"started_at"`                         // when the request reached the peer, on its clock

	// Bounds of θ = page − peer, in µs: ThetaUS + LowerUS[i], at the instant StartedAt + LowerAtUS[i].
	ThetaUS   int64    `ch:"theta_us"`
	LowerAtUS []uint64 `ch:"lower_at_us"`
	LowerUS   []int32  `ch:"lower_us"`
	UpperAtUS []uint64 `ch:"upper_at_us"`
	UpperUS   []int32  `ch:"upper_us"`

	// WallUS is how far the page's wall clock was ahead of its time origin plus what had passed since: 0 but for
	// clocks that were set and machines that slept.
	WallUS table.Opt[int64] `ch:"wall_us"`

	Stored bool `ch:"-"` // read from the table
}

// SetBounds stores bounds whose instants are StartedAt or later; points that are far from all others, or earlier, are left
// out, which loosens the bounds.
func (r *Row) SetBounds(b clock.Bounds) {
	r.LowerAtUS, r.LowerUS, r.UpperAtUS, r.UpperUS = nil, nil, nil, nil
	switch {
	case len(b.Lower) > 0:
		r.ThetaUS = b.Lower[0].Theta
	case len(b.Upper) > 0:
		r.ThetaUS = b.Upper[0].Theta
	default:
		r.ThetaUS = 0
	}
	pack := func(ps []clock.Point) (at []uint64, us []int32) {
		for _, p := range ps {
			d := p.Theta - r.ThetaUS
			if p.At < int64(r.StartedAt) || d > math.MaxInt32 || d < math.MinInt32 {
				continue
			}
			at, us = append(at, uint64(p.At-int64(r.StartedAt))), append(us, int32(d)) //nolint:gosec // just checked
		}
		return at, us
	}
	r.LowerAtUS, r.LowerUS = pack(b.Lower)
	r.UpperAtUS, r.UpperUS = pack(b.Upper)
}

// Bounds returns what SetBounds stored.
func (r *Row) Bounds() clock.Bounds {
	unpack := func(at []uint64, us []int32) []clock.Point {
		var out []clock.Point
		for i := range min(len(at), len(us)) {
			out = append(out, clock.Point{At: int64(r.StartedAt) + int64(at[i]), Theta: r.ThetaUS + int64(us[i])}) //nolint:gosec // was an int64
		}
		return out
	}
	return clock.Bounds{Lower: unpack(r.LowerAtUS, r.LowerUS), Upper: unpack(r.UpperAtUS, r.UpperUS)}
}

// Compare orders rows by identity, then version, then content.
func Compare(a, b Row) int {
	if c := cmp.Or(a.compareIdentity(&b), cmp.Compare(a.Version, b.Version)); c != 0 {
		return c
	}
	return bytes.Compare(Table.AppendContent(nil, &a), Table.AppendContent(nil, &b))
}

func (r *Row) compareIdentity(o *Row) int {
	return cmp.Or(cmp.Compare(r.Tenant, o.Tenant), cmp.Compare(r.SessionID, o.SessionID), cmp.Compare(r.TimeOrigin, o.TimeOrigin),
		cmp.Compare(r.SubmitUS, o.SubmitUS), cmp.Compare(r.RequestID, o.RequestID), cmp.Compare(r.Tier, o.Tier))
}

// SameIdentity reports whether two rows are versions of one.
func (r *Row) SameIdentity(o *Row) bool { return r.compareIdentity(o) == 0 }

// Same reports whether two rows say the same, but for their versions.
func (r *Row) Same(o *Row) bool {
	return bytes.Equal(Table.AppendContent(nil, r), Table.AppendContent(nil, o))
}
