package simulate

import (
	"math"
	"math/rand/v2"

	"github.com/fermata-io/fermata/internal/wire"
)

// session is one open page of one user.
type session struct {
	id, browser, os, device, country string
	origin                           int64 // true instant of the page's time origin
	skewUS                           int64 // its wall clock − true time
	driftPPM                         int64
	sleptUS                          int64 // how long its clock stood still while the machine slept
	wayUS                            int64 // one way between page and gateway
	jitterUS                         float64
	frame                            int64 // phase of its frames
	beacons                          uint32
}

func (s *Simulator) newSession(i int) *session {
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0x5e55_0000+uint64(i))) //nolint:gosec // traffic, no secret
	return &session{
		id: s.prefix + "s" + itoa(int64(i)), browser: pick(r, []string{"Chromium 156", "Firefox 147", "Safari 26"}),
		os: pick(r, []string{"linux", "windows", "macos", "android"}), device: pick(r, []string{"desktop", "desktop", "mobile"}),
		country: pick(r, []string{"DE", "FR", "US", "JP", "BR"}), origin: s.start - 5_000_000 - r.Int64N(600_000_000),
		skewUS: int64(r.NormFloat64() * 800_000), driftPPM: r.Int64N(60) - 30,
		wayUS: int64(logUniform(r, 4_000, 70_000)), jitterUS: logUniform(r, 300, 4_000), frame: r.Int64N(frameUS),
	}
}

// clock turns a true instant into an offset on the page's clock.
func (x *session) clock(at int64) int64 {
	d := at - x.origin
	return d + d/1_000_000*x.driftPPM
}

// journey is a request's way to the engine.
type journey struct {
	sent, received, forwarded int64 // page sent, gateway received, gateway sent upstream
	queueUS, cacheUS          int64
	relayUS                   int64 // of the gateway, for each chunk
	attempts                  []wire.Attempt
}

// depart draws the way of a request.
func (p *plan) depart() {
	r, w := p.r, &p.way
	w.sent = p.submit + 1_500 + r.Int64N(9_000)
	w.received = w.sent + p.page.wayUS + int64(r.ExpFloat64()*p.page.jitterUS)
	w.queueUS, w.cacheUS = r.Int64N(3_000), 400+r.Int64N(3_000)
	if p.fault == FaultQueue {
		w.queueUS = int64(logUniform(r, 0.4e6, 9e6))
	}
	w.relayUS = 200 + r.Int64N(1_500)
	w.forwarded = w.received + w.queueUS + w.cacheUS + 300
}

// delivery is when each content-bearing chunk of the answer reached the page, in true time.
type delivery struct {
	gateway  []int64 // left the gateway
	page     []int64 // reached the page's machine
	releases []released
	outage   span // of the network
}

// released is a run of chunks that a proxy let go at once.
type released struct {
	from, to int
	at       int64
	heldUS   int64 // from the first chunk's coming to the last's
}

// deliver sends chunks, at true instants ts with sizes, through gateway, proxy and network.
func (p *plan) deliver(ts []int64, bytes []uint32, end int64) *delivery {
	r := p.r
	d := &delivery{}
	last := int64(0)
	for _, t := range ts {
		last = max(last, t+p.way.relayUS+int64(r.ExpFloat64()*120))
		d.gateway = append(d.gateway, last)
	}
	out := p.proxy(d, bytes, end)
	jitter := p.page.jitterUS
	if p.fault == FaultJitter {
		jitter = logUniform(r, 18_000, 45_000)
	}
	if p.fault == FaultNetwork && len(out) > 20 {
		at := out[6+r.IntN(len(out)-12)]
		d.outage = span{at, at + int64(logUniform(r, 0.2e6, 6e6))}
	}
	last = 0
	delay := int64(0)
	for i, t := range out {
		if i == 0 || t-out[i-1] > 500 { // what leaves at once travels together
			delay = int64(r.ExpFloat64() * jitter)
		}
		at := t + p.page.wayUS + delay
		if at > d.outage.from && at < d.outage.until {
			at = d.outage.until
		}
		last = max(last+20+r.Int64N(150), at)
		d.page = append(d.page, last)
	}
	return d
}

// proxy holds chunks back and returns when each left it.
func (p *plan) proxy(d *delivery, bytes []uint32, end int64) []int64 {
	r, in := p.r, d.gateway
	out := make([]int64, len(in))
	copy(out, in)
	release := func(from, to int, at int64) { // chunks from … to-1
		for i := from; i < to; i++ {
			out[i] = at
		}
		d.releases = append(d.releases, released{from, to, at, in[to-1] - in[from]})
	}
	switch p.fault {
	case FaultBufferEnd:
		if len(in) > 0 {
			release(0, len(in), max(end, in[len(in)-1]))
		}
	case FaultBufferSize:
		limit, held, from := 2048<<r.IntN(4), 0, 0
		for i := range in {
			held += int(bytes[i]) + 190 // what an event has around its text
			if held >= limit {
				release(from, i+1, in[i])
				from, held = i+1, 0
			}
		}
		if from < len(in) {
			release(from, len(in), max(end, in[len(in)-1]))
		}
	case FaultBufferTime:
		every := int64(logUniform(r, 0.4e6, 2.5e6))
		for from := 0; from < len(in); {
			at := in[from] + every
			if len(d.releases) > 0 {
				at = d.releases[len(d.releases)-1].at
				at += (in[from]-at)/every*every + every
			}
			to := from
			for to < len(in) && in[to] <= at {
				to++
			}
			release(from, to, at)
			from = to
		}
	}
	return out
}

// never is an instant that doesn't come.
const never = int64(math.MaxInt64)
