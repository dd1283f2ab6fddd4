package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// token is a piece of generated text.
type token struct {
	kind wire.Kind
	text string
}

// plan is one request: what is asked, what will be answered, and what goes wrong.
type plan struct {
	n      int
	r      *rand.Rand // of this request alone
	id     string
	submit int64 // true instant
	fault  Fault

	app, route, region, queryType string
	prompt                        int
	toks                          []token
	finish, stopReason            string
	noText                        bool
	withKinds, withTokens         bool

	pauses   map[int]int64 // held back in front of this token, µs
	causes   map[int]Fault
	slowFrom int // tokens slowFrom … slowTo-1 get every slowEvery-th step
	slowTo   int
	every    int
	dieAt    int // token; 0: never
	dieError string

	leaveAt    int   // the user leaves after this token; 0: never
	leaveAfter int64 // and this time
	cancels    bool  // the engine notices

	loop        *loopText
	loopToken   int // first token of the first copy
	loopChannel wire.Kind

	page      *session
	way       journey
	hasPage   bool
	gateways  bool // a gateway tells of it
	relays    bool // and tells its own stream
	jobs      []*job
	pending   int
	prefilled int64 // true instant of the served attempt's first sign of life
	keeps     bool  // the gateway keeps the leg to the engine when the user left
}

func (p *plan) everyAt(token int) int {
	if token >= p.slowFrom && token < p.slowTo {
		return p.every
	}
	return 1
}

// pauseIn returns the first token in (from, to] in front of which the stream is held, 0: none.
func (p *plan) pauseIn(from, to int) int {
	for i := from + 1; i <= to; i++ {
		if p.pauses[i] > 0 {
			return i
		}
	}
	return 0
}

// logUniform draws between a and b, each factor as likely as any.
func logUniform(r *rand.Rand, a, b float64) float64 {
	return a * math.Exp(r.Float64()*math.Log(b/a))
}

func (s *Simulator) newPlan(n int, submit int64) *plan {
	r := rand.New(rand.NewPCG(s.cfg.Seed, uint64(n)<<8|1)) //nolint:gosec // traffic, no secret
	p := &plan{
		n: n, r: r, id: s.id(n), submit: submit, pauses: map[int]int64{}, causes: map[int]Fault{}, finish: "stop",
		app: pick(r, []string{"chat", "search", "editor"}), route: pick(r, []string{"/v1/chat", "/v1/complete"}),
		region: pick(r, []string{"eu-1", "us-1"}), queryType: pick(r, []string{"", "long_form", "translate_summarize", "other"}),
		prompt: int(min(6000, 60*math.Exp(1.1*math.Abs(r.NormFloat64())+r.Float64()))), withKinds: true, withTokens: r.IntN(8) > 0,
	}
	x := r.Float64()
	for _, f := range ofRequest() {
		if x -= s.cfg.Shares[f]; x < 0 {
			p.fault = f
			break
		}
	}
	if r.Float64() < s.cfg.Shares[FaultBigPrefill] {
		p.prompt = 12_000 + r.IntN(30_000)
	}
	p.write()
	p.disturb()
	s.seat(p)
	p.depart()
	return p
}

// ofPage are the faults that only a page shows.
var ofPage = []Fault{
	FaultBufferSize, FaultBufferTime, FaultBufferEnd, FaultNetwork, FaultRender, FaultTyping, FaultHidden, FaultAbort, FaultWaste, FaultIdleDrop,
	FaultBroken, FaultRetraction, FaultClock, FaultLostBeacon, FaultJitter,
}

// seat gives a request its page, and says who tells of it.
func (s *Simulator) seat(p *plan) {
	r := p.r
	i := r.IntN(max(1, s.cfg.Requests/6))
	if p.fault == FaultClock {
		i = -1 - p.n // a machine of its own
	}
	if s.sessions[i] == nil {
		s.sessions[i] = s.newSession(i)
		if p.fault == FaultClock {
			s.sessions[i].sleptUS = int64(logUniform(r, 12e6, 30_000e6))
		}
	}
	p.page = s.sessions[i]
	p.gateways, p.relays = r.IntN(5) < 3, r.IntN(3) == 0
	p.hasPage = r.IntN(5) < 4 || slices.Contains(ofPage, p.fault)
	p.keeps = p.fault == FaultWaste && r.IntN(2) == 0
	switch p.fault {
	case FaultQueue, FaultRetry, FaultHedge:
		p.gateways = true
	case FaultWaste:
		p.gateways = p.gateways || p.keeps
	case FaultReusedID:
		p.hasPage, p.gateways = false, false
	}
	if s.cfg.ServerOnly {
		p.hasPage, p.gateways = false, false
	}
	p.relays = p.relays && p.gateways
}

