package simulate

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// model is what an engine runs and how fast.
type model struct {
	deployment, provider, model, version string
	baseUS, perStreamUS, perPromptUS     float64 // of a step; for each stream that decodes; for each prompt token prefilled
	maxBatch                             int
	chunkSize                            int // tokens of prompts in one step; 0: a prompt is prefilled in one piece
	draft                                int // speculative decoding: most tokens accepted beside the first
	reasons                              bool
	segments                             bool
}

func models() []model {
	return []model{
		{"sim-a1", "sim", "sim-large", "1.0", 17_000, 260, 42, 40, 512, 0, false, true},
		{"sim-a2", "sim", "sim-large", "1.0", 18_000, 260, 42, 40, 512, 0, false, true},
		{"sim-b1", "sim", "sim-small", "3.1", 9_000, 110, 18, 64, 1024, 4, false, true},
		{"sim-c1", "sim", "sim-reasoner", "0.9", 21_000, 300, 45, 48, 512, 0, true, true},
	}
}

// span is a stretch of true time, µs.
type span struct{ from, until int64 }

// slowSpan is a stretch in which steps take factor times as long.
type slowSpan struct {
	span
	factor float64
}

// job is one attempt of a request at an engine.
type job struct {
	p       *plan
	attempt uint32
	e       *engine

	arrived, admitted, prefilled int64 // instants
	promptLeft                   int
	next                         int // token
	skipped                      int // steps since the last token, in a slow stretch
	holdUntil                    int64
	out                          []batch
	ended                        int64
	cancelAt                     int64 // whoever asked went away and the engine noticed; 0: not
	abortedAt                    int64 // the user left; 0: not
	version                      string
	batchSize                    int
	start                        int64 // when the engine got it; arrived is when it entered the queue
}

// batch is the tokens of one step of one stream.
type batch struct {
	at       int64
	from, to int
}

// engine is a replica with continuous batching.
type engine struct {
	model
	r       *rand.Rand
	now     int64
	queue   []*job // not admitted, by arrival
	running []*job
	stalls  []span
	slow    []slowSpan
	since   int64 // start of the simulation
	newAt   int64 // when the new version starts; 0: never
	// retextured says that the new version streams otherwise: more tokens in a chunk. Some new versions don't.
	retextured bool
	clockUS    int64 // its clock − true time
}

// next is when the engine can do something, math.MaxInt64 when it has nothing to do.
func (e *engine) nextAt() int64 {
	at := int64(math.MaxInt64)
	if len(e.queue) > 0 && len(e.running) < e.maxBatch {
		at = max(e.now, e.queue[0].arrived)
	}
	for _, j := range e.running {
		at = min(at, max(e.now, j.holdUntil))
	}
	return at
}

// add puts a job into the queue.
func (e *engine) add(j *job) {
	j.e = e
	i, _ := slices.BinarySearchFunc(e.queue, j, func(a, b *job) int {
		if a.arrived <= b.arrived {
			return -1
		}
		return 1
	})
	e.queue = slices.Insert(e.queue, i, j)
}

// step runs one step and returns the jobs that ended with it.
func (e *engine) step() []*job {
	e.now = e.nextAt()
	for len(e.queue) > 0 && len(e.running) < e.maxBatch && e.queue[0].arrived <= e.now {
		j := e.queue[0]
		e.queue = e.queue[1:]
		j.admitted, j.promptLeft = e.now, j.p.prompt
		j.version = e.version
		if e.newAt != 0 && e.now >= e.newAt {
			j.version += "-next"
		}
		e.running = append(e.running, j)
	}
	var decode []*job
	budget := e.chunkSize
	prompt := 0
	for _, j := range e.running {
		switch {
		case j.holdUntil > e.now:
		case j.promptLeft == 0:
			decode = append(decode, j)
		case e.chunkSize == 0:
			prompt += j.promptLeft
			j.promptLeft = 0
		case budget > 0:
			n := min(budget, j.promptLeft)
			j.promptLeft -= n
			budget -= n
			prompt += n
		}
		if j.promptLeft == 0 && j.prefilled == 0 {
			j.prefilled = -1 // with the end of this step
		}
	}
	took := e.baseUS + e.perStreamUS*float64(len(decode)) + e.perPromptUS*float64(prompt)
	took *= math.Exp(0.1 * e.r.NormFloat64())
	took = e.disturb(took)
	e.now += int64(took)
	e.decode(decode)
	return e.leave()
}

// disturb lengthens a step by what happens to the whole engine.
func (e *engine) disturb(took float64) float64 {
	for _, s := range e.slow {
		if e.now >= s.from && e.now < s.until {
			took *= s.factor
		}
	}
	for i, s := range e.stalls {
		if s.from >= e.now && s.from < e.now+int64(took) {
			e.stalls[i].from = e.now // as it really was
			took += float64(s.until - s.from)
			e.stalls[i].until = e.now + int64(took)
		}
	}
	return took
}

// decode gives each stream the tokens of a step.
func (e *engine) decode(streams []*job) {
	for _, j := range streams {
		p := j.p
		if every := p.everyAt(j.next); every > 1 {
			j.skipped++
			if j.skipped < every {
				continue
			}
			j.skipped = 0
		}
		n := 1
		draft := e.draft
		if e.retextured && j.version != e.version {
			draft += 3
		}
		for range draft {
			if e.r.Float64() < 0.55 {
				n++
			}
		}
		to := min(j.next+n, len(p.toks))
		if stop := p.pauseIn(j.next, to); stop > j.next {
			to = stop
		}
		// All tokens of a chunk are of one kind.
		for i := j.next + 1; i < to; i++ {
			if p.toks[i].kind != p.toks[j.next].kind {
				to = i
			}
		}
		j.out = append(j.out, batch{e.now, j.next, to})
		j.next = to
		j.batchSize = max(j.batchSize, len(streams))
		if d := p.pauses[to]; d > 0 && to < len(p.toks) {
			j.holdUntil = e.now + d
		}
		if p.leaveAt > 0 && j.abortedAt == 0 && to >= p.leaveAt {
			j.abortedAt = e.now + p.leaveAfter
			if p.cancels {
				j.cancelAt = j.abortedAt + 40_000 + e.r.Int64N(150_000)
			}
		}
	}
}

// leave takes the jobs out that are done, cancelled or dead.
func (e *engine) leave() []*job {
	var gone []*job
	e.running = slices.DeleteFunc(e.running, func(j *job) bool {
		if j.prefilled == -1 {
			j.prefilled = e.now
		}
		end := j.next >= len(j.p.toks) || j.cancelAt != 0 && e.now >= j.cancelAt
		if j.p.dieAt > 0 && j.next >= j.p.dieAt {
			end = true
		}
		if end {
			j.ended = e.now
			gone = append(gone, j)
		}
		return end
	})
	return gone
}

// target is who serves a job.
func (j *job) target() wire.Target {
	return wire.Target{Provider: j.e.provider, Deployment: j.e.deployment, Model: j.e.model.model, ModelVersion: j.version}
}
