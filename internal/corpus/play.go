package corpus

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// CaseFacts are the fields of a case's stream beside its chunks. Times are ms on the stream's own clock.
type CaseFacts struct {
	Visibility       [][2]any `json:"vis"`
	Close            string   `json:"close"` // how a client's stream ended: reset, abort, pagehide
	Closed           *float64 `json:"closed"`
	ChunkBytes       uint32   `json:"chunk_bytes"`
	Version          string   `json:"version"`
	Span             string   `json:"span"`
	Trace            string   `json:"trace"`
	Start            float64  `json:"start"`
	CompletionStart  *float64 `json:"completion_start"`
	LogTokens        int64    `json:"tokens"`
	Send             *float64 `json:"send"`
	FirstByte        *float64 `json:"first_byte"`
	FirstPaint       *float64 `json:"first_paint"`
	End              *float64 `json:"end"`
	ClockOffsetHours float64  `json:"clock_offset_h"`
	DownstreamClosed *float64 `json:"downstream_closed"`
	UpstreamClosed   *float64 `json:"upstream_closed"`
	Part             uint32   `json:"part"`
	BodyBytes        int64    `json:"bytes"`
	Queued           *bool    `json:"queued"`
	Attempt          uint32   `json:"attempt"`
	QueryType        string   `json:"query_type"`
	ResponseID       string   `json:"response_id"`
	NoID             bool     `json:"no_id"` // the page does not know the request's id
	Share            float64  `json:"share"` // chunks that a paint shows; 0: all that were received
	Retractions      [][2]int `json:"retractions"`
	LongFrames       [][2]int `json:"long_frames"`
	// Attempts are a gateway's; start and end in ms.
	Attempts []struct {
		Attempt    uint32  `json:"attempt"`
		Start      float64 `json:"start"`
		End        float64 `json:"end"`
		Status     int32   `json:"status"`
		Deployment string  `json:"deployment"`
		Served     bool    `json:"served"`
	} `json:"attempts"`
}

// Records are a case as real senders would send it.
type Records struct {
	Streams  []wire.Stream
	Gateways []wire.Gateway
	Clients  []wire.Client
}

// pageAgeUS is how long the page of a case had been open when its first request began.
const pageAgeUS = 10_000_000

// deployUS is how much later than its case's old version the new one runs.
const deployUS = 300_000_000

// Play makes the records of a case. prefix keeps request ids of different cases apart; baseUS is the instant
// of the case's time 0.
func (c *Case) Play(prefix string, baseUS int64) Records {
	var r Records
	pages := map[string]*wire.Client{}
	var order []string
	page := func(s *CaseStream) *wire.Client {
		p := pages[s.Request]
		if p == nil {
			p = &wire.Client{
				RequestID: requestID(prefix, s.Request), Tenant: wire.DefaultTenant, SessionID: prefix + "s-" + s.Request, Final: true,
				App: "chat", TimeOrigin: baseUS - pageAgeUS, Submit: wire.Some[int64](pageAgeUS), RequestSent: wire.Some[int64](pageAgeUS),
			}
			if s.Version == "new" {
				p.TimeOrigin += deployUS
			}
			pages[s.Request], order = p, append(order, s.Request)
		}
		return p
	}
	for i := range c.Streams {
		s := &c.Streams[i]
		switch s.Source {
		case "server":
			r.Streams = append(r.Streams, s.engine(prefix, baseUS))
		case "log":
			r.Streams = append(r.Streams, s.log(prefix, baseUS))
		case "gateway":
			r.gateway(s, prefix, baseUS)
		case "client":
			size := s.ChunkBytes
			for k := range c.Streams {
				if o := &c.Streams[k]; size == 0 && o.Source == "server" && o.Request == s.Request {
					size = o.ChunkBytes
				}
			}
			s.received(page(s), size)
		case "paint":
			share := s.Share
			if c.ID == "P03" {
				share = 1
			}
			s.painted(page(s), share)
		case "rum":
			s.scalars(page(s), baseUS)
		case "beacon":
			r.beacon(s, prefix, baseUS)
		}
	}
	for _, k := range order {
		r.Clients = append(r.Clients, *pages[k])
	}
	return r
}

func requestID(prefix, id string) string {
	if id == "" {
		return "" // the page could not read it
	}
	return prefix + id
}

func us(ms float64) int64 { return int64(math.Round(ms * 1000)) }

