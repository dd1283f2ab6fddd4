package wire

import (
	"net/url"
	"strconv"
	"strings"
)

// clientDraft is a page's record while it is read; in a beacon, the envelope or one of its streams.
type clientDraft struct {
	*Client
	recv, dom, paint   chunkDraft
	haveSeq, haveFinal bool
	haveBeaconSeq      bool
	inStream           bool // reading a stream of an envelope
	streamsAt          int  // where the envelope's streams start; 0: none
}

func (c *clientDraft) resetChunks() {
	c.recv.reset(&c.Recv)
	c.dom.reset(&c.DOM)
	c.paint.reset(&c.Paint)
}

var connectionTable = newJSONTable([]jsonField[Client]{
	optRoundField("rtt", wantCount+" of ms", func(c *Client) *Opt[int64] { return &c.ConnRTTMS }),
	strField("type", func(c *Client) *string { return &c.ConnType }),
	{
		name: "downlink", // Mbit/s with a fraction, as navigator.connection has it
		set: func(d *jsonDecoder, c *Client) error {
			b := d.peek()
			if b != '-' && !isDigit(b) {
				return d.wrongType("a number of Mbit/s")
			}
			s, err := d.number()
			if err != nil {
				return err
			}
			f, err := strconv.ParseFloat(string(s), 64)
			if err != nil || f < 0 || f > 1e6 {
				d.fail("is %s; want 0 to 1000000 Mbit/s", clip(string(s)))
				return nil
			}
			c.ConnDownlinkKb = Some(int64(f*1000 + 0.5))
			return nil
		},
		add: func(dst []byte, c *Client) []byte {
			if c.ConnDownlinkKb.OK {
				return strconv.AppendFloat(dst, float64(c.ConnDownlinkKb.V)/1000, 'f', -1, 64)
			}
			return dst
		},
	},
})

var clockTable = newJSONTable([]jsonField[Client]{
	roundField("time_origin", wantInstant, func(c *Client) *int64 { return &c.TimeOrigin }),
	optRoundField("now", wantUS, func(c *Client) *Opt[int64] { return &c.ClockNow }),
	roundField("wall_now", wantInstant, func(c *Client) *int64 { return &c.WallNow }),
})

func at(name string, f func(*clientDraft) *Opt[int64]) jsonField[clientDraft] {
	return optRoundField(name, wantUS, f)
}

