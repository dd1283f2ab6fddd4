package requests

import (
	"cmp"
	"slices"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// mergedClient is one stream as a page saw it, its segments brought together. Offsets count from the page's
// time origin.
type mergedClient struct {
	wire.Client // the last known value of each word, the earliest of each instant; chunks and lists merged below
	recv        timeline
	dom, paint  timeline
	sc          scalars
	segments    int
	how         State // how it ended by times that can't be; empty: its times tell
}

// mergeClients joins the records of one request. Different pages or submits under one id are told apart: the
// first by mergedClient order is shown, the others are a conflict.
func mergeClients(recs []wire.Client, conflicts *[]Conflict) *mergedClient {
	groups := groupClients(recs)
	if len(groups) == 0 {
		return nil
	}
	all := make([]*mergedClient, len(groups))
	for i, g := range groups {
		all[i] = mergeClientSegments(g)
	}
	slices.SortStableFunc(all, compareClients)
	if len(all) > 1 {
		submits := []int64{}
		for _, c := range all[:min(len(all), maxEvidence)] {
			submits = append(submits, c.TimeOrigin+c.Submit.V)
		}
		slices.Sort(submits)
		*conflicts = append(*conflicts, Conflict{
			Kind: ConflictID, Tier: string(wire.TierClient), Detail: "different pages or submit events have this request id", Evidence: submits,
		})
	}
	all[0].findBackwards(conflicts)
	return all[0]
}

// ruleBackwards is told of a page whose times can't be: what came of a request before it was made.
const ruleBackwards = "the page tells what came of the request before it was made: its clock or its bookkeeping went wrong"

// findBackwards finds what a page tells of a time before its submit event, and takes the numbers away that would follow from it.
func (c *mergedClient) findBackwards(conflicts *[]Conflict) {
	if !c.Submit.OK {
		return
	}
	const slack = 1000 // µs; clocks of pages are coarse
	earliest, how := c.Submit.V, c.state()
	for _, o := range []*wire.Opt[int64]{&c.Headers, &c.FirstPaint, &c.Aborted, &c.Done} {
		if o.OK && o.V < c.Submit.V-slack {
			earliest = min(earliest, o.V)
			*o = wire.Opt[int64]{}
		}
	}
	for _, l := range []*timeline{&c.recv, &c.dom, &c.paint} {
		if len(l.t) > 0 && l.t[0] < c.Submit.V-slack {
			earliest = min(earliest, l.t[0])
			*l = timeline{}
		}
	}
	if earliest == c.Submit.V {
		return
	}
	c.sc, c.how = c.recv.scalars(), how
	*conflicts = append(*conflicts, Conflict{
		Kind: ConflictClock, Tier: string(wire.TierClient), Detail: ruleBackwards, Evidence: []int64{c.Submit.V, earliest},
	})
}

// groupClients splits deduplicated records by session and submit event. A segment that does not know the
// submit event belongs to the session's only one.
func groupClients(recs []wire.Client) [][]wire.Client {
	type key struct {
		session string
		submit  wire.Opt[int64]
	}
	submits := map[string][]wire.Opt[int64]{}
	for i := range recs {
		c := &recs[i]
		if c.Submit.OK && !slices.Contains(submits[c.SessionID], c.Submit) {
			submits[c.SessionID] = append(submits[c.SessionID], c.Submit)
		}
	}
	groups := map[key][]wire.Client{}
	for i := range recs {
		k := key{recs[i].SessionID, recs[i].Submit}
		if only := submits[k.session]; !k.submit.OK && len(only) == 1 {
			k.submit = only[0]
		}
		groups[k] = append(groups[k], recs[i])
	}
	out := make([][]wire.Client, 0, len(groups))
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b wire.Client) int {
			return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.RequestID, b.RequestID))
		})
		out = append(out, g)
	}
	return out
}

// compareClients puts the stream first that tells most: with a submit event, with a paint, by session and time.
func compareClients(a, b *mergedClient) int {
	return cmp.Or(-compareBool(a.Submit.OK, b.Submit.OK), -compareBool(a.FirstPaint.OK, b.FirstPaint.OK),
		cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Submit.V, b.Submit.V))
}