// engine is the stream as a server tells it: aborts and resets are an end, not a chunk.
func (s *CaseStream) engine(prefix string, baseUS int64) wire.Stream {
	if s.Version == "new" {
		baseUS += deployUS
	}
	w := wire.Stream{
		RequestID: requestID(prefix, s.Request), Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Emitter: "engine", Final: true,
		Target: wire.Target{Model: "case-model", ModelVersion: s.Version}, StartedAt: baseUS + us(s.T0), FinishReason: s.Finish,
		QueryType: s.QueryType, ResponseID: s.ResponseID, Chunks: s.columns(),
	}
	if s.Attempt > 0 {
		w.Attempt = s.Attempt
	}
	if n := len(s.T); n > 0 {
		w.EndUS = wire.Some(us(s.T[n-1]))
	}
	if s.ObservedUntil > 0 {
		w.Final, w.EndUS, w.ObservedUS = false, wire.Opt[int64]{}, wire.Some(us(s.ObservedUntil))
	}
	if s.Usage.CompletionTokens > 0 {
		w.OutputTokens = wire.Some(s.Usage.CompletionTokens)
	}
	if s.Span != "" {
		w.SpanID = hexOf(s.Span)[:16]
	}
	return w
}

// columns returns the chunks, the final X taken off.
func (s *CaseStream) columns() wire.Chunks {
	c := s.C
	if n := c.Len(); n > 0 && s.Aborted {
		n--
		c.T, c.Kind, c.Bytes, c.Text = c.T[:n], c.Kind[:n], c.Bytes[:n], c.Text[:n]
		if len(c.Tokens) > 0 {
			c.Tokens = c.Tokens[:n]
		}
	}
	if len(s.Texts) == 0 {
		c.Text = nil
	}
	if s.ChunkBytes > 0 {
		c.Bytes = append([]uint32(nil), c.Bytes...)
		for i := range c.Bytes {
			if c.Kind[i].ContentBearing() {
				c.Bytes[i] = s.ChunkBytes
			}
		}
	}
	return c
}

func (s *CaseStream) log(prefix string, baseUS int64) wire.Stream {
	w := wire.Stream{
		RequestID: requestID(prefix, s.Request), Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Emitter: "trace-log", Final: true,
		Target: wire.Target{Model: "case-model"}, StartedAt: baseUS + us(s.Start), FinishReason: "stop",
		Reported: wire.Reported{Definition: "litellm"},
	}
	if s.CompletionStart != nil {
		w.Reported.TTFTUS = wire.Some(us(*s.CompletionStart - s.Start))
	}
	if s.End != nil {
		w.EndUS = wire.Some(us(*s.End - s.Start))
		w.Reported.E2EUS = w.EndUS
	}
	if s.LogTokens > 0 {
		w.OutputTokens = wire.Some(s.LogTokens)
	}
	if s.Trace != "" {
		w.TraceID = hexOf(s.Trace)
	}
	return w
}

func (r *Records) gateway(s *CaseStream, prefix string, baseUS int64) {
	g := wire.Gateway{
		RequestID: requestID(prefix, s.Request), Tenant: wire.DefaultTenant, Emitter: "gateway", ReceivedAt: baseUS + us(s.T0),
	}
	if s.DownstreamClosed != nil {
		g.CancelledAt = baseUS + us(*s.DownstreamClosed)
	}
	if s.UpstreamClosed != nil {
		g.UpstreamClosedAt = baseUS + us(*s.UpstreamClosed)
	}
	for _, a := range s.Attempts {
		g.Attempts = append(g.Attempts, wire.Attempt{
			Attempt: a.Attempt, Deployment: a.Deployment, Start: baseUS + us(a.Start), End: baseUS + us(a.End), Status: a.Status, Served: a.Served,
		})
	}
	r.Gateways = append(r.Gateways, g)
	if len(s.T) > 0 {
		w := s.engine(prefix, baseUS)
		w.Tier, w.Emitter = wire.TierGateway, "gateway"
		r.Streams = append(r.Streams, w)
	}
}

// received fills in what the page received and how it ended.
func (s *CaseStream) received(p *wire.Client, size uint32) {
	if s.Version != "" {
		p.Release = s.Version
	}
	seen := us(s.T0) + pageAgeUS
	for i, t := range s.C.T {
		at := seen + t
		switch k := s.C.Kind[i]; {
		case k == wire.KindDone:
			p.Done = wire.Some(at)
		case i == s.C.Len()-1 && s.Aborted:
			switch s.Close {
			case "abort":
				p.Aborted = wire.Some(at)
			case "pagehide":
				p.Closed = wire.Some(at)
			default:
				p.ErrorType, p.Closed = "connection_reset", wire.Some(at)
			}
		default:
			n := s.C.Bytes[i]
			if size > 0 {
				n = size
			} else if i < len(s.C.Tokens) && s.C.Tokens[i] > 1 {
				n *= s.C.Tokens[i]
			}
			p.Recv.T, p.Recv.Bytes, p.Recv.Kind = append(p.Recv.T, at), append(p.Recv.Bytes, n), append(p.Recv.Kind, k)
		}
	}
	s.page(p)
}

