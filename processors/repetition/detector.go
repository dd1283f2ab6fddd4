package repetition

import (
	"math"
	"unicode/utf8"
)

const slots = 2

// Detector follows one answer of a stream. It is used by one goroutine at a time. Methods append the events
// they cause to dst and return it; with room in dst nothing is allocated.
type Detector struct {
	cfg      *Config
	writes   uint32 // orders the use of slots
	channel  [channels]int8
	lastChan Channel
	slots    [slots]slot
	chars    [tableSize]uint16 // hints of both slots, see chars.seek
	words    [tableSize]uint16 // see words.seek
}

// slot holds one channel's text and loop.
type slot struct {
	owner  int8   // channel + 1; 0: free
	hashes bool   // fed by WriteHashes
	blank  uint16 // white space since the last other character, as far as it can count
	used   uint32
	chars  chars
	words  words
	places places
	loop   loop
}

// New makes a Detector for one answer. cfg is shared and must not change.
func New(cfg *Config) *Detector {
	d := &Detector{cfg: cfg}
	d.Reset()
	return d
}

// Reset makes the Detector ready for another stream.
func (d *Detector) Reset() {
	*d = Detector{cfg: d.cfg}
	for i := range d.channel {
		d.channel[i] = -1
	}
}

// slot returns the state of a channel. There is room for two: a third channel takes the place of the one
// that was silent longest.
func (d *Detector) slot(ch Channel, dst []Event) (*slot, []Event) {
	d.writes++
	d.lastChan = ch
	if i := d.channel[ch]; i >= 0 {
		s := &d.slots[i]
		s.used = d.writes
		return s, dst
	}
	k := 0
	for i := range d.slots {
		if d.slots[i].owner == 0 {
			k = i
			break
		}
		if d.slots[i].used < d.slots[k].used {
			k = i
		}
	}
	s := &d.slots[k]
	if s.owner > 0 {
		dst = s.finish(d.cfg, FinishStop, dst)
		d.channel[s.owner-1] = -1
	}
	*s = slot{owner: int8(ch) + 1, used: d.writes} //nolint:gosec // low bits on purpose, or three channels
	d.channel[ch] = int8(k)
	return s, dst
}

// Write takes the text of content-bearing chunk number chunk, counted from 0 over all channels. Parts of one
// chunk may come one after another.
func (d *Detector) Write(ch Channel, chunk int64, text string, dst []Event) []Event {
	if text == "" {
		return dst
	}
	s, dst := d.slot(ch, dst)
	from := s.chars.n
	s.places.chunk(from, chunk)
	dst = s.write(d, text, dst)
	s.places.advance(from, s.chars.n)
	return dst
}

