package crosstier

import (
	"math"

	"github.com/fermata-io/fermata/internal/wire"
)

// release is a run of downstream chunks that arrived at once.
type release struct {
	a, b   int   // downstream chunks
	at     int64 // when it came, on the downstream's clock
	held   bool
	spanUS int64 // how long the upstream took over the same content
	chunks int   // of the upstream
	size   int64 // in positions
	bytes  int64 // of text, as the upstream counts; 0: not known
}

// startChunks is how much, at least, a hop held back before it let the first of an answer through and then the rest as it came.
const startChunks = 8

// catchUp is how long after it became visible a page may still catch up.
const catchUp = secondUS

// releases cuts the downstream into releases. explained says that what was to come
// between two times could come no earlier than at the second.
func (v *view) releases(p *pair, explained func(from, at int64) bool) []release {
	apart := max(3000, min(20_000, p.up.medianGap()/3))
	d := p.down
	var out []release
	for a := 0; a < d.len(); {
		b := a
		for b+1 < d.len() && d.t[b+1]-d.t[b] <= apart {
			b++
		}
		r := release{a: a, b: b, at: d.t[a], size: p.downPos[b] - p.before(a)}
		r.spanUS, r.chunks = p.span(a, b)
		if p.up.total() > 0 {
			if i := p.upIndex(p.before(a)); a > 0 {
				r.bytes = -p.up.bytes[i]
			}
			r.bytes += p.up.bytes[p.upIndex(p.downPos[b])]
		}
		r.held = r.chunks >= 3 && r.spanUS >= v.cfg.HeldFloor.Microseconds() && r.spanUS >= 4*(d.t[b]-d.t[a]) && !explained(r.at-r.spanUS, r.at)
		out = append(out, r)
		a = b + 1
	}
	return out
}

// buffering compares server with gateway, and what is nearest upstream with the page.
func (v *view) buffering() {
	never := func(int64, int64) bool { return false }
	if v.server.len() > 0 && v.relay.len() > 0 {
		if p, ok := v.serverToRelay(); ok {
			v.buffer(&p, wire.TierGateway, byGateway, never)
		}
	}
	up := &v.server
	if v.relay.len() > 0 {
		up = &v.relay
	}
	p, ok := v.toClient(up)
	if !ok {
		return
	}
	v.buffered = v.buffer(&p, wire.TierClient, byProxy, v.lateByPage)
}

// lateByPage reports that a page could not read from..at in time: it was hidden, catches up after that, or long
// frames kept its thread.
func (v *view) lateByPage(from, at int64) bool {
	if touches(v.hidden, from, at) || touches(v.hidden, at-catchUp, at) {
		return true
	}
	return overlap(v.frames, from, at) > (at-from)/2
}

// buffer judges one pair and returns the releases that buffering explains.
func (v *view) buffer(p *pair, tier wire.Tier, attribution string, explained func(from, at int64) bool) []release {
	all := v.releases(p, explained)
	var held []release
	size, total := int64(0), p.downPos[p.down.len()-1]
	for _, r := range all {
		if r.held {
			held = append(held, r)
			size += r.size
		}
	}
	if len(held) == 0 || total == 0 {
		return nil
	}
	share := float64(size) / float64(total)
	ev := map[string]any{
		"releases": len(held), "share": round(share, 3), "ruler": p.unit, "held_us": held[0].spanUS,
		"upstream_ttft_us": p.up.t[0], "downstream_ttft_us": p.down.t[0], "upstream_chunks": p.up.len(),
	}
	last := held[len(held)-1]
	driver := ""
	switch {
	case share >= 0.9 && len(held) == 1 && held[0].a == 0 && p.down.last()-last.at <= last.spanUS/10:
		driver = "end"
	case len(held) >= 2 && share >= 0.6:
		driver = rhythm(p, all, held, ev)
	case held[0].a == 0 && held[0].chunks >= startChunks && held[0].spanUS >= v.cfg.GapFloor.Microseconds():
		driver, held = "start", held[:1]
		last = held[0]
		ev["releases"], ev["share"] = 1, round(float64(last.size)/float64(total), 3)
	default:
		return nil
	}
	ev["driver"] = driver
	var sizes []int
	for _, r := range held[:min(len(held), 16)] {
		sizes = append(sizes, r.chunks)
	}
	ev["chunks_per_release"] = sizes
	f := wire.Finding{
		StartUS: 0, DurationUS: last.at, Attribution: attribution, Confidence: round(0.6+0.35*share, 2),
		Severity: grade(held[0].spanUS),
	}
	if tier == wire.TierGateway && v.r.Gateway != nil && v.r.Relay != nil {
		f.DurationUS += v.r.Relay.StartedAt - v.r.Gateway.ReceivedAt
	}
	v.add(wire.FindingBuffering, tier, int64(held[0].a), f, ev)
	return held
}

// rhythm tells what drives periodic releases, and puts the numbers into ev. What is left at the end is no full release.
func rhythm(p *pair, all, held []release, ev map[string]any) string {
	full := held
	if len(held) > 2 {
		full = held[:len(held)-1]
	}
	var sizes, intervals []float64
	for _, r := range full {
		sizes = append(sizes, float64(r.size))
	}
	last := full[len(full)-1].at
	for i := 1; i < len(all) && all[i].at <= last; i++ {
		intervals = append(intervals, float64(all[i].at-all[i-1].at))
	}
	_, sizeCV := meanCV(sizes)
	every, everyCV := meanCV(intervals)
	if p.up.total() > 0 {
		bytes := int64(0)
		for _, r := range full {
			bytes += r.bytes
		}
		ev["bytes_per_release"] = bytes / int64(len(full))
	}
	if len(intervals) > 0 {
		ev["interval_us"] = int64(every)
	}
	const alike = 0.02
	switch {
	case len(full) < 2 || len(intervals) == 0:
		return "size"
	case len(intervals) == 1: // nothing to compare it with: it must be round to the point, or the sizes differ
		if roundTime(every, exactly) || sizeCV > alike && roundTime(every, about) {
			return "time"
		}
		return "size"
	case roundTime(every, about) && everyCV <= 0.1 && sizeCV+alike >= everyCV/2:
		return "time"
	case everyCV < sizeCV-0.03:
		return "time"
	default:
		return "size"
	}
}

func meanCV(v []float64) (mean, cv float64) {
	if len(v) == 0 {
		return 0, 0
	}
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		cv += (x - mean) * (x - mean)
	}
	if mean == 0 {
		return 0, 0
	}
	return mean, math.Sqrt(cv/float64(len(v))) / mean
}

// How far off an interval may be that people set, of itself.
const (
	about   = 0.02
	exactly = 0.004
)

// roundTime reports an interval that people set: 100 ms to 10 s in round steps, but for so much of it.
func roundTime(us, off float64) bool {
	for _, ms := range [...]float64{100, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 10_000} {
		if math.Abs(us-ms*1000) <= ms*1000*off {
			return true
		}
	}
	return false
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}
