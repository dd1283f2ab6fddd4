package crosstier

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// Request is one joined request as crosstier needs it. A tier that is nil is not known. Offsets of streams
// count from their StartedAt, those of the client from its TimeOrigin, as on the wire.
type Request struct {
	Tenant    string
	RequestID string
	QueryType string
	Target    wire.Target
	Attempt   uint32 // the served one, which Server and Relay are of

	Server  *wire.Stream  // the engine's stream, its segments merged
	Relay   *wire.Stream  // the gateway's own stream
	Gateway *wire.Gateway // what the gateway says of the request
	Client  *wire.Client  // what the page saw, its segments merged
	// PageBeganAt is when the page's submit event was by the receiver's clock, µs since the Unix epoch; 0: not known. Findings of a page
	// that no other tier tells of are placed by it.
	PageBeganAt int64
	Clock       *Clock // nil: the clocks are not bounded
	// Parts are what the gap between perceived and server TTFT consists of, in the order in which they passed; they add up to it.
	// Empty: not known.
	Parts []Part
	// Conflicts are what can't be true of one request, as the join found it: id_conflict and clock_conflict.
	Conflicts []Conflict
	// Found are the findings of single streams of this request.
	Found []wire.Finding
}

// Clock relates the page's clock to the server's: page time = server time + OffsetUS ± UncertaintyUS.
type Clock struct{ OffsetUS, UncertaintyUS int64 }

// Part is one part of the gap between what the user felt and what the server measured: page, uplink, gateway_queue, …
type Part struct {
	Name              string
	US, UncertaintyUS int64
}

// Conflict is a contradiction between records of one request.
type Conflict struct {
	Kind    wire.FindingKind
	Tier    wire.Tier
	Attempt uint32
	Emitter string
	Detail  string  // which rule was broken
	Numbers []int64 // the numbers that disagree
}