func (s *slot) write(d *Detector, text string, dst []Event) []Event {
	c, p := &s.chars, &s.words.part
	for i := 0; i < len(text); {
		sym := text[i]
		var bits uint8
		if sym < utf8.RuneSelf {
			bits = asciiBits[sym]
			i++
			if sym == '-' && p.prev&isLetter != 0 {
				bits = isLetter // twenty-two is one word
			}
		} else {
			r, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if d, ok := digit(r); ok {
				sym, bits = d, isDigit
			} else {
				bits = runeBits(r)
				sym = fold(r, bits)
			}
		}
		// a word ends before a word character that follows none
		if bits&isWord != 0 && p.prev&isWord == 0 && p.chars > 0 {
			dst = s.endWord(d, dst)
		}
		c.ring[c.n&charMask] = sym
		c.last8 = c.last8<<8 | uint64(sym)
		c.n++
		switch {
		case c.lag == 0:
			if lag := hint(&d.chars, c.last8, c.n); lag-1 < maxLag && (c.ring[(c.n-1-lag)&charMask] == sym || lag == 1) && c.seek(lag) {
				dst = s.judgeChars(d.cfg, dst)
			}
		case c.ring[(c.n-1-c.lag)&charMask] == sym:
			c.run++
			if c.run >= c.next {
				dst = s.judgeChars(d.cfg, dst)
			}
		default:
			s.charsBroke()
		}
		if bits&isSpace != 0 {
			if s.blank < math.MaxUint16 {
				s.blank++
			}
			if s.blank == blankChars && s.loop.state == quiet {
				dst = s.judgeBlank(d.cfg, dst)
			}
		} else if s.blank > 0 {
			if s.loop.state == byBlank {
				dst = s.close(d.cfg, stopped, c.n-1, false, dst)
			}
			s.blank = 0
		}
		p.exact = (p.exact ^ uint32(sym)) * fnvPrime
		if p.chars == 1 && bits&isWord == 0 && p.prev&isLetter != 0 && (sym == '.' || sym == ')') {
			p.letter(c.ring[(c.n-2)&charMask], sym)
		}
		if bits&p.prev&(isDigit|isSpace) == 0 {
			p.mark(sym, bits)
		}
		if bits&isDigit != 0 {
			p.number = p.number*10 + uint32(sym-'0')
		} else if p.prev&isDigit != 0 {
			p.after = sym
		}
		p.mask |= bits
		p.prev = bits
		p.chars++
		// and where there are no spaces, its content decides
		if bits&isDense != 0 {
			two := uint16(c.last8) //nolint:gosec // low bits on purpose
			if asciiBits[byte(two>>8)&0x7f]&isDigit != 0 && two < symCode<<8 {
				two = '#'<<8 | two&0xff // whatever the number, it is cut at the same place
			}
			if p.chars >= maxDense || two*0x9e37>>14 == 0 {
				dst = s.endWord(d, dst)
			}
		} else if p.chars >= longWord && (p.chars >= maxWord || bits&isWord != 0 && uint32(c.last8)*0x9e3779b1>>29 == 0) { //nolint:gosec // low bits on purpose, or three channels
			dst = s.endWord(d, dst)
		}
	}
	return dst
}

func (s *slot) endWord(d *Detector, dst []Event) []Event {
	w := &s.words
	w.push(w.part.hash(), w.part.chars, s.chars.n, &d.words)
	w.part = part{prev: w.part.prev}
	return s.judgeWords(d.cfg, dst)
}

// WriteHashes takes keyed hashes of words, or token ids, of a chunk whose text may not be sent. A channel is
// fed by Write or by WriteHashes, not by both. Counters are found only if digits were masked before hashing.
func (d *Detector) WriteHashes(ch Channel, chunk int64, hashes []uint64, dst []Event) []Event {
	if len(hashes) == 0 {
		return dst
	}
	s, dst := d.slot(ch, dst)
	s.hashes = true
	from := s.chars.n
	s.places.chunk(from, chunk)
	for _, v := range hashes {
		h := mix(0, v)
		s.chars.n++
		s.words.push(uint16(h>>48)&^(1<<7-1)|classPlain<<4, 1, s.chars.n, &d.words)
		dst = s.judgeWords(d.cfg, dst)
	}
	s.places.advance(from, s.chars.n)
	return dst
}

// Finish tells how the stream ended. A channel that was silent at the end ended by itself.
func (d *Detector) Finish(how Finish, dst []Event) []Event {
	for i := range d.slots {
		s := &d.slots[i]
		switch {
		case s.owner == 0:
		case Channel(s.owner-1) == d.lastChan: //nolint:gosec // low bits on purpose, or three channels
			dst = s.finish(d.cfg, how, dst)
		default:
			dst = s.finish(d.cfg, FinishStop, dst)
		}
	}
	return dst
}

// Open appends the loops that go on now.
func (d *Detector) Open(dst []Finding) []Finding {
	for i := range d.slots {
		if s := &d.slots[i]; s.owner > 0 && s.loop.state != quiet {
			dst = append(dst, s.loop.found)
		}
	}
	return dst
}
