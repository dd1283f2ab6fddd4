package repetition

import (
	"errors"
	"fmt"

	"github.com/fermata-io/fermata/processors/flat"
)

const codecVersion = 2

// ErrState is wrapped by every error of UnmarshalBinary.
var ErrState = errors.New("repetition state can't be read")

// AppendBinary appends the state, at most 7 kB: with it the same text gives the same events elsewhere. The last
// 512 characters of each channel are in it, and hashes of words: keep it like text.
func (d *Detector) AppendBinary(b []byte) ([]byte, error) {
	c := flat.Writer(append(b, codecVersion))
	d.fields(c)
	return c.Bytes(), nil
}

// UnmarshalBinary restores a state into a Detector made by New. On error the Detector is left as it was.
func (d *Detector) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != codecVersion {
		return fmt.Errorf("%w: unknown version", ErrState)
	}
	n := New(d.cfg)
	c := flat.Reader(b[1:])
	n.fields(c)
	if !c.Complete() || !n.possible() {
		return fmt.Errorf("%w: damaged", ErrState)
	}
	*d = *n
	return nil
}

func (d *Detector) fields(c *flat.Coder) {
	flat.Int(c, &d.writes)
	flat.Int(c, &d.lastChan)
	for i := range d.channel {
		flat.Int(c, &d.channel[i])
	}
	used := false
	for i := range d.slots {
		s := &d.slots[i]
		flat.Int(c, &s.owner)
		if s.owner != 0 {
			s.fields(c)
			used = true
		}
	}
	if used {
		c.Raw16(d.chars[:])
		c.Raw16(d.words[:])
	}
}

func (s *slot) fields(c *flat.Coder) {
	c.Bool(&s.hashes)
	flat.Int(c, &s.used)
	flat.Int(c, &s.blank)
	s.chars.fields(c)
	s.words.fields(c)
	s.places.fields(c)
	s.loop.fields(c)
}

func (s *chars) fields(c *flat.Coder) {
	c.Uint64(&s.last8)
	flat.Int(c, &s.n)
	flat.Int(c, &s.lag)
	flat.Int(c, &s.run)
	flat.Int(c, &s.next)
	flat.Int(c, &s.context)
	c.Raw(s.ring[:min(s.n, charRing)])
}

func (w *words) fields(c *flat.Coder) {
	flat.Int(c, &w.n)
	w.main.fields(c)
	w.alt.fields(c)
	w.loose.fields(c)
	c.Bool(&w.held)
	for _, v := range []*uint32{&w.part.masked, &w.part.exact, &w.part.number} {
		flat.Int(c, v)
	}
	for _, v := range []*uint8{&w.part.chars, &w.part.mask, &w.part.prev, &w.part.after} {
		flat.Int(c, v)
	}
	n := min(w.n, wordRing)
	c.Raw16(w.hash[:n])
	c.Raw(w.size[:n])
	c.Raw16(w.mark[:min((n+markStep-1)/markStep, wordRing/markStep)])
}

func (t *track) fields(c *flat.Coder) {
	flat.Int(c, &t.lag)
	if t.lag == 0 {
		return
	}
	for _, v := range []*uint32{
		&t.n, &t.match, &t.exact, &t.miss, &t.shifts, &t.next, &t.start, &t.step, &t.lastEnd,
		&t.news, &t.spaced, &t.varied, &t.steps, &t.ups, &t.rise, &t.listed, &t.number,
	} {
		flat.Int(c, v)
	}
	c.Uint64(&t.adv)
	flat.Int(c, &t.chunk)
}

func (p *places) fields(c *flat.Coder) {
	flat.Int(c, &p.local)
	flat.Int(c, &p.last)
	flat.Int(c, &p.nJump)
	for i := range p.jumps[:min(p.nJump, jumpsKept)] {
		flat.Int(c, &p.jumps[i].local)
		flat.Int(c, &p.jumps[i].global)
	}
	for i := range p.begin {
		c.Uint64(&p.begin[i])
	}
}

func (l *loop) fields(c *flat.Coder) {
	flat.Int(c, &l.state)
	if l.state == quiet {
		return
	}
	flat.Int(c, &l.class.kind)
	for _, v := range []*bool{&l.class.ruler, &l.class.fill, &l.class.coded, &l.class.empty, &l.class.opaque} {
		c.Bool(v)
	}
	flat.Int(c, &l.broke)
	f, e := &l.found, &l.found.Evidence
	flat.Int(c, &f.Channel)
	flat.Int(c, &f.Chunk)
	flat.Int(c, &f.LastChunk)
	c.Bool(&f.Open)
	flat.Float(c, &f.Confidence)
	for _, v := range []*int64{&e.StartChar, &e.PeriodChars, &e.Repeats, &e.Chars} {
		flat.Int(c, v)
	}
	h := uint64(e.UnitHash)
	c.Uint64(&h)
	e.UnitHash = Hash(h)
	flat.Int(c, &e.Match)
	flat.Float(c, &e.Quality)
	c.Bool(&e.Words)
}

// possible refuses states that no text can lead to and that would break what follows.
func (d *Detector) possible() bool {
	var owned [channels]bool
	for i := range d.slots {
		s := &d.slots[i]
		if s.owner < 0 || s.owner > channels {
			return false
		}
		if s.owner == 0 {
			continue
		}
		ch := s.owner - 1
		if owned[ch] || int(d.channel[ch]) != i || !s.possible() {
			return false
		}
		owned[ch] = true
	}
	for ch, k := range d.channel {
		if k < -1 || k >= slots || k >= 0 != owned[ch] {
			return false
		}
	}
	return d.lastChan < channels
}

func (s *slot) possible() bool {
	c, w := &s.chars, &s.words
	e := &s.loop.found.Evidence
	return c.lag <= maxLag && c.lag+c.run <= c.n && (c.lag > 0 || c.run == 0) && c.context <= contextOpaque &&
		w.main.possible(w.n) && w.alt.possible(w.n) && w.loose.possible(w.n) && w.part.chars < maxWord && uint32(w.part.chars) <= c.n &&
		s.loop.state <= byBlank && uint32(s.blank) <= c.n && s.loop.class.kind <= blank && e.Match <= Drifting && e.PeriodChars >= 0 &&
		s.places.local >= 0 && (s.loop.state != byWords || w.held)
}

func (t *track) possible(words uint32) bool {
	return t.lag == 0 || t.lag <= maxSpan && t.lag < words && t.n > 0 && t.n <= words && t.match <= t.n &&
		t.exact <= t.match && t.spaced+t.varied <= t.match-t.exact && t.step == 1<<16/t.lag
}
