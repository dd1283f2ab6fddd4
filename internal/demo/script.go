package demo

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Faults that the model can be asked for.
const (
	FaultNone      = ""
	FaultStall     = "stall"      // one long pause in the middle
	FaultStutter   = "stutter"    // a second's pause every 40 tokens
	FaultLoop      = "loop"       // repeats a sentence until max_tokens
	FaultBurst     = "burst"      // holds tokens back and lets them go in bursts
	FaultCrawl     = "crawl"      // the middle third at a tenth of the pace
	FaultError     = "error"      // an error event in the middle of the stream
	FaultCut       = "cut"        // the connection breaks in the middle
	FaultSlowStart = "slow-start" // a long wait for the first token
	FaultSilent    = "silent"     // stops in the middle without an end; the connection stays open
	FaultHTTP500   = "http-500"   // no stream: status 500
	FaultOverload  = "overload"   // no stream: status 429
	FaultThink     = "think"      // no fault: reasoning before the answer
)

// Faults lists the names, in the order of the documentation.
func Faults() []string {
	return []string{
		FaultStall, FaultStutter, FaultLoop, FaultBurst, FaultCrawl, FaultError, FaultCut, FaultSlowStart, FaultSilent,
		FaultHTTP500, FaultOverload, FaultThink,
	}
}

func known(fault string) bool {
	for _, f := range Faults() {
		if f == fault {
			return true
		}
	}
	return fault == FaultNone
}

// act is what happens at a step of a script.
type act uint8

const (
	actText act = iota
	actReasoning
	actError
	actCut
	actSilence
)

// step waits and then does something.
type step struct {
	wait time.Duration
	act  act
	text string
}

// script is an answer as it will be given: the same ask makes the same script.
type script struct {
	steps  []step
	prompt int    // tokens of the prompt
	output int    // tokens of the answer, reasoning included
	think  int    // tokens of reasoning
	finish string // "stop" or "length"
}

// ask is what a request asks for, whatever its protocol.
type ask struct {
	model     string
	fault     string
	faultMS   int // length of a pause; 0: the fault's own
	seed      int64
	maxTokens int
	prompt    string
	stream    bool
	usage     bool // a usage chunk at the end (OpenAI)
	n         int
}

const (
	defaultTokens = 160  // of an answer, when max_tokens leaves room
	maxTokens     = 8192 // of any answer
)

// write makes the script of choice number c. scale stretches all times; 0 leaves none.
func write(a *ask, c int, scale float64) script {
	rng := newRand(a, c)
	limit := a.maxTokens
	if limit <= 0 {
		limit = 512
	}
	limit = min(limit, maxTokens)
	want := min(limit, defaultTokens+rng.IntN(60))
	if a.fault == FaultLoop {
		want = limit
	}
	s := script{prompt: 8 + len(a.prompt)/4, finish: "stop"}
	p := newProse(rng)
	var toks []string
	if a.fault == FaultThink {
		for len(toks) < want/3 {
			toks = append(toks, tokens(p.sentence())...)
		}
		toks = toks[:min(len(toks), want/3)]
		s.think = len(toks)
		p.sentences = 0
	}
	loopFrom, unit := math.MaxInt, []string(nil)
	if a.fault == FaultLoop {
		loopFrom = max(1, min(60, want/3))
	}
	for len(toks) < want {
		if len(toks)-s.think >= loopFrom {
			if unit == nil {
				unit = tokens(" So " + p.people.deal() + " counted the steps again.")
			}
			toks = append(toks, unit...)
			continue
		}
		toks = append(toks, tokens(p.sentence())...)
	}
	if len(toks) > want {
		toks = toks[:want]
		if want == limit {
			s.finish = "length"
		}
	} else if want == limit && a.fault == FaultLoop {
		s.finish = "length"
	}
	s.output = len(toks)
	s.steps = pace(rng, a, toks, s.think)
	for i := range s.steps {
		s.steps[i].wait = time.Duration(float64(s.steps[i].wait) * scale)
	}
	return s
}

func newRand(a *ask, c int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a.prompt))
	return rand.New(rand.NewPCG(uint64(a.seed), h.Sum64()+uint64(c))) //nolint:gosec // a script, not a secret
}

// pace times the tokens: first token after 200 to 300 ms, then 20 ms a token (median) with the jitter of a real
// engine, and the fault.
func pace(rng *rand.Rand, a *ask, toks []string, think int) []step {
	steps := make([]step, 0, len(toks)+1)
	for i, t := range toks {
		st := step{wait: time.Duration(20e6 * math.Exp(0.3*rng.NormFloat64())), text: t}
		if i == 0 {
			st.wait = 200*time.Millisecond + time.Duration(rng.IntN(100))*time.Millisecond
		}
		if i < think {
			st.act = actReasoning
		}
		steps = append(steps, st)
	}
	ms := func(def int) time.Duration {
		if a.faultMS > 0 {
			def = min(a.faultMS, 600_000)
		}
		return time.Duration(def) * time.Millisecond
	}
	mid := len(steps) / 2
	switch a.fault {
	case FaultStall:
		steps[mid].wait += ms(3000)
	case FaultStutter:
		for i := 40; i < len(steps); i += 40 {
			steps[i].wait += ms(1000)
		}
	case FaultSlowStart:
		steps[0].wait += ms(4000)
	case FaultCrawl:
		for i := len(steps) / 3; i < 2*len(steps)/3; i++ {
			steps[i].wait *= 10
		}
	case FaultBurst:
		burst(steps, ms(800))
	case FaultError:
		steps = append(steps[:mid], step{wait: steps[mid].wait, act: actError})
	case FaultCut:
		steps = append(steps[:mid], step{wait: steps[mid].wait, act: actCut})
	case FaultSilent:
		steps = append(steps[:mid], step{wait: ms(600_000), act: actSilence})
	}
	return steps
}

// burst moves the waits of each run of tokens that takes as long as hold to the run's first token, as a proxy
// that buffers would: nothing, then all at once.
func burst(steps []step, hold time.Duration) {
	for i := 1; i < len(steps); {
		sum, j := time.Duration(0), i
		for ; j < len(steps) && sum < hold; j++ {
			sum += steps[j].wait
			steps[j].wait = 0
		}
		steps[i].wait = sum
		i = j
	}
}

// faultOf finds the fault that a model's name ends in.
func faultOf(model string) string {
	if _, f, ok := strings.Cut(model, "demo-"); ok && known(f) {
		return f
	}
	return FaultNone
}

// joined returns the whole text of the steps of one kind.
func (s *script) joined(k act) string {
	var b strings.Builder
	for _, st := range s.steps {
		if st.act == k {
			b.WriteString(st.text)
		}
	}
	return b.String()
}