// clientTable is a stream of a page, and also an envelope with the fields that its streams inherit.
var clientTable = newJSONTable(
	[]jsonField[clientDraft]{
		strField("request_id", func(c *clientDraft) *string { return &c.RequestID }),
		strField("tenant", func(c *clientDraft) *string { return &c.Tenant }),
		strField("session_id", func(c *clientDraft) *string { return &c.SessionID }),
		seqField(func(c *clientDraft) (*uint32, *bool) { return &c.Seq, &c.haveSeq }),
		{
			name: "beacon_seq",
			set: func(d *jsonDecoder, c *clientDraft) error {
				c.haveBeaconSeq = true
				return beaconSeqField.set(d, c)
			},
			add: beaconSeqField.add,
		},
		finalField(func(c *clientDraft) (bool, *bool, *bool) { return c.Seq != 0, &c.Final, &c.haveFinal }),
		optField("attempt", wantCount, func(c *clientDraft) *Opt[int64] { return &c.Attempt }),
		pageField,
		strField("app", func(c *clientDraft) *string { return &c.App }),
		strField("release", func(c *clientDraft) *string { return &c.Release }),
		strField("browser", func(c *clientDraft) *string { return &c.Browser }),
		strField("os", func(c *clientDraft) *string { return &c.OS }),
		strField("device", func(c *clientDraft) *string { return &c.Device }),
		strField("country", func(c *clientDraft) *string { return &c.Country }),
		strField("query_type", func(c *clientDraft) *string { return &c.QueryType }),
		strField("content_kind", func(c *clientDraft) *string { return &c.ContentKind }),
		strField("protocol", func(c *clientDraft) *string { return &c.Protocol }),
		strField("paint_source", func(c *clientDraft) *string { return &c.PaintSource }),
		objField("connection", connectionTable, func(c *clientDraft) *Client { return c.Client }),
		objField("clock", clockTable, func(c *clientDraft) *Client { return c.Client }),
		at("submit_at", func(c *clientDraft) *Opt[int64] { return &c.Submit }),
		at("first_feedback_at", func(c *clientDraft) *Opt[int64] { return &c.FirstFeedback }),
		at("request_sent_at", func(c *clientDraft) *Opt[int64] { return &c.RequestSent }),
		at("headers_at", func(c *clientDraft) *Opt[int64] { return &c.Headers }),
		at("first_meaningful_paint_at", func(c *clientDraft) *Opt[int64] { return &c.FirstPaint }),
		at("aborted_at", func(c *clientDraft) *Opt[int64] { return &c.Aborted }),
		at("done_at", func(c *clientDraft) *Opt[int64] { return &c.Done }),
		at("closed_at", func(c *clientDraft) *Opt[int64] { return &c.Closed }),
		classField("error", func(c *clientDraft) *string { return &c.ErrorType }),
		strField("finish_reason", func(c *clientDraft) *string { return &c.FinishReason }),
		objField("recv", recvTable, func(c *clientDraft) *chunkDraft { return &c.recv }),
		objField("dom", posTable, func(c *clientDraft) *chunkDraft { return &c.dom }),
		objField("paint", posTable, func(c *clientDraft) *chunkDraft { return &c.paint }),
		visibilityField,
		longFramesField,
		retractionsField,
		optField("reconnects", wantCount, func(c *clientDraft) *Opt[int64] { return &c.Reconnects }),
		optField("lost_beacons", wantCount, func(c *clientDraft) *Opt[int64] { return &c.LostBeacons }),
		optField("bytes_total", wantCount, func(c *clientDraft) *Opt[int64] { return &c.BytesTotal }),
		sampleWeightField,
		strField("response_id", func(c *clientDraft) *string { return &c.ResponseID }),
		hexField("trace_id", func(c *clientDraft) *string { return &c.TraceID }),
		strsField("aliases", func(c *clientDraft) *[]string { return &c.Aliases }),
		{name: "streams", set: func(d *jsonDecoder, c *clientDraft) error {
			if c.inStream {
				d.fail("can't stand inside a stream")
				return d.skip()
			}
			if d.peek() != '[' {
				return d.wrongType("an array of streams")
			}
			c.streamsAt = d.i
			return d.skip()
		}},
	},
)

// maxSampleWeight bounds what one answer may stand for, lest a forged beacon outweigh everything else.
const maxSampleWeight = 10_000

var sampleWeightField = jsonField[clientDraft]{
	name: "sample_weight",
	set: func(d *jsonDecoder, c *clientDraft) error {
		if b := d.peek(); b != '-' && !isDigit(b) {
			return d.wrongType("a number")
		}
		s, err := d.number()
		if err != nil {
			return err
		}
		f, err := strconv.ParseFloat(string(s), 64)
		if err != nil || f < 1 || f > maxSampleWeight {
			d.fail("is %s; want 1 to %d, which is 1 divided by the share of answers that are sent", clip(string(s)), maxSampleWeight)
			return nil
		}
		c.SampleWeight = f
		return nil
	},
	add: func(dst []byte, c *clientDraft) []byte {
		if c.SampleWeight > 0 {
			return strconv.AppendFloat(dst, c.SampleWeight, 'g', -1, 64)
		}
		return dst
	},
}

var beaconSeqField = smallField("beacon_seq", 0, func(c *clientDraft) *uint32 { return &c.BeaconSeq })

// pageField keeps the path of an address: its query, fragment and user part may name a person.
var pageField = func() jsonField[clientDraft] {
	f := strField("page", func(c *clientDraft) *string { return &c.Page })
	set := f.set
	f.set = func(d *jsonDecoder, c *clientDraft) error {
		err := set(d, c)
		c.Page = pagePath(c.Page)
		return err
	}
	return f
}()

func pagePath(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil {
			return "/"
		}
		if s = u.EscapedPath(); s == "" {
			s = "/"
		}
	}
	return s
}

// maxEvents bounds the visibility changes, long frames and retractions of one record.
const maxEvents = 4096

// pairs reads [[t, second], …]; second reads the second element.
func (d *jsonDecoder) pairs(want string, add func(t int64), second func() error) error {
	return d.elements(maxEvents, " of "+want, func(int) error {
		if d.peek() != '[' {
			return d.wrongType(want)
		}
		n := 0
		err := d.elements(maxEvents, "", func(i int) error {
			n++
			switch i {
			case 0:
				t, _, err := d.int(wantUS, true)
				add(t)
				return err
			case 1:
				return second()
			}
			return d.skip()
		})
		if err == nil && n != 2 {
			d.fail("has %d entries; want %s", n, want)
		}
		return err
	})
}

