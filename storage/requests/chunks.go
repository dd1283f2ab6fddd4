package requests

import (
	"math"
	"slices"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// timeline is the chunks of one stream, its segments laid end to end.
type timeline struct {
	t       []int64
	content []bool // content-bearing
	kind    []wire.Kind
	bytes   []uint32
	tokens  []uint32
	choice  []uint16
	logprob []float32
	// A column is known only if every segment with chunks has it.
	noBytes, noTokens bool
	anyLogprob        bool
	overlap           bool // segments were not in the order of time
}

// add appends one segment's chunks.
func (l *timeline) add(c *wire.Chunks) {
	n := c.Len()
	if n == 0 {
		return
	}
	if len(l.t) > 0 && c.T[0] < l.t[len(l.t)-1] {
		l.overlap = true
	}
	l.t = append(l.t, c.T...)
	l.noBytes = l.noBytes || len(c.Bytes) == 0
	l.noTokens = l.noTokens || len(c.Tokens) == 0
	l.anyLogprob = l.anyLogprob || len(c.Logprob) > 0
	for i := range n {
		l.content = append(l.content, c.ContentBearing(i))
		l.kind = append(l.kind, c.KindAt(i))
		l.bytes = append(l.bytes, entry(c.Bytes, i))
		l.tokens = append(l.tokens, entry(c.Tokens, i))
		l.choice = append(l.choice, entry(c.Choice, i))
		if len(c.Logprob) > 0 {
			l.logprob = append(l.logprob, c.Logprob[i])
		} else {
			l.logprob = append(l.logprob, float32(math.NaN()))
		}
	}
}

func entry[T any](v []T, i int) T {
	if i < len(v) {
		return v[i]
	}
	var zero T
	return zero
}

// order sorts the chunks by time, keeping the order of segments for equal times.
func (l *timeline) order() {
	if !l.overlap {
		return
	}
	at := make([]int, len(l.t))
	for i := range at {
		at[i] = i
	}
	sort.SliceStable(at, func(a, b int) bool { return l.t[at[a]] < l.t[at[b]] })
	l.t, l.content, l.kind = pick(l.t, at), pick(l.content, at), pick(l.kind, at)
	l.bytes, l.tokens, l.choice, l.logprob = pick(l.bytes, at), pick(l.tokens, at), pick(l.choice, at), pick(l.logprob, at)
}

func pick[T any](v []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = v[k]
	}
	return out
}

// scalars are what a timeline says in numbers.
type scalars struct {
	nContent       int
	first, last    *int64 // content-bearing
	answer         *int64
	maxGap         *int64
	maxGapChunk    *int64
	p50, p99       *int64
	contentBytes   int64
	chunkTokens    *int64
	contentOffsets []int64
}

func (l *timeline) scalars() scalars {
	var s scalars
	var gaps []int64
	last := map[uint16]int64{} // by choice: answers that run side by side have gaps of their own
	for i, t := range l.t {
		if !l.content[i] {
			continue
		}
		s.contentBytes += int64(l.bytes[i])
		before, follows := last[l.choice[i]]
		last[l.choice[i]] = t
		if follows {
			gap := t - before
			gaps = append(gaps, gap)
			if s.maxGap == nil || gap > *s.maxGap {
				s.maxGap, s.maxGapChunk = known(gap), known(int64(s.nContent))
			}
		}
		if s.first == nil {
			s.first = known(t)
		}
		if s.answer == nil && l.kind[i] == wire.KindContent {
			s.answer = known(t)
		}
		s.last = known(t)
		s.nContent++
		s.contentOffsets = append(s.contentOffsets, t)
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		s.p50, s.p99 = known(nearestRank(gaps, 50)), known(nearestRank(gaps, 99))
	}
	if len(l.t) > 0 && !l.noTokens {
		sum := int64(0)
		for _, n := range l.tokens {
			sum += int64(n)
		}
		s.chunkTokens = &sum
	}
	return s
}

func nearestRank(sorted []int64, p int) int64 { return sorted[(len(sorted)*p+99)/100-1] }

// model returns the chunks with their times moved by shift, nil when there are none.
func (l *timeline) model(shift int64) *Chunks {
	if len(l.t) == 0 {
		return nil
	}
	c := &Chunks{TUS: make([]int64, len(l.t)), Kind: make([]string, len(l.t))}
	for i, t := range l.t {
		c.TUS[i], c.Kind[i] = t+shift, l.kind[i].String()
	}
	if !l.noBytes {
		c.Bytes = l.bytes
	}
	if !l.noTokens {
		c.Tokens = l.tokens
	}
	if slices.ContainsFunc(l.choice, func(v uint16) bool { return v != 0 }) {
		c.Choice = l.choice
	}
	if l.anyLogprob {
		for _, v := range l.logprob {
			c.Logprob = append(c.Logprob, finite(v))
		}
	}
	return c
}

// finite returns nil for a number that JSON has no form of.
func finite(v float32) *float64 {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// curve returns times and bytes alone.
func (l *timeline) curve(shift int64) *Curve {
	c := l.model(shift)
	if c == nil {
		return nil
	}
	return &Curve{TUS: c.TUS, Bytes: c.Bytes}
}

// cumulative returns the content bytes sent by each chunk's end; ok is false where sizes are not known.
func (l *timeline) cumulative() (cum []int64, ok bool) {
	if len(l.t) == 0 || l.noBytes {
		return nil, false
	}
	sum := int64(0)
	for i, n := range l.bytes {
		if l.content[i] {
			sum += int64(n)
		}
		cum = append(cum, sum)
	}
	return cum, true
}
