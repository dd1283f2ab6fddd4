package stall

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fermata-io/fermata/internal/wire"
)

const codecVersion = 1

// ErrState is wrapped by every error of UnmarshalBinary.
var ErrState = errors.New("stall state can't be read")

// coder walks the fields of a state in one order, writing or reading varints.
type coder struct {
	buf  []byte
	read bool
	bad  bool
}

func code[T ~int | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	if !c.read {
		c.buf = binary.AppendVarint(c.buf, int64(*v))
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 || int64(T(x)) != x {
		c.bad = true
		c.buf = nil
		return
	}
	*v, c.buf = T(x), c.buf[n:]
}

func (c *coder) flag(v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	code(c, &b)
	if b > 1 {
		c.bad = true
	}
	*v = b == 1
}

func (t *Tracker) fields(c *coder) {
	for i := range t.pace.count {
		code(c, &t.pace.count[i])
	}
	code(c, &t.pace.fine)
	code(c, &t.startUS)
	code(c, &t.lastUS)
	code(c, &t.n)
	code(c, &t.tokens)
	code(c, &t.hiddenSince)
	code(c, &t.hiddenUS)
	code(c, &t.keepalives)
	code(c, &t.maxTokens)
	code(c, &t.lastKind)
	c.flag(&t.hidden)
	c.flag(&t.ended)
	code(c, &t.coldN)
	for i := range t.cold {
		g := &t.cold[i]
		code(c, &g.startUS)
		code(c, &g.gapUS)
		code(c, &g.paceQ)
		code(c, &g.chunk)
	}
	code(c, &t.prev[0])
	code(c, &t.prev[1])
	t.train.fields(c)
	t.slow.fields(c)
}

func (tr *train) fields(c *coder) {
	for _, v := range []*int64{&tr.chunk, &tr.last, &tr.startUS, &tr.endUS, &tr.sumUS, &tr.longestUS, &tr.flowUS,
		&tr.hiddenUS, &tr.keepalives, &tr.toldUS, &tr.openGapUS} {
		code(c, v)
	}
	code(c, &tr.gaps)
	code(c, &tr.flowGaps)
	c.flag(&tr.raised)
	c.flag(&tr.open)
	c.flag(&tr.openFirst)
}

func (s *slow) fields(c *coder) {
	for _, v := range []*int32{&s.sum, &s.back, &s.fast, &s.baseQ, &s.fastN} {
		code(c, v)
	}
	for _, v := range []*int64{&s.startUS, &s.chunk, &s.gaps, &s.floors, &s.sumUS, &s.tokens, &s.longest,
		&s.endUS, &s.endChunk, &s.endGaps, &s.endSumUS, &s.endTokens, &s.fastUS, &s.fastChunk, &s.toldUS} {
		code(c, v)
	}
	c.flag(&s.active)
	c.flag(&s.sped)
}

// AppendBinary appends the state, a few hundred bytes. The configuration is not part of it.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) {
	c := coder{buf: append(b, codecVersion)}
	t.fields(&c)
	return c.buf, nil
}

// UnmarshalBinary restores a state into a Tracker made by New. On error the Tracker is left as it was.
func (t *Tracker) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != codecVersion {
		return fmt.Errorf("%w: unknown version", ErrState)
	}
	n := New(t.cfg)
	c := coder{buf: b[1:], read: true}
	n.fields(&c)
	if c.bad || len(c.buf) > 0 {
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
