package stall

import (
	"errors"
	"fmt"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/flat"
)

const codecVersion = 3

// ErrState is wrapped by every error of UnmarshalBinary.
var ErrState = errors.New("stall state can't be read")

func (t *Tracker) fields(c *flat.Coder) {
	for i := range t.pace.count {
		flat.Int(c, &t.pace.count[i])
	}
	flat.Int(c, &t.pace.fine)
	flat.Int(c, &t.startUS)
	flat.Int(c, &t.lastUS)
	flat.Int(c, &t.n)
	flat.Int(c, &t.tokens)
	flat.Int(c, &t.hiddenSince)
	flat.Int(c, &t.hiddenUS)
	flat.Int(c, &t.keepalives)
	flat.Int(c, &t.maxTokens)
	flat.Int(c, &t.lastKind)
	c.Bool(&t.hidden)
	c.Bool(&t.ended)
	flat.Int(c, &t.coldN)
	for i := range t.cold {
		g := &t.cold[i]
		flat.Int(c, &g.startUS)
		flat.Int(c, &g.gapUS)
		flat.Int(c, &g.paceQ)
		flat.Int(c, &g.chunk)
	}
	flat.Int(c, &t.prev[0])
	flat.Int(c, &t.prev[1])
	t.train.fields(c)
	open := t.train.open && t.train.openFirst
	c.Bool(&open)
	if open {
		t.before.train.fields(c)
		flat.Int(c, &t.before.prev[0])
		flat.Int(c, &t.before.prev[1])
	}
	t.slow.fields(c)
}

func (tr *train) fields(c *flat.Coder) {
	for _, v := range []*int64{
		&tr.chunk, &tr.last, &tr.startUS, &tr.endUS, &tr.sumUS, &tr.longestUS, &tr.flowUS,
		&tr.hiddenUS, &tr.keepalives, &tr.toldUS, &tr.openGapUS,
	} {
		flat.Int(c, v)
	}
	flat.Int(c, &tr.gaps)
	flat.Int(c, &tr.flowGaps)
	c.Bool(&tr.raised)
	c.Bool(&tr.open)
	c.Bool(&tr.openFirst)
}

func (s *slow) fields(c *flat.Coder) {
	for _, v := range []*int32{&s.sum, &s.back, &s.fast, &s.baseQ, &s.fastN} {
		flat.Int(c, v)
	}
	for _, v := range []*int64{
		&s.startUS, &s.chunk, &s.gaps, &s.floors, &s.sumUS, &s.tokens, &s.longest,
		&s.endUS, &s.endChunk, &s.endGaps, &s.endSumUS, &s.endTokens, &s.fastUS, &s.fastChunk, &s.fastTokens, &s.toldUS,
	} {
		flat.Int(c, v)
	}
	c.Bool(&s.active)
	c.Bool(&s.sped)
}

// AppendBinary appends the state, a few hundred bytes. The configuration is not part of it.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) {
	c := flat.Writer(append(b, codecVersion))
	t.fields(c)
	return c.Bytes(), nil
}

// UnmarshalBinary restores a state into a Tracker made by New. On error the Tracker is left as it was.
func (t *Tracker) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != codecVersion {
		return fmt.Errorf("%w: unknown version", ErrState)
	}
	n := New(t.cfg)
	c := flat.Reader(b[1:])
	n.fields(c)
	if !c.Complete() {
		return fmt.Errorf("%w: damaged", ErrState)
	}
	if err := n.check(); err != nil {
		return err
	}
	*t = n
	return nil
}

// check refuses states that no stream can lead to, and derives what isn't kept.
func (t *Tracker) check() error {
	h := &t.pace
	fine := h.fine
	for i := range h.count {
		h.n += uint32(h.count[i])
	}
	if h.n > 0 {
		h.settle()
		h.fine = fine
		if fine < int32(h.med)*bucketQ || fine >= int32(h.med+1)*bucketQ {
			return fmt.Errorf("%w: median outside its bucket", ErrState)
		}
	}
	if t.n < 0 || t.coldN > coldGaps || t.lastKind > wire.KindDone || t.train.gaps < 0 || t.slow.gaps < 0 ||
		t.slow.sum < 0 || t.slow.sum > cusumCap || (t.slow.sum > 0 && !t.slow.active && t.slow.gaps == 0) || t.slow.fastN < 0 {
		return fmt.Errorf("%w: impossible counts", ErrState)
	}
	return nil
}
