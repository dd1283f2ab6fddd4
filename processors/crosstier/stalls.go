package crosstier

import (
	"encoding/json"
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/stall"
)

// clientStalls judges what the page received with the rules of one stream, and tells of what the tiers above
// don't explain.
func (v *view) clientStalls() {
	if v.r.Client == nil || v.recv.len() == 0 {
		return
	}
	for _, f := range v.trackClient() {
		if f.Kind == wire.FindingDeadStream && (v.end.how != howFailed || v.dropped) {
			continue
		}
		if v.explainedByRelease(&f) || v.cutShort(&f) {
			continue
		}
		att, ev := v.attribute(&f)
		if att == byEngine || att == byGateway && v.tells(wire.TierGateway, f.Kind) {
			continue // that tier's own finding tells it
		}
		w := wire.Finding{
			Grade: f.Grade, StartUS: f.StartUS, DurationUS: f.DurationUS, Open: f.Open, Severity: f.Severity,
			Attribution: att, Confidence: f.Confidence, Channel: v.channelOf(f.Chunk),
		}
		v.add(f.Kind, wire.TierClient, f.Chunk, w, merge(f.Evidence, ev))
	}
}

// tells reports that a tier's own stream has a finding of this kind.
func (v *view) tells(tier wire.Tier, kind wire.FindingKind) bool {
	return slices.ContainsFunc(v.r.Found, func(f wire.Finding) bool { return f.Tier == tier && f.Kind == kind })
}

func (v *view) channelOf(chunk int64) string {
	i := int(min(chunk, int64(v.recv.len()-1)))
	switch v.recv.kind[i] {
	case wire.KindTool:
		return "tool"
	case wire.KindReasoning:
		return "reasoning"
	default:
		return "content"
	}
}

// trackClient runs the tracker over the page's chunks and the changes of its visibility, in the order of time.
func (v *view) trackClient() []stall.Finding {
	cfg := v.cfg.Stall.For(v.r.QueryType)
	tr := stall.New(&cfg)
	var evs []stall.Event
	type edge struct {
		at     int64
		hidden bool
	}
	var edges []edge
	for _, w := range v.hidden {
		edges = append(edges, edge{w.from, true})
		if w.until != forever {
			edges = append(edges, edge{w.until, false})
		}
	}
	show := func(until int64) {
		for len(edges) > 0 && edges[0].at <= until {
			tr.Visibility(edges[0].at, edges[0].hidden)
			edges = edges[1:]
		}
	}
	for i := range v.recvAll.T {
		show(v.recvAll.T[i])
		evs = tr.Add(stall.ChunkOf(&v.recvAll, i), evs)
	}
	end := stall.End{AtUS: v.recvAll.T[v.recvAll.Len()-1], Done: true}
	switch v.end.how {
	case howAborted:
		end = stall.End{AtUS: max(end.AtUS, v.end.at), Aborted: true}
	case howFailed:
		end = stall.End{AtUS: max(end.AtUS, v.end.at)}
	case howDone:
		end.AtUS = max(end.AtUS, min(v.end.at, end.AtUS+secondUS)) // a late done event is no stall of content
	}
	show(end.AtUS)
	evs = tr.Finish(end, evs)
	return settled(evs)
}

// settled returns the last state of each finding that was not withdrawn, by place.
func settled(evs []stall.Event) []stall.Finding {
	type name struct {
		kind  wire.FindingKind
		chunk int64
	}
	last := map[name]stall.Event{}
	for _, e := range evs {
		last[name{e.Finding.Kind, e.Finding.Chunk}] = e
	}
	var out []stall.Finding
	for _, e := range last {
		if e.Op != stall.Withdraw {
			out = append(out, e.Finding)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].StartUS != out[j].StartUS {
			return out[i].StartUS < out[j].StartUS
		}
		return out[i].Kind < out[j].Kind
	})
	return out
}

// explainedByRelease reports whether buffering accounts for the gap or the slow stretch.
func (v *view) explainedByRelease(f *stall.Finding) bool {
	for _, r := range v.buffered {
		if f.StartUS <= r.at && f.StartUS+f.DurationUS >= r.at-1000 {
			return true
		}
	}
	return false
}

// cutShort reports a silence that no chunk ended and that is told otherwise: as the broken connection's, or not at all where
// it ended before it was a freeze, since what was under way then is not known.
func (v *view) cutShort(f *stall.Finding) bool {
	if f.Kind != wire.FindingStall || f.Chunk < int64(v.recv.len()) {
		return false
	}
	cfg := v.cfg.Stall.For(v.r.QueryType)
	short := f.DurationUS < cfg.Freeze.Microseconds()
	return v.end.how == howFailed && (short || v.dropped) || v.end.how == howAborted && short
}

// gapOf returns how long a tier took over the positions of a downstream finding; ok is false when it can't be
// compared.
func gapOf(p *pair, f *stall.Finding) (us int64, ok bool) {
	n := int64(p.down.len() - 1)
	if f.Chunk > n { // a silence that nothing ended
		i, j := p.upIndex(p.downPos[n]), p.upNext(p.downPos[n])
		if i == j {
			return 0, false // the upstream had no more
		}
		return p.up.t[j] - p.up.t[i], true
	}
	return p.gap(int(min(max(f.Evidence.FirstChunk, 1), n)), int(min(max(f.Evidence.LastChunk, 1), n))), true
}