var visibilityField = jsonField[clientDraft]{
	name: "visibility",
	set: func(d *jsonDecoder, c *clientDraft) error {
		var out []VisibilityChange
		err := d.pairs("[t, state]", func(t int64) { out = append(out, VisibilityChange{T: t}) }, func() error {
			s, err := d.string()
			switch s {
			case "hidden", "prerender", "frozen":
				out[len(out)-1].Hidden = true
			case "visible":
			default:
				if err == nil && len(d.errs) == 0 {
					d.fail("is %q; want visible or hidden", clip(s))
				}
			}
			return err
		})
		c.Visibility = out
		return err
	},
	add: func(dst []byte, c *clientDraft) []byte {
		for i, v := range c.Visibility {
			dst = append(dst, "[,"[min(i, 1)], '[')
			dst = strconv.AppendInt(dst, v.T, 10)
			if v.Hidden {
				dst = append(dst, `,"hidden"]`...)
			} else {
				dst = append(dst, `,"visible"]`...)
			}
		}
		return closeList(dst, len(c.Visibility))
	},
}

var longFramesField = jsonField[clientDraft]{
	name: "long_frames",
	set: func(d *jsonDecoder, c *clientDraft) error {
		var out []LongFrame
		err := d.pairs("[t, duration]", func(t int64) { out = append(out, LongFrame{T: t}) }, func() error {
			v, ok, err := d.int(wantUS, true)
			if ok && v < 0 {
				d.fail("is negative (%d)", v)
			}
			out[len(out)-1].Dur = v
			return err
		})
		c.LongFrames = out
		return err
	},
	add: func(dst []byte, c *clientDraft) []byte {
		for i, f := range c.LongFrames {
			dst = appendPair(dst, i, f.T, f.Dur)
		}
		return closeList(dst, len(c.LongFrames))
	},
}

var retractionTable = newJSONTable([]jsonField[Retraction]{
	roundField("t", wantUS, func(r *Retraction) *int64 { return &r.T }),
	smallField("bytes", 0, func(r *Retraction) *uint32 { return &r.Bytes }),
})

var retractionsField = jsonField[clientDraft]{
	name: "retractions",
	set: func(d *jsonDecoder, c *clientDraft) error {
		const want = "[t, bytes] or an object with t and bytes"
		var out []Retraction
		err := d.elements(maxEvents, " of "+want, func(int) error {
			out = append(out, Retraction{})
			r := &out[len(out)-1]
			if d.peek() == '{' {
				return retractionTable.read(d, r)
			}
			if d.peek() != '[' {
				return d.wrongType(want)
			}
			n := 0
			err := d.elements(maxEvents, "", func(i int) (err error) {
				n++
				switch i {
				case 0:
					r.T, _, err = d.int(wantUS, true)
				case 1:
					err = retractionTable.fields[1].set(d, r)
				default:
					err = d.skip()
				}
				return err
			})
			if err == nil && n != 2 {
				d.fail("has %d entries; want %s", n, want)
			}
			return err
		})
		c.Retractions = out
		return err
	},
	add: func(dst []byte, c *clientDraft) []byte {
		for i, r := range c.Retractions {
			dst = appendPair(dst, i, r.T, int64(r.Bytes))
		}
		return closeList(dst, len(c.Retractions))
	},
}

func appendPair(dst []byte, i int, a, b int64) []byte {
	dst = append(dst, "[,"[min(i, 1)], '[')
	dst = strconv.AppendInt(dst, a, 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, b, 10)
	return append(dst, ']')
}

func closeList(dst []byte, n int) []byte {
	if n == 0 {
		return dst
	}
	return append(dst, ']')
}

// AppendClientJSON appends c as a body of POST /v1/rum with one stream. ReceivedAt is not part of it.
func AppendClientJSON(dst []byte, c *Client) []byte {
	return clientTable.write(dst, &clientDraft{
		Client: c, recv: chunkDraft{Chunks: &c.Recv}, dom: chunkDraft{Chunks: &c.DOM}, paint: chunkDraft{Chunks: &c.Paint},
	})
}