func mergeClientSegments(segs []wire.Client) *mergedClient {
	c := &mergedClient{Client: segs[0], segments: len(segs)}
	c.Recv, c.DOM, c.Paint = wire.Chunks{}, wire.Chunks{}, wire.Chunks{}
	c.Visibility, c.LongFrames, c.Retractions = nil, nil, nil
	for i := range segs {
		s := &segs[i]
		c.recv.add(&s.Recv)
		c.dom.add(&s.DOM)
		c.paint.add(&s.Paint)
		c.Visibility = append(c.Visibility, s.Visibility...)
		c.LongFrames = append(c.LongFrames, s.LongFrames...)
		c.Retractions = append(c.Retractions, s.Retractions...)
		if i > 0 {
			mergeClientFields(&c.Client, s)
		}
	}
	c.recv.order()
	c.dom.order()
	c.paint.order()
	c.sc = c.recv.scalars()
	slices.SortFunc(c.Visibility, func(a, b wire.VisibilityChange) int {
		return cmp.Or(cmp.Compare(a.T, b.T), compareBool(a.Hidden, b.Hidden))
	})
	slices.SortFunc(c.LongFrames, func(a, b wire.LongFrame) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Dur, b.Dur)) })
	slices.SortFunc(c.Retractions, func(a, b wire.Retraction) int { return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Bytes, b.Bytes)) })
	c.Visibility, c.LongFrames, c.Retractions = slices.Compact(c.Visibility), slices.Compact(c.LongFrames), slices.Compact(c.Retractions)
	return c
}

// mergeClientFields takes over what a later segment knows.
func mergeClientFields(c, s *wire.Client) {
	c.Final = c.Final || s.Final
	for _, f := range [...]struct {
		dst *string
		v   string
	}{
		{&c.Page, s.Page},
		{&c.App, s.App},
		{&c.Release, s.Release},
		{&c.Browser, s.Browser},
		{&c.OS, s.OS},
		{&c.Device, s.Device},
		{&c.Country, s.Country},
		{&c.QueryType, s.QueryType},
		{&c.ContentKind, s.ContentKind},
		{&c.Protocol, s.Protocol},
		{&c.PaintSource, s.PaintSource},
		{&c.ConnType, s.ConnType},
		{&c.ErrorType, s.ErrorType},
		{&c.FinishReason, s.FinishReason},
		{&c.ResponseID, s.ResponseID},
		{&c.TraceID, s.TraceID},
	} {
		overrideText(f.dst, f.v)
	}
	for _, f := range [...]struct {
		dst *wire.Opt[int64]
		v   wire.Opt[int64]
	}{
		{&c.Attempt, s.Attempt},
		{&c.ConnRTTMS, s.ConnRTTMS},
		{&c.ConnDownlinkKb, s.ConnDownlinkKb},
		{&c.Reconnects, s.Reconnects},
		{&c.LostBeacons, s.LostBeacons},
		{&c.BytesTotal, s.BytesTotal},
		{&c.ClockNow, s.ClockNow},
	} {
		override(f.dst, f.v)
	}
	if s.SampleWeight > 0 {
		c.SampleWeight = s.SampleWeight // an answer that turns bad stands for itself from then on
	}
	for _, f := range [...]struct {
		dst *wire.Opt[int64]
		v   wire.Opt[int64]
	}{
		{&c.Submit, s.Submit},
		{&c.FirstFeedback, s.FirstFeedback},
		{&c.RequestSent, s.RequestSent},
		{&c.Headers, s.Headers},
		{&c.FirstPaint, s.FirstPaint},
		{&c.Aborted, s.Aborted},
		{&c.Done, s.Done},
		{&c.Closed, s.Closed},
	} {
		if f.v.OK && (!f.dst.OK || f.v.V < f.dst.V) {
			*f.dst = f.v
		}
	}
	if c.TimeOrigin == 0 {
		c.TimeOrigin = s.TimeOrigin
	}
	if s.WallNow != 0 {
		c.WallNow = s.WallNow
	}
}

// state is that of the stream as the page saw it; leaving after its end is no abort, leaving before it is one.
func (c *mergedClient) state() State {
	switch {
	case c.how != "":
		return c.how
	case c.Aborted.OK && (!c.Done.OK || c.Aborted.V < c.Done.V):
		return StateAborted
	case c.ErrorType != "" && !wire.UserAbort(c.ErrorType):
		return StateFailed
	case wire.UserAbort(c.ErrorType) || wire.UserAbort(c.FinishReason):
		return StateAborted
	case c.Done.OK || c.FinishReason != "":
		return StateCompleted
	case c.Closed.OK:
		return StateAborted
	}
	return StateRunning
}

// start is the offset, from the time origin, that the tier's offsets count from.
func (c *mergedClient) start() int64 {
	for _, o := range []wire.Opt[int64]{c.Submit, c.RequestSent} {
		if o.OK {
			return o.V
		}
	}
	start := wire.Opt[int64]{}
	earliest := func(v int64) {
		if !start.OK || v < start.V {
			start = wire.Some(v)
		}
	}
	for _, o := range []wire.Opt[int64]{c.FirstFeedback, c.Headers, c.FirstPaint, c.Aborted, c.Done} {
		if o.OK {
			earliest(o.V)
		}
	}
	for _, l := range []*timeline{&c.recv, &c.dom, &c.paint} {
		if len(l.t) > 0 {
			earliest(l.t[0])
		}
	}
	return start.V
}