func (v *view) gapAt(up *curve, f *stall.Finding) (us int64, ok bool) {
	p, ok := v.toClient(up)
	if !ok {
		return 0, false
	}
	return gapOf(&p, f)
}

// attribute says which part of the way a client's finding comes from.
func (v *view) attribute(f *stall.Finding) (string, map[string]any) {
	ev := map[string]any{}
	own := func(us int64) bool { return 2*us >= f.DurationUS }
	server, okServer := v.gapAt(&v.server, f)
	if okServer {
		ev["server_gap_us"] = server
		if own(server) && f.Kind != wire.FindingDeadStream {
			return byEngine, ev
		}
	}
	if f.Kind == wire.FindingDeadStream {
		return v.brokenBy(), ev
	}
	if relay, ok := v.gapAt(&v.relay, f); ok {
		ev["gateway_gap_us"] = relay
		switch {
		case own(relay) && okServer:
			return byGateway, ev
		case own(relay):
			return byUnknown, ev
		}
	} else if !okServer {
		return v.byDuration(f), ev
	}
	if 2*overlap(v.frames, f.StartUS, f.StartUS+f.DurationUS) >= f.DurationUS {
		return byRender, ev
	}
	if kind, held := v.selective(f); held && v.relay.len() == 0 {
		ev["held_kind"] = kind.String()
		return byGateway, ev
	}
	if n := v.burstAt(f); n >= 5 {
		ev["burst_chunks"] = n
		if f.Evidence.LongestUS > 3*secondUS {
			return byProxy, ev
		}
	}
	return byNetwork, ev
}

// byDuration is used when positions can't be compared: a server gap of like length, if there is one, is taken
// for the cause.
func (v *view) byDuration(f *stall.Finding) string {
	if v.server.len() == 0 || f.Kind != wire.FindingStall {
		return byUnknown
	}
	for i := 1; i < v.server.len(); i++ {
		if 2*(v.server.t[i]-v.server.t[i-1]) >= f.Evidence.LongestUS {
			return byEngine
		}
	}
	return byUnknown
}

// selective reports that one kind of chunk was held back while the kind before it had passed: what came after
// the gap is of another kind, and came all at once.
func (v *view) selective(f *stall.Finding) (wire.Kind, bool) {
	i := int(f.Chunk)
	if i <= 0 || i >= v.recv.len() || v.recv.kind[i] == v.recv.kind[i-1] || v.burstAt(f) < 5 {
		return 0, false
	}
	return v.recv.kind[i], true
}

// burstAt counts the chunks that arrived at once when the gap ended.
func (v *view) burstAt(f *stall.Finding) int {
	i := int(f.Evidence.LastChunk)
	if i <= 0 || i >= v.recv.len() {
		return 0
	}
	n := 1
	for i+n < v.recv.len() && v.recv.t[i+n]-v.recv.t[i+n-1] <= 5000 {
		n++
	}
	return n
}

// brokenBy says whose fault a broken stream is.
func (v *view) brokenBy() string {
	s := v.r.Server
	switch {
	case s == nil:
		return byUnknown
	case s.ErrorType != "" && !wire.UserAbort(s.ErrorType), s.Status >= 400:
		return byEngine
	case v.tells(wire.TierServer, wire.FindingDeadStream) && v.clientNotBefore(endOf(s, &v.server)) <= v.end.at+secondUS:
		return byEngine // it stopped first, without a word
	default:
		return byNetwork
	}
}

// merge adds ev to the fields of a stall's evidence.
func merge(e stall.Evidence, ev map[string]any) map[string]any {
	m := map[string]any{}
	if b, err := json.Marshal(e); err == nil {
		_ = json.Unmarshal(b, &m)
	}
	for k, x := range ev {
		m[k] = x
	}
	return m
}

// refine attributes what was found in the gateway's own stream: a gap that the server has at the same position is the
// engine's, another the gateway's.
func (v *view) refine() []wire.Finding {
	p, ok := v.serverToRelay()
	if !ok {
		return nil
	}
	var out []wire.Finding
	for i := range v.r.Found {
		f := v.r.Found[i]
		if f.Tier != wire.TierGateway || f.Emitter != v.r.Relay.Emitter || f.Attempt != v.r.Relay.Attempt ||
			f.Kind != wire.FindingStall && f.Kind != wire.FindingSlowEpisode || !f.Chunk.OK {
			continue
		}
		var e stall.Evidence
		if json.Unmarshal(f.Evidence, &e) != nil {
			continue
		}
		n := int64(v.relay.len() - 1)
		if n < 1 || f.Chunk.V > n {
			continue
		}
		us := p.gap(int(min(max(e.FirstChunk, 1), n)), int(min(max(e.LastChunk, 1), n)))
		att := byGateway
		if 2*us >= f.DurationUS {
			att = byEngine
		}
		if att == f.Attribution {
			continue
		}
		f.Attribution = att
		out = append(out, f)
	}
	return out
}
