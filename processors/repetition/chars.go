package repetition

const (
	charRing  = 512 // characters kept
	charMask  = charRing - 1
	maxLag    = 384 // longest period followed character by character
	gram      = 8   // characters that must be equal before a lag is followed
	tableSize = 256
)

// chars follows exact repeats of up to maxLag characters. A character is kept as one byte: itself below
// 0x80, else a hash; runs are long enough to make equal hashes of different characters harmless.
type chars struct {
	last8   uint64 // the last eight symbols
	n       uint32 // characters so far
	lag     uint32 // period followed; 0: none
	run     uint32 // characters equal to those lag before
	next    uint32 // run at which the judge looks again
	context uint8
	ring    [charRing]byte
}

// hint tells how many characters ago the last eight were seen last, and notes that they are seen now. The
// table is shared by channels and by texts that fall on the same entry: it may be wrong.
func hint(table *[tableSize]uint16, last8 uint64, n uint32) uint32 {
	at := &table[last8*0x9e3779b97f4a7c15>>56]
	lag := uint32(uint16(n) - *at) //nolint:gosec // low bits on purpose
	*at = uint16(n)                //nolint:gosec // low bits on purpose
	return lag
}

// seek follows a lag if the last eight characters really were the same then.
func (c *chars) seek(lag uint32) bool {
	if lag+gram > c.n {
		return false
	}
	if c.ring[(c.n-1-lag)&charMask] != byte(c.last8) { //nolint:gosec // low bits on purpose
		lag = 2 // two texts in turn that fall on the same entry
	}
	for i := range uint32(gram) {
		if c.ring[(c.n-1-lag-i)&charMask] != byte(c.last8>>(8*i)) { //nolint:gosec // low bits on purpose
			return false
		}
	}
	c.follow(lag)
	return true
}

// follow starts to follow a lag whose last eight characters match, and extends the run backwards as far as
// the ring reaches.
func (c *chars) follow(lag uint32) {
	run, limit := uint32(gram), min(c.n, charRing)-lag
	for run < limit && c.ring[(c.n-1-run)&charMask] == c.ring[(c.n-1-run-lag)&charMask] {
		run++
	}
	c.lag, c.run, c.next, c.context = lag, run, 0, contextUnknown
}

// shorten replaces the period by its smallest divisor that fits the last period, so that a word that was met
// within a longer period is told as itself. The run starts where the shorter period does.
func (c *chars) shorten() {
	for d := uint32(1); d <= c.lag/2; d++ {
		if c.lag%d != 0 || !c.fits(d) {
			continue
		}
		run := c.lag
		limit := min(c.n, charRing) - d
		for run < limit && c.ring[(c.n-1-run)&charMask] == c.ring[(c.n-1-run-d)&charMask] {
			run++
		}
		if run == limit && c.run > run { // equal beyond the ring, as far as the longer period tells
			run = c.run
		}
		c.lag, c.run = d, run
		return
	}
}

func (c *chars) fits(d uint32) bool {
	for i := uint32(0); i < c.lag; i++ {
		if c.ring[(c.n-1-i)&charMask] != c.ring[(c.n-1-i-d)&charMask] {
			return false
		}
	}
	return true
}

// Whether a loop lies in text without words.
const (
	contextUnknown uint8 = iota
	contextText
	contextOpaque
)

// opaque reports whether the text before the loop has no words, such as base64: letters and digits with no
// white space but a line end. It is found out once, while that text is in the ring.
func (c *chars) opaque() bool {
	if c.context != contextUnknown {
		return c.context == contextOpaque
	}
	c.context = contextText
	const look = 48
	start := c.start()
	if start < look || c.n-start+look >= charRing {
		return false
	}
	lines := 0
	for i := start - look; i < start; i++ {
		switch b := c.ring[i&charMask]; {
		case b == '\n' && lines == 0:
			lines++
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z':
			c.context = contextOpaque
		case b >= '0' && b <= '9', b == '+', b == '/':
		default:
			c.context = contextText
			return false
		}
	}
	return c.context == contextOpaque
}

// start is the place of the first character of the first repeat.
func (c *chars) start() uint32 { return c.n - c.run - c.lag }

// unit describes one period.
func (c *chars) unit() unit {
	u := unit{drawn: true}
	var times [256]uint16
	for i := c.n - c.lag; i < c.n; i++ {
		s := c.ring[i&charMask]
		if times[s]++; times[s] == 1 {
			u.distinct++
		}
		bits := symbolBits(s)
		if uint32(times[s])*2 > c.lag {
			u.most = bits
		}
		u.add(bits)
		u.comma = u.comma || s == ','
		if s >= symPunct || s < symCode && !drawing[s] {
			u.drawn = false
		}
	}
	return u
}

func symbolBits(s byte) uint8 {
	switch {
	case s < symCode:
		return asciiBits[s]
	case s < symPunct:
		return isCode
	case s < symLetter:
		return isPunct
	default:
		return isDense // or a letter: that isn't kept
	}
}

// hash of the unit, read from the phase at which the loop starts.
func (c *chars) hash(key uint64) uint64 {
	h := key ^ 0x9e3779b97f4a7c15
	phase := c.run % c.lag
	for i := range c.lag {
		h = mix(h, uint64(c.ring[(c.n-c.lag+(i+c.lag-phase)%c.lag)&charMask]))
	}
	return h
}
