package simulate

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
)

// Record is one thing that is sent: exactly one of Stream, Gateway and Client is set.
type Record struct {
	At      int64 // true instant it is sent, µs since the Unix epoch
	Stream  *wire.Stream
	Gateway *wire.Gateway
	Client  *wire.Client
}

// Simulator makes the traffic of one configuration, once.
type Simulator struct {
	cfg     Config
	prefix  string
	start   int64
	end     int64 // of arrivals
	engines []*engine
	r       *rand.Rand // of arrivals
	made    int
	nextAt  int64 // arrival of the next request
	open    []*plan
	heap    recordHeap
	order   int
	// Records and chunks made so far, and requests that are complete.
	Records, Chunks, Done int

	sessions map[int]*session
	versions map[versionOf]int // streams
	truths   []Truth
}

// versionOf is a version of a deployment.
type versionOf struct{ deployment, version string }

// New makes a Simulator; cfg must be valid.
func New(cfg Config) *Simulator {
	s := &Simulator{
		cfg: cfg, prefix: cfg.Prefix(), start: cfg.Start.UnixMicro(), r: rand.New(rand.NewPCG(cfg.Seed, 0xa11)), //nolint:gosec // traffic, no secret
		sessions: map[int]*session{}, versions: map[versionOf]int{},
	}
	s.end = math.MaxInt64
	if cfg.Duration > 0 {
		s.end = s.start + cfg.Duration.Microseconds()
	}
	for i, m := range models() {
		if cfg.Shares[FaultNewVersion] > 0 { // targets of their own: what they ran before is not compared
			m.deployment += "-" + targetSuffix(s.prefix)
		}
		s.engines = append(s.engines, s.newEngine(i, m))
	}
	s.nextAt = s.start
	s.arrive()
	return s
}

// targetSuffix is what the deployments of traffic with new versions end with, from the prefix of its requests.
func targetSuffix(prefix string) string {
	parts := strings.Split(strings.TrimSuffix(prefix, "-"), "-")
	return parts[len(parts)-1]
}

func (s *Simulator) newEngine(i int, m model) *engine {
	r := rand.New(rand.NewPCG(s.cfg.Seed, 0xe00+uint64(i))) //nolint:gosec // traffic, no secret
	e := &engine{model: m, r: r, now: s.start, since: s.start, clockUS: r.Int64N(4000) - 2000}
	if s.cfg.Shares[FaultBigPrefill] > 0 {
		e.chunkSize = 0
	}
	if r.Float64() < s.cfg.Shares[FaultNewVersion] || s.cfg.Shares[FaultNewVersion] > 0 && i == 0 {
		e.newAt = s.start + s.cfg.Expected().Microseconds()/2
		e.retextured = i%2 == 0
	}
	const minute = 60_000_000
	for at := s.start; at < s.start+s.cfg.Expected().Microseconds()+minute; at += minute {
		if r.Float64() < s.cfg.Shares[FaultEngineStall] {
			from := at + r.Int64N(minute-10_000_000)
			e.stalls = append(e.stalls, span{from, from + int64(logUniform(r, 0.4e6, 8e6))})
		}
		if r.Float64() < s.cfg.Shares[FaultEngineSlow] {
			from := at + r.Int64N(minute/2)
			e.slow = append(e.slow, slowSpan{span{from, from + 4_000_000 + r.Int64N(8_000_000)}, 6 + 3*r.Float64()})
		}
	}
	return e
}

func (s *Simulator) id(n int) string { return fmt.Sprintf("%s%d", s.prefix, n) }

// arrive draws when the next request comes.
func (s *Simulator) arrive() {
	s.nextAt += int64(s.r.ExpFloat64() / s.cfg.Rate * 1e6)
	if s.made >= s.cfg.Requests || s.nextAt >= s.end {
		s.nextAt = math.MaxInt64
	}
}

// Next returns the next record in the order of sending; ok is false after the last.
func (s *Simulator) Next() (rec Record, ok bool) {
	for {
		low := s.nextAt
		if len(s.open) > 0 {
			low = min(low, s.open[0].submit)
		}
		if len(s.heap) > 0 && (s.heap[0].rec.At < low || low == math.MaxInt64) {
			return heap.Pop(&s.heap).(queued).rec, true //nolint:forcetypeassert // the heap holds nothing else
		}
		if low == math.MaxInt64 {
			s.judgeVersions()
			return Record{}, false
		}
		s.advance()
	}
}

// advance does the next thing there is to do: a request comes, or an engine makes a step.
func (s *Simulator) advance() {
	var next *engine
	at := int64(math.MaxInt64)
	for _, e := range s.engines {
		if t := e.nextAt(); t < at {
			next, at = e, t
		}
	}
	if s.nextAt <= at {
		p := s.newPlan(s.made, s.nextAt)
		s.made++
		s.arrive()
		s.open = append(s.open, p)
		s.route(p)
		return
	}
	for _, j := range next.step() {
		j.p.pending--
		if j.p.pending == 0 {
			s.finish(j.p)
		}
	}
}

func (s *Simulator) push(at int64, rec Record) {
	rec.At = at
	s.order++
	s.Records++
	if rec.Stream != nil {
		s.Chunks += rec.Stream.Chunks.Len()
	}
	heap.Push(&s.heap, queued{rec, s.order})
}

// Truths returns what went wrong in all requests that are complete, in the order in which it began.
func (s *Simulator) Truths() []Truth {
	slices.SortStableFunc(s.truths, func(a, b Truth) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.RequestID, b.RequestID), cmp.Compare(a.Kind, b.Kind))
	})
	return s.truths
}

func (s *Simulator) tell(t Truth) { s.truths = append(s.truths, t) }

// queued is a record that waits for its turn.
type queued struct {
	rec   Record
	order int
}

type recordHeap []queued

func (h recordHeap) Len() int { return len(h) }
func (h recordHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].rec.At, h[j].rec.At), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h recordHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are container/heap's.
func (h *recordHeap) Push(x any) { *h = append(*h, x.(queued)) } //nolint:forcetypeassert // as above

func (h *recordHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