// longestHeld is how long before the arrival of its record a page's request may have begun; what claims more was told wrongly.
const longestHeld = 24 * time.Hour

// arrival is when the first of a request's records came in, and when its submit event was by the receiver's clock: before that by
// what passed on the page's own until it sent the record. A page's clock is known to run, not to be right.
func (c *mergedClient) arrival(recs []wire.Client) (arrived, began int64) {
	earliest := slices.MinFunc(recs, func(x, y wire.Client) int {
		return cmp.Or(cmp.Compare(x.ReceivedAt, y.ReceivedAt), compareBool(y.ClockNow.OK, x.ClockNow.OK), -cmp.Compare(x.ClockNow.V, y.ClockNow.V),
			cmp.Compare(x.TimeOrigin, y.TimeOrigin))
	})
	arrived, began = earliest.ReceivedAt, earliest.ReceivedAt
	passed := earliest.ClockNow.V - c.start()
	if earliest.ClockNow.OK && earliest.TimeOrigin == c.TimeOrigin && passed > 0 && passed <= longestHeld.Microseconds() {
		began -= passed
	}
	return arrived, began
}

func (c *mergedClient) model() *Client {
	if c == nil {
		return nil
	}
	base := c.start()
	at := func(o wire.Opt[int64]) *int64 {
		if !o.OK {
			return nil
		}
		return known(o.V - base)
	}
	rel := func(p *int64) *int64 { return minus(p, &base) }
	out := &Client{
		SessionID: text(c.SessionID), State: c.state(),
		TTFBUS: at(c.Headers), TTFTUS: rel(c.sc.first), TTFAUS: rel(c.sc.answer), EndUS: at(c.Done),
		SubmitUS: at(c.Submit), FirstFeedbackUS: at(c.FirstFeedback), RequestSentUS: at(c.RequestSent), HeadersUS: at(c.Headers),
		FirstPaintUS: at(c.FirstPaint), AbortedUS: at(c.Aborted), DoneUS: at(c.Done), ClosedUS: at(c.Closed),
		FinishReason: text(c.FinishReason), Error: text(c.ErrorType), NChunks: len(c.recv.t), ContentBytes: c.sc.contentBytes,
		BytesTotal: opt(c.BytesTotal), MaxGapUS: c.sc.maxGap, PaintMaxGapUS: c.paint.scalars().maxGap,
		Phases: ClientPhases{
			SubmitToSendUS: minus(opt(c.RequestSent), opt(c.Submit)), SendToHeadersUS: minus(opt(c.Headers), opt(c.RequestSent)),
			HeadersToFirstUS: minus(c.sc.first, opt(c.Headers)), FirstToPaintUS: minus(opt(c.FirstPaint), c.sc.answer),
		},
		Chunks: c.recv.model(-base), DOM: c.dom.curve(-base), Paint: c.paint.curve(-base),
		Visibility: []Visibility{}, LongFrames: []LongFrame{}, Retractions: []Retraction{},
		Reconnects: opt(c.Reconnects), LostBeacons: opt(c.LostBeacons), Segments: c.segments, Attempt: opt(c.Attempt),
		Page: text(c.Page), App: text(c.App), Release: text(c.Release), Browser: text(c.Browser), OS: text(c.OS), Device: text(c.Device),
		Country: text(c.Country), Protocol: text(c.Protocol), ContentKind: text(c.ContentKind), PaintSource: text(c.PaintSource),
		Connection: Connection{RTTMS: opt(c.ConnRTTMS), Type: text(c.ConnType), DownlinkKbit: opt(c.ConnDownlinkKb)},
		ClockInfo:  ClientClock{NowUS: opt(c.ClockNow)},
	}
	if c.TimeOrigin != 0 {
		out.StartedAt, out.ClockInfo.TimeOrigin = known(c.TimeOrigin+base), known(c.TimeOrigin)
	}
	if c.SampleWeight > 0 {
		out.SampleWeight = &c.SampleWeight
	}
	if c.WallNow != 0 {
		out.ClockInfo.WallNow = known(c.WallNow)
	}
	for _, v := range c.Visibility {
		state := "visible"
		if v.Hidden {
			state = "hidden"
		}
		out.Visibility = append(out.Visibility, Visibility{TUS: v.T - base, State: state})
	}
	for _, f := range c.LongFrames {
		out.LongFrames = append(out.LongFrames, LongFrame{TUS: f.T - base, DurUS: f.Dur})
	}
	for _, r := range c.Retractions {
		out.Retractions = append(out.Retractions, Retraction{TUS: r.T - base, Bytes: r.Bytes})
	}
	return out
}