// painted fills in the paints: each shows all that was received, or so many chunks.
func (s *CaseStream) painted(p *wire.Client, share float64) {
	got, shown := 0, 0
	for i, t := range s.T {
		at := us(s.T0) + pageAgeUS + us(t)
		for got < p.Recv.Len() && p.Recv.T[got] <= at {
			got++
		}
		n := uint32(0)
		for shown < got {
			n += p.Recv.Bytes[shown]
			shown++
			if share > 0 && float64(shown) >= share*float64(i+1) {
				break
			}
		}
		p.Paint.T, p.Paint.Bytes = append(p.Paint.T, at), append(p.Paint.Bytes, n)
	}
	if len(p.Paint.T) > 0 {
		p.FirstPaint = wire.Some(p.Paint.T[0])
	}
	s.page(p)
}

func (s *CaseStream) page(p *wire.Client) {
	for _, v := range s.Visibility {
		t, _ := v[0].(float64)
		p.Visibility = append(p.Visibility, wire.VisibilityChange{T: us(s.T0) + pageAgeUS + us(t), Hidden: v[1] == "hidden"})
	}
	for _, v := range s.Retractions {
		p.Retractions = append(p.Retractions, wire.Retraction{T: us(s.T0) + pageAgeUS + us(float64(v[0])), Bytes: uint32(v[1])}) //nolint:gosec // small
	}
	for _, v := range s.LongFrames {
		p.LongFrames = append(p.LongFrames, wire.LongFrame{T: us(s.T0) + pageAgeUS + us(float64(v[0])), Dur: us(float64(v[1]))})
	}
	if s.ResponseID != "" {
		p.ResponseID = s.ResponseID
	}
	if s.NoID {
		p.RequestID = ""
	}
	if s.Closed != nil {
		p.Closed = wire.Some(us(s.T0) + pageAgeUS + us(*s.Closed))
	}
}

func (s *CaseStream) scalars(p *wire.Client, baseUS int64) {
	p.TimeOrigin = baseUS - pageAgeUS + int64(s.ClockOffsetHours*3600e6)
	p.Submit, p.RequestSent = wire.Opt[int64]{}, wire.Opt[int64]{}
	for _, f := range []struct {
		ms  *float64
		dst *wire.Opt[int64]
	}{{s.Send, &p.Submit}, {s.Send, &p.RequestSent}, {s.FirstPaint, &p.FirstPaint}, {s.End, &p.Done}} {
		if f.ms != nil {
			*f.dst = wire.Some(pageAgeUS + us(*f.ms))
		}
	}
	if s.FirstByte != nil {
		p.Recv.T = append(p.Recv.T, pageAgeUS+us(*s.FirstByte))
	}
}

// beacon is one part of what a page sends while it goes. What the browser refused is told by a later, smaller one.
func (r *Records) beacon(s *CaseStream, prefix string, baseUS int64) {
	c := wire.Client{
		RequestID: requestID(prefix, s.Request), Tenant: wire.DefaultTenant, SessionID: prefix + "s", Seq: s.Part, BeaconSeq: s.Part,
		TimeOrigin: baseUS - pageAgeUS, Submit: wire.Some[int64](pageAgeUS), RequestSent: wire.Some[int64](pageAgeUS),
	}
	if s.Queued != nil && !*s.Queued {
		c.LostBeacons, c.Final = wire.Some[int64](1), true
	} else {
		const size = 20
		for i := range min(s.BodyBytes/size, 200) {
			c.Recv.T = append(c.Recv.T, pageAgeUS+500_000+int64(s.Part)*4_000_000+i*size*1000)
			c.Recv.Bytes = append(c.Recv.Bytes, size)
		}
	}
	r.Clients = append(r.Clients, c)
}

func hexOf(s string) string {
	h := xxh3.HashString128(s).Bytes()
	return hex.EncodeToString(h[:])
}

// String names the case.
func (c *Case) String() string { return fmt.Sprintf("%s %s", c.ID, c.Title) }