// write makes the answer's tokens.
func (p *plan) write() {
	r := p.r
	add := func(kind wire.Kind, text string) {
		for _, t := range tokens(r, text) {
			p.toks = append(p.toks, token{kind, t})
		}
	}
	length := int(min(9000, 500*math.Exp(0.8*r.NormFloat64())+160))
	switch p.fault {
	case FaultLoop, FaultLoopStopped, FaultVerdict:
		p.loopChannel = wire.KindContent
		l := loop(r, 650+r.IntN(1500))
		p.loop = &l
		if r.IntN(4) == 0 {
			p.loopChannel = wire.KindReasoning
		} else if r.IntN(3) == 0 {
			add(wire.KindReasoning, sound(r, 300))
		}
		head := []rune(l.text)[:l.start]
		add(p.loopChannel, string(head))
		p.loopToken = len(p.toks)
		add(p.loopChannel, l.text[len(string(head)):])
		p.finish = "length"
		switch p.fault {
		case FaultLoopStopped, FaultVerdict:
			p.finish, p.stopReason = "repetition", "repetition_detected"
			p.noText = p.fault == FaultVerdict
		default:
		}
		return
	case FaultRefrain:
		add(wire.KindContent, refrain(r, length))
		return
	case FaultToolPause:
		add(wire.KindContent, sound(r, length/2))
		add(wire.KindTool, `{"path": "`+ident(r)+`", "query": "`+scripts[0].some(r, 12)+`"}`)
		k := len(p.toks)
		p.pauses[k], p.causes[k] = int64(logUniform(r, 0.4e6, 6e6)), FaultToolPause
		add(wire.KindContent, sound(r, length/2))
		return
	}
	if r.IntN(4) == 0 {
		add(wire.KindReasoning, scriptOf(r).prose(r, length/2))
	}
	add(wire.KindContent, sound(r, length))
	if r.IntN(12) == 0 {
		add(wire.KindTool, `{"name": "`+ident(r)+`", "limit": `+`10}`)
		p.finish = "tool_calls"
	}
}

// disturb places what goes wrong.
func (p *plan) disturb() {
	r, n := p.r, len(p.toks)
	hold := func(at int, d float64) {
		p.pauses[at], p.causes[at] = int64(d*1e6), p.fault
	}
	switch p.fault {
	case FaultStall:
		hold(12+r.IntN(max(1, n-24)), logUniform(r, 0.2, 9))
	case FaultTrain:
		at, d := 12+r.IntN(max(1, n/2)), logUniform(r, 0.4, 2.5)
		for range 3 + r.IntN(6) {
			hold(min(at, n-1), d*(0.9+0.2*r.Float64()))
			at += 1 + r.IntN(2)
		}
	case FaultSlow:
		p.every = 6 + r.IntN(6)
		p.slowFrom = 30 + r.IntN(max(1, n/3))
		p.slowTo = p.slowFrom + 20 + r.IntN(60)
	case FaultSlowStart:
		hold(0, logUniform(r, 0.5, 8))
	case FaultDead:
		p.dieAt = 6 + r.IntN(max(1, n-8))
		if r.IntN(2) == 0 {
			p.dieError = "upstream_reset"
		}
	case FaultIdleDrop:
		hold(10+r.IntN(max(1, n-20)), 61+40*r.Float64())
	case FaultAbort, FaultWaste:
		p.leaveAt = 5 + r.IntN(max(1, n/2))
		p.leaveAfter = 100_000 + r.Int64N(400_000)
		p.cancels = p.fault == FaultAbort
	case FaultLoop:
		if r.IntN(5) == 0 { // the user has seen enough
			p.leaveAt, p.leaveAfter, p.cancels = n-5-r.IntN(20), 100_000, true
		}
	}
}

// charsUntil counts the characters of a channel in front of a token.
func (p *plan) charsUntil(k int, kind wire.Kind) int {
	n := 0
	for _, t := range p.toks[:k] {
		if t.kind == kind {
			n += chars(t.text)
		}
	}
	return n
}

// batchOf returns the index of the batch that holds a token.
func (j *job) batchOf(tok int) int {
	return sort.Search(len(j.out), func(i int) bool { return j.out[i].to > tok })
}
