package simulate

import (
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// judgePage tells what went wrong between the engine and the user's eyes. ts are the true times of the engine's content-bearing
// chunks; only what the page's beacons brought is judged.
func (s *Simulator) judgePage(p *plan, j *job, w *wire.Stream, d *delivery, x *sight, ts []int64) {
	v := &pageJudge{s: s, p: p, j: j, w: w, d: d, x: x, ts: ts, lost: p.fault == FaultLostBeacon}
	if v.lost && len(x.recv) > 4 { // the rest is not known to anybody
		cut := x.recv[len(x.recv)/2].at
		x.recv = slices.DeleteFunc(x.recv, func(g got) bool { return g.at > cut })
		x.paints = slices.DeleteFunc(x.paints, func(g got) bool { return g.at > cut })
		x.left, x.done, x.failed = never, never, never
	}
	v.buffering()
	v.stalls()
	v.render()
	v.ends()
	v.felt()
	v.oddities()
}

type pageJudge struct {
	s        *Simulator
	p        *plan
	j        *job
	w        *wire.Stream
	d        *delivery
	x        *sight
	ts       []int64
	lost     bool
	buffered bool
	told     int // findings of the page, but retractions
}

func (v *pageJudge) tell(kind string, at int64, t Truth) {
	t.RequestID, t.Kind, t.At = v.p.id, kind, at
	if t.Tier == "" {
		t.Tier = string(wire.TierClient)
	}
	if t.Channel == "" {
		t.Channel = "content"
	}
	if t.StartUS == 0 {
		t.StartUS = at - v.p.submit
	}
	if t.Cause == "" {
		t.Cause = natural
		if v.p.fault != "" {
			t.Cause = string(v.p.fault)
		}
	}
	if t.Tier == string(wire.TierClient) && kind != "retraction" {
		v.told++
	}
	v.s.tell(t)
}

func (v *pageJudge) hidden(from, until int64) int64 {
	n := int64(0)
	for _, h := range v.x.hidden {
		n += max(0, min(until, h.until)-max(from, h.from))
	}
	return n
}

// buffering: content that came at once, which the upstream took long over: all of it, or in at least two releases most of it.
func (v *pageJudge) buffering() {
	up := v.ts
	if v.p.relays {
		up = v.d.gateway
	}
	held, share, total := 0, 0, 0
	all := false
	received := 0
	for _, g := range v.x.recv {
		received = g.to
	}
	total = received
	for _, r := range v.d.releases {
		if r.to > received {
			break
		}
		span := up[r.to-1] - up[r.from]
		spread := v.d.page[r.to-1] - v.d.page[r.from]
		if r.to-r.from < 3 || span < hitchUS || span < 4*spread {
			continue
		}
		held++
		share += r.to - r.from
		all = all || (r.to-r.from)*10 >= total*9 && r.from == 0
	}
	if held >= 2 && share*10 >= total*6 || held == 1 && all {
		v.buffered = true
		r := v.d.releases[0]
		v.tell("buffering", v.d.page[r.to-1], Truth{Chunk: -1, Attribution: "proxy_buffering"})
	}
}

// stalls of what the page received, where the upstream tiers went on.
func (v *pageJudge) stalls() {
	var ps []point
	for _, g := range v.x.recv {
		ps = append(ps, point{g.at, 1, g.kind})
	}
	if len(ps) == 0 || v.buffered {
		return
	}
	for _, e := range episodes(ps, pauses(ps, v.hidden)) {
		a, b := v.x.recv[e.first-1], v.x.recv[e.last]
		server := v.ts[b.from] - v.ts[a.to-1]
		if 2*server >= e.until-e.from {
			continue // the engine's own
		}
		t := Truth{Chunk: int64(e.first), DurationUS: e.until - e.from, Grade: grade(e.longest), SlackChunks: 1}
		switch {
		case v.x.busy.until > 0 && v.x.busy.from < e.until && v.x.busy.until > e.from:
			t.Attribution = "render"
		case v.d.outage.until > 0:
			t.Attribution = "network"
		}
		v.tell("stall", e.from, t)
	}
}

// render: received text that waited to be shown.
func (v *pageJudge) render() {
	x := v.x
	if len(x.recv) == 0 || len(x.paints) == 0 {
		return
	}
	last, end := x.recv[len(x.recv)-1].at, x.paints[len(x.paints)-1].at
	after := len(x.paints) - sort.Search(len(x.paints), func(i int) bool { return x.paints[i].at > last })
	if lag := end - last - v.hidden(last, end); lag >= 2_000_000 && after >= 3 {
		v.tell("render_lag", last, Truth{Chunk: -1, DurationUS: end - last, Attribution: "render"})
		return
	}
	var gaps []int64
	for i := 1; i < len(x.paints); i++ {
		gaps = append(gaps, x.paints[i].at-x.paints[i-1].at)
	}
	slices.Sort(gaps)
	for i := 1; i < len(x.paints); i++ {
		from, until := x.paints[i-1].at, x.paints[i].at
		k := sort.Search(len(x.recv), func(k int) bool { return x.recv[k].at > from })
		waiting := sort.Search(len(x.recv), func(k int) bool { return x.recv[k].at >= until }) - k
		gap := until - from - v.hidden(from, until)
		if waiting < 2 {
			continue
		}
		since := max(from, x.recv[k].at)
		waited := until - since - v.hidden(since, until)
		if waited >= 1_000_000 && 2*waited >= gap && gap >= 5*gaps[(len(gaps)-1)/2] {
			v.tell("render_lag", from, Truth{Chunk: int64(k), DurationUS: gap, Attribution: "render", SlackChunks: 2})
		}
	}
}

// ends: a connection that a hop closed, or that broke; what was produced after the user left.
func (v *pageJudge) ends() {
	x := v.x
	if v.lost {
		return
	}
	if x.failed != never {
		switch {
		case x.dropped > 0:
			v.tell("idle_drop", x.failed-x.dropped, Truth{Chunk: -1, DurationUS: x.dropped})
		case v.p.fault == FaultBroken && len(x.recv) > 0:
			v.tell("dead_stream", x.failed, Truth{Chunk: int64(len(x.recv)), SlackChunks: 1, Attribution: "network"})
		}
	}
	if x.left == never {
		return
	}
	gone, end := x.left, v.j.start+v.w.EndUS.V
	t := Truth{Tier: string(wire.TierServer), Chunk: -1}
	if v.p.gateways {
		gone += v.p.page.wayUS // it knows when it learnt of it
		if v.p.keeps {
			t.Tier = string(wire.TierGateway)
		}
	}
	after := len(v.ts) - sort.Search(len(v.ts), func(i int) bool { return v.ts[i] > gone })
	if t.DurationUS = end - gone; after >= 2 && t.DurationUS >= 500_000 {
		v.tell("cancel_waste", gone, t)
	}
}

// felt: the user waited much longer for the first text than the engine took.
func (v *pageJudge) felt() {
	x, p := v.x, v.p
	if len(x.paints) == 0 || len(v.ts) == 0 {
		return
	}
	paint, ttft := x.paints[0].at-p.submit, v.ts[0]-v.j.start
	hidden := v.hidden(p.submit, x.paints[0].at)
	if paint-ttft-hidden >= 1_000_000 && paint-hidden >= 2*ttft {
		v.tell("perceived_gap", p.submit+ttft, Truth{Chunk: -1, DurationUS: paint - ttft})
	}
}

// oddities: text that was taken back, a clock that stood still, and delay without rest that nothing else explains.
func (v *pageJudge) oddities() {
	x, p := v.x, v.p
	if len(x.taken) > 0 && !v.lost {
		v.tell("retraction", x.taken[0].T, Truth{Chunk: -1})
	}
	if p.page.sleptUS > 5_000_000 {
		v.tell("clock_conflict", p.submit, Truth{Chunk: -1, Cause: string(FaultClock)})
	}
	if len(x.recv) < 10 || len(x.hidden) > 0 || v.told > 0 {
		return
	}
	up := v.ts
	if p.relays {
		up = v.d.gateway
	}
	var jitter, sum, square float64
	for i := 1; i < len(x.recv); i++ {
		a, b := x.recv[i-1], x.recv[i]
		d := float64((b.at - up[b.to-1]) - (a.at - up[a.to-1]))
		g := float64(b.at - a.at)
		jitter, sum, square = jitter+max(d, -d), sum+g, square+g*g
	}
	n := float64(len(x.recv) - 1)
	if jitter/n > 15_000 && square/n-(sum/n)*(sum/n) > 450_000*450_000 {
		v.tell("semantic_gap", x.recv[0].at, Truth{Chunk: -1})
	}
}