// Derive returns the findings that only several tiers together show, by kind and place, and those of
// Request.Found whose attribution the other tiers change. It is a function of r alone. The identities of what it
// returns do not depend on which records are still missing; Revision is left 0.
func Derive(r *Request, cfg *Config) (found, refined []wire.Finding) {
	v := newView(r, cfg)
	v.conflicts()
	v.retractions()
	v.drop()
	v.waste()
	v.buffering()
	v.clientStalls()
	v.renderLag()
	v.perceivedGap()
	v.semanticGap()
	slices.SortFunc(v.out, func(a, b wire.Finding) int {
		return cmp.Or(cmp.Compare(a.StartUS, b.StartUS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return v.out, v.refine()
}

// view is a request made ready for comparing. Client offsets count from origin: the submit event, else the
// request's sending, else the first thing known.
type view struct {
	r   *Request
	cfg *Config
	out []wire.Finding

	server, relay    curve
	recv, dom, paint curve
	recvAll          wire.Chunks // with its chunks that bear no content; from origin
	hidden           []window
	frames           []window
	origin           int64 // from the time origin
	sent             int64 // the request's sending, from origin: not before it was the request sent
	pinned           bool  // sent or submit is known
	end              ending

	dropped    bool // the connection broke at an idle limit
	buffered   []release
	impossible bool // the server's first token can't be true
}

// ending is how the page's stream ended. Offsets from origin.
type ending struct {
	how how
	at  int64
}

type how uint8

const (
	howUnknown how = iota
	howDone
	howAborted // by the user
	howFailed
)

func newView(r *Request, cfg *Config) *view {
	v := &view{r: r, cfg: cfg}
	if r.Server != nil {
		v.server = curveOf(&r.Server.Chunks, 0)
	}
	if r.Relay != nil {
		v.relay = curveOf(&r.Relay.Chunks, 0)
	}
	c := r.Client
	if c == nil {
		return v
	}
	v.origin = originOf(c)
	v.sent = max(0, c.RequestSent.Or(v.origin)-v.origin)
	v.pinned = c.RequestSent.OK || c.Submit.OK
	v.recvAll = c.Recv
	v.recvAll.T = slices.Clone(c.Recv.T)
	for i := range v.recvAll.T {
		v.recvAll.T[i] -= v.origin
	}
	v.recv, v.dom, v.paint = curveOf(&c.Recv, -v.origin), curveOf(&c.DOM, -v.origin), curveOf(&c.Paint, -v.origin)
	v.hidden = hiddenWindows(c.Visibility, -v.origin)
	for _, f := range c.LongFrames {
		v.frames = append(v.frames, window{f.T - v.origin, f.T - v.origin + f.Dur})
	}
	v.end = v.endingOf(c)
	return v
}

// originOf is the offset that the client's offsets in answers and findings count from.
func originOf(c *wire.Client) int64 {
	for _, o := range []wire.Opt[int64]{c.Submit, c.RequestSent} {
		if o.OK {
			return o.V
		}
	}
	at := forever
	for _, o := range []wire.Opt[int64]{c.FirstFeedback, c.Headers, c.FirstPaint, c.Aborted, c.Done} {
		if o.OK {
			at = min(at, o.V)
		}
	}
	for _, l := range []*wire.Chunks{&c.Recv, &c.DOM, &c.Paint} {
		if l.Len() > 0 {
			at = min(at, l.T[0])
		}
	}
	if at == forever {
		return 0
	}
	return at
}

// endingOf decides how the page's stream ended. What comes after its done event is no abort; leaving the page
// before it is one.
func (v *view) endingOf(c *wire.Client) ending {
	rel := func(o wire.Opt[int64]) int64 { return o.V - v.origin }
	if c.ErrorType != "" && !wire.UserAbort(c.ErrorType) {
		e := ending{how: howFailed, at: -1}
		for _, o := range []wire.Opt[int64]{c.Aborted, c.Done, c.Closed} {
			if o.OK && e.at < 0 {
				e.at = rel(o)
			}
		}
		if n := v.recvAll.Len(); e.at < 0 && n > 0 && v.recvAll.KindAt(n-1) == wire.KindError {
			e.at = v.recvAll.T[n-1]
		}
		if e.at < 0 && c.ClockNow.OK {
			e.at = rel(c.ClockNow)
		}
		return e
	}
	// A stream that ends with an unreadable or error event broke there.
	if n := v.recvAll.Len(); n > 0 && !c.Done.OK && !c.Aborted.OK && v.recvAll.KindAt(n-1) == wire.KindError {
		return ending{howFailed, v.recvAll.T[n-1]}
	}
	switch {
	case c.Aborted.OK && v.blankAtLimit(rel(c.Aborted)):
		return ending{howFailed, rel(c.Aborted)}
	case c.Aborted.OK && (!c.Done.OK || c.Aborted.V < c.Done.V):
		return ending{howAborted, rel(c.Aborted)}
	case c.Done.OK:
		return ending{howDone, rel(c.Done)}
	case wire.UserAbort(c.ErrorType) || wire.UserAbort(c.FinishReason):
		if c.Closed.OK {
			return ending{howAborted, rel(c.Closed)}
		}
		if n := v.recvAll.Len(); n > 0 {
			return ending{howAborted, v.recvAll.T[n-1]}
		}
	case c.FinishReason != "":
		if n := v.recvAll.Len(); n > 0 {
			return ending{howDone, v.recvAll.T[n-1]}
		}
	case c.Closed.OK:
		return ending{howAborted, rel(c.Closed)}
	}
	return ending{}
}

// blankAtLimit reports an end to the tenth of a second at a common idle limit of a minute or more, with nothing received: a
// page that tells no error saw a hop close the connection, not a user who counts seconds.
func (v *view) blankAtLimit(at int64) bool {
	limit, ok := stall.IdleLimit(at - v.sent)
	over := at - v.sent - limit.Microseconds()
	return ok && v.recvAll.Len() == 0 && limit >= time.Minute && over >= 0 && over <= 100_000
}

// whole reports whether the page got the answer to its end, as far as is known.
func (v *view) whole() bool {
	return v.end.how == howDone || v.end.how == howUnknown && v.recv.len() > 0
}

// toClient compares an upstream tier with what the page received.
func (v *view) toClient(up *curve) (pair, bool) {
	p, ok := pairOf(up, &v.recv, v.whole())
	if !ok || v.pinned && !p.causal(v.sent, v.cfg.Slack.Microseconds()) {
		return p, false
	}
	return p, true
}

// serverToRelay compares the engine's stream with the gateway's own.
func (v *view) serverToRelay() (pair, bool) {
	if v.server.len() == 0 || v.relay.len() == 0 {
		return pair{}, false
	}
	p, ok := pairOf(&v.server, &v.relay, !running(v.r.Relay))
	if !ok || !v.r.Server.StartUnknown && !v.r.Relay.StartUnknown && !p.causal(0, v.cfg.Slack.Microseconds()) {
		return p, false
	}
	return p, true
}

// clientNotBefore is the earliest page offset at which the server's event at offset s can have happened.
func (v *view) clientNotBefore(s int64) int64 {
	at := v.sent + s
	if k := v.r.Clock; k != nil && v.r.Client.TimeOrigin != 0 {
		lo := v.r.Server.StartedAt + s + k.OffsetUS - k.UncertaintyUS - (v.r.Client.TimeOrigin + v.origin)
		at = max(at, lo)
	}
	return at
}

// startedAt is an instant for findings of a tier. A page's wall clock may be wrong by any amount, so the server's stands
// in where there is one: early by the request's way up, and the same however much is known of the clocks.
func (v *view) startedAt(tier wire.Tier) int64 {
	r := v.r
	switch tier {
	case wire.TierServer:
		if r.Server != nil {
			return r.Server.StartedAt
		}
	case wire.TierGateway:
		if r.Gateway != nil {
			return r.Gateway.ReceivedAt
		}
		if r.Relay != nil {
			return r.Relay.StartedAt
		}
	}
	if c := r.Client; c != nil {
		page := c.TimeOrigin + v.origin
		switch {
		case r.Server != nil:
			return r.Server.StartedAt - v.sent
		case r.Relay != nil:
			return r.Relay.StartedAt - v.sent
		case r.Gateway != nil:
			return r.Gateway.ReceivedAt - v.sent
		case r.PageBeganAt != 0:
			return r.PageBeganAt
		case c.WallNow != 0 && c.ClockNow.OK:
			return c.WallNow - (c.ClockNow.V - v.origin) // the page's own clock may have stood still
		}
		return page
	}
	if r.Server != nil {
		return r.Server.StartedAt
	}
	return 0
}

const dayUS = 24 * 3600 * 1_000_000

// add adds a finding. chunk < 0: of no chunk, and tells findings of one kind apart.
func (v *view) add(kind wire.FindingKind, tier wire.Tier, chunk int64, f wire.Finding, ev map[string]any) {
	r := v.r
	f.Kind, f.Tier, f.Tenant, f.RequestID = kind, tier, r.Tenant, r.RequestID
	f.Attempt, f.Target, f.QueryType = max(1, r.Attempt), r.Target, r.QueryType
	if f.Channel == "" {
		f.Channel = "content"
	}
	f.StartedAt = v.startedAt(tier)
	switch {
	case tier == wire.TierServer && r.Server != nil:
		f.Emitter = r.Server.Emitter
	case tier == wire.TierGateway && r.Gateway != nil:
		f.Emitter = r.Gateway.Emitter
	case tier == wire.TierGateway && r.Relay != nil:
		f.Emitter = r.Relay.Emitter
	}
	if chunk >= 0 {
		f.Chunk = wire.Some(chunk)
	}
	f.ID = wire.FindingID(kind, r.Tenant, r.RequestID, tier, f.Attempt, "", 0, "cross", chunk)
	f.Evidence = evidence(ev)
	v.out = append(v.out, f)
}

func evidence(m map[string]any) json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil { // numbers and names only: can't happen
		return json.RawMessage("{}")
	}
	return b
}

// Severities and attributions, as in findings of single streams.
const (
	info     = "info"
	warning  = "warning"
	critical = "critical"

	byEngine  = "engine"
	byGateway = "gateway"
	byProxy   = "proxy_buffering"
	byNetwork = "network"
	byRender  = "render"
	byHidden  = "hidden"
	byUnknown = "unknown"
)

// grade is the severity of something that lasted so long: critical from a freeze on.
func grade(us int64) string {
	if us >= 5*secondUS {
		return critical
	}
	return warning
}

const secondUS = 1_000_000
