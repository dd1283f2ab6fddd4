package repetition

const (
	wordRing = 512 // words kept
	wordMask = wordRing - 1
	markStep = 8   // a place is kept for every markStep-th word
	maxWord  = 48  // characters after which a word ends in any case
	longWord = 16  // characters after which content decides where a word ends
	maxDense = 12  // the same for scripts without spaces
	maxSpan  = 500 // longest period in words
)

// words follows repeats of words: exact, exact but for digits and white space, and nearly equal ones. A word
// is a run of letters, digits and underscores with the white space and punctuation after it. Where a
// script or a format has no spaces the content decides where it ends, so that equal texts are cut alike.
type words struct {
	n    uint32 // words so far
	main track
	alt  track // challenger: a period, or a later start, that fits better
	// loose is a shorter period with misses that main was before a longer one took its place
	loose track
	held  bool // main is a raised loop and keeps its start
	part  part

	hash [wordRing]uint16            // masked hash 9 bits, class 3 bits, rest of the exact hash 4 bits
	size [wordRing]uint8             // characters
	mark [wordRing / markStep]uint16 // place of every markStep-th word's start, low 16 bits
}

// part is the word that is being read.
type part struct {
	masked uint32 // hash with digits and white space masked
	exact  uint32 // hash of all
	number uint32 // value of its last digits
	after  byte   // character after them
	chars  uint8
	mask   uint8 // class bits seen
	prev   uint8 // class bits of the character before
}

// maxStep is the largest step of a running number: offsets and codes go up by more than one.
const maxStep = 1000

const fnvPrime = 0x01000193 // FNV-1

// mark adds a character to the masked hash: one sign for a run of digits, one for a run of white space.
func (p *part) mark(sym byte, bits uint8) {
	m := uint32(sym)
	if bits&isDigit != 0 {
		m = '#'
		p.number = 0
	} else if bits&isSpace != 0 {
		m = ' '
	}
	p.masked = (p.masked ^ m) * fnvPrime
}

// letter makes a number of a word of one letter: "b." and "b)" stand in lists as "2." does.
func (p *part) letter(sym, after byte) {
	p.masked = 0
	p.mark('0', isDigit)
	p.mask, p.number, p.after = isDigit, uint32(sym), after
}

// hash of the word: 9 bits of the masked hash, 3 of class, 4 of the exact hash.
func (p *part) hash() uint16 {
	return uint16(p.masked*0x9e3779b1>>23)<<7 | classOf(p.mask)<<4 | uint16(p.exact*0x9e3779b1>>28)
}

// listed reports whether the word is a number as lists have them: "12. ", "12: ".
func (p *part) listed() bool {
	return p.mask&isLetter == 0 && (p.after == '.' || p.after == ':' || p.after == ')')
}

// same reports whether two words are equal but for digits and white space.
func same(a, b uint16) bool { return (a^b)>>4 == 0 }

// track is a period, in words, that the text has followed since a start.
type track struct {
	lag     uint32 // words; 0: none
	n       uint32 // words compared
	match   uint32 // same as lag before
	exact   uint32 // equal to lag before
	miss    uint32 // words since the last match
	shifts  uint32 // changes of lag: growing or shrinking copies
	next    uint32 // n at which the judge looks again
	start   uint32 // place of the first repeat's first character
	adv     uint64 // copies after the first, in 1/65536
	step    uint32 // 65536 / lag
	lastEnd uint32 // place after the last matching word
	chunk   int64  // that start lies in, -1 when not yet looked up
	news    uint32 // words that miss and were not seen for a while, once there was a whole copy
	spaced  uint32 // words without digits that match but for white space
	varied  uint32 // words with digits that match but for these
	steps   uint32 // of these, numbers one step above the one before, or equal to it
	ups     uint32 // of these, numbers one step above the one before
	rise    uint32 // by what the number rose last, if by more than one
	listed  uint32 // of these, bare numbers with a full stop or the like, as lists have
	number  uint32 // the last such number
}

func (t *track) begin(lag, start uint32, known uint32) {
	*t = track{lag: lag, start: start, chunk: -1, n: known, match: known, step: 1 << 16 / lag}
	t.adv = uint64(known) * uint64(t.step)
}

func (t *track) copies() float64 {
	if t.shifts == 0 {
		return 1 + float64(t.n)/float64(t.lag)
	}
	return 1 + float64(t.adv)/65536
}

func (t *track) compare(a, b uint16, end uint32) {
	t.n++
	t.adv += uint64(t.step)
	if !same(a, b) {
		t.miss++
		return
	}
	t.match++
	t.miss = 0
	t.lastEnd = end
	if a == b {
		t.exact++
	}
}

// vary accounts a word that matches but for digits or white space.
func (t *track) vary(number uint32, digits, listed bool) {
	if !digits {
		t.spaced++
		return
	}
	t.varied++
	switch up := number - t.number; {
	case up == 0: // the same number may stand twice in a copy
		t.steps++
	case up == 1, t.rise > 0 && up%t.rise == 0 && up <= min(maxStep, 3*t.rise): // a change of hashes may go unseen
		t.steps++
		t.ups++
	default:
		t.rise = up
	}
	if listed {
		t.listed++
	}
	t.number = number
}

// differ is the number of words that match but for digits: those seen as they came, and those before.
func (t *track) differ() uint32 { return t.match - t.exact - t.spaced }

// counts reports whether all that changes from copy to copy is one number, and that by the same step; it may stand three times.
// Most of the words that differ must have been seen as they came, since only then their numbers are known.
func (t *track) counts() bool {
	d := t.differ()
	return t.varied > 0 && t.varied*10 >= d*7 && float64(d) <= 3.2*(t.copies()-1)+1 &&
		t.steps*10 >= (t.varied-1)*8 && t.ups*10 >= (t.varied-1)*3
}

// place is where word i starts; i must be in the ring.
func (w *words) place(i, now uint32) uint32 {
	m := i &^ (markStep - 1)
	at := uint32(w.mark[m/markStep&(wordRing/markStep-1)])
	for ; m < i; m++ {
		at += uint32(w.size[m&wordMask])
	}
	return now - uint32(uint16(now-at)) //nolint:gosec // low bits on purpose
}

// oldest is the first word whose place is known.
func (w *words) oldest() uint32 {
	if w.n <= wordRing-markStep {
		return 0
	}
	return (w.n - wordRing + markStep) &^ (markStep - 1)
}

// push ends the word that is being read, or takes one given as a hash. now is the place after it.
func (w *words) push(h uint16, size uint8, now uint32, table *[tableSize]uint16) {
	i := w.n
	if i%markStep == 0 {
		w.mark[i/markStep&(wordRing/markStep-1)] = uint16(now - uint32(size)) //nolint:gosec // low bits on purpose
	}
	w.hash[i&wordMask], w.size[i&wordMask] = h, size
	w.n++
	m := &w.main
	if m.lag > 0 {
		w.follow(m, i, now)
		if m.match == m.n {
			if m.copies() >= 3 {
				w.loose = track{}
			}
			if w.loose.lag == 0 {
				return // nothing better to look for
			}
		}
	}
	lag := w.seek(i, table)
	if a := &w.alt; a.lag > 0 {
		if w.follow(a, i, now); a.miss > 0 {
			*a = track{}
		}
	}
	if l := &w.loose; l.lag > 0 {
		w.follow(l, i, now)
		l.shift(lag, now)
		if l.lost() {
			*l = track{}
		}
	}
	w.choose(i, lag, now)
}

// follow compares word i, just pushed, with the one a track's lag before.
func (w *words) follow(t *track, i, now uint32) {
	a, b := w.hash[i&wordMask], w.hash[(i-t.lag)&wordMask]
	t.compare(a, b, now)
	if t.miss > 0 {
		if t.n >= t.lag && !w.seen(a) {
			t.news++
		}
		return
	}
	if a != b {
		t.vary(w.part.number, w.part.mask&isDigit != 0, w.part.listed())
	}
}

// seen reports whether the word just pushed is among those of the last three hundred or so.
func (w *words) seen(h uint16) bool {
	last := w.n - 1
	for k := uint32(1); k <= min(last, 300); k++ {
		if same(h, w.hash[(last-k)&wordMask]) {
			return true
		}
	}
	return false
}

// seek returns how many words ago the last three words were last seen; 0: not.
func (w *words) seek(i uint32, table *[tableSize]uint16) uint32 {
	if i < 3 {
		return 0
	}
	a, b, c := w.hash[i&wordMask], w.hash[(i-1)&wordMask], w.hash[(i-2)&wordMask]
	key := (uint32(a>>4)*0x9e3779b1 ^ uint32(b>>4)*0x85ebca6b ^ uint32(c>>4)*0xc2b2ae35) * 0x27d4eb2f
	slot := &table[key>>24]
	lag := uint32(uint16(i) - *slot) //nolint:gosec // low bits on purpose
	*slot = uint16(i)                //nolint:gosec // low bits on purpose
	if lag-1 >= maxSpan || lag+2 >= i {
		return 0
	}
	if !same(a, w.hash[(i-lag)&wordMask]) || !same(b, w.hash[(i-lag-1)&wordMask]) || !same(c, w.hash[(i-lag-2)&wordMask]) {
		return 0
	}
	return lag
}

// choose keeps, moves, replaces or drops the period that is followed. lag is where the last three words were
// seen before.
func (w *words) choose(i, lag, now uint32) {
	m, a := &w.main, &w.alt
	switch {
	case m.lag == 0:
		if lag > 0 {
			w.begin(m, i, lag, now)
		}
		return
	case m.moves(lag) && m.n*4 < m.lag*3 && !w.held: // nothing lost
		w.begin(m, i, lag, now)
		*a = track{}
	case m.moves(lag):
		m.shift(lag, now)
	case lag > 0 && a.lag == 0 && m.match < m.n: // another period, or the same from here on without a miss
		w.begin(a, i, lag, now)
	}
	switch {
	case a.lag > 0 && m.match < m.n && !w.held && w.better():
		if a.lag > m.lag && m.n >= m.lag && m.match*4 >= m.n*3 && m.n > w.loose.n {
			w.loose = *m // copies that are nearly equal may be the truer story
		}
		w.extend(a, i)
		*m, *a = *a, track{}
	case m.lost():
		*m, *a = *a, track{}
		if m.lag == 0 {
			*m, w.loose = w.loose, track{}
		}
	}
}

// moves reports whether lag is that of a copy a little longer or shorter than the one before.
func (t *track) moves(lag uint32) bool {
	return lag > 0 && lag != t.lag && t.miss > 0 && near(lag, t.lag)
}

// shift takes another lag; two of the three words that match there were no misses.
func (t *track) shift(lag, now uint32) {
	if !t.moves(lag) {
		return
	}
	were := min(t.miss, 2)
	t.match, t.exact = t.match+were, t.exact+were
	t.lag, t.miss, t.step = lag, 0, 1<<16/lag
	t.shifts++
	t.lastEnd = now
}

// lost reports whether the text no longer follows the period.
func (t *track) lost() bool {
	return t.miss > 3+t.lag/4 || t.n >= 8 && t.match*10 < t.n*7
}

// better reports whether the challenger, which has no misses, should take main's place.
func (w *words) better() bool {
	m, a := &w.main, &w.alt
	switch {
	case a.lag == m.lag: // main's misses lie far back, or are most of what it had before
		return a.n >= 12 && (a.n >= 4*a.lag || a.n >= 3*(m.n-min(m.n, a.n)))
	case a.lag%m.lag == 0: // several copies as one: only when that is really another period
		return a.n >= 2*a.lag
	default:
		return a.n >= m.lag+3 && a.n*2 >= a.lag
	}
}

func near(a, b uint32) bool {
	d := a - b
	if a < b {
		d = b - a
	}
	return d <= 1+b/6
}

// begin follows a period whose last three words are known to match.
func (w *words) begin(t *track, i, lag, now uint32) {
	first := i - 2 - lag
	if first < w.oldest() {
		*t = track{}
		return
	}
	t.begin(lag, w.place(first, now), 3)
	t.lastEnd = now
	for k := i - 2; k != i+1; k++ {
		if w.hash[k&wordMask] == w.hash[(k-lag)&wordMask] {
			t.exact++
		}
	}
	w.extend(t, i)
}

// extend moves the start of a track back as far as the ring shows matches.
func (w *words) extend(t *track, i uint32) {
	for w.back(t, i) {
		continue
	}
}

// back takes one more word at the start of a track without misses into it.
func (w *words) back(t *track, i uint32) bool {
	k := i - t.n // the word before the first compared one
	if k < t.lag+w.oldest() || k > i {
		return false
	}
	a, b := w.hash[k&wordMask], w.hash[(k-t.lag)&wordMask]
	if !same(a, b) {
		return false
	}
	t.n++
	t.match++
	if a == b {
		t.exact++
	}
	t.adv += uint64(t.step)
	t.start -= uint32(w.size[(k-t.lag)&wordMask])
	t.chunk = -1
	return true
}

// unit describes the last period by its words' classes.
func (w *words) unit(lag uint32) unit {
	var u unit
	for i := w.n - lag; i != w.n; i++ {
		u.word(w.hash[i&wordMask]>>4&7, uint32(w.size[i&wordMask]))
	}
	u.distinct = 16 // not known, and not needed: words are compared, not characters
	return u
}

func (w *words) unitHash(t *track, key uint64) uint64 {
	h := key ^ 0xc2b2ae3d27d4eb4f
	phase := t.n % t.lag
	for i := range t.lag {
		h = mix(h, uint64(w.hash[(w.n-t.lag+(i+t.lag-phase)%t.lag)&wordMask]>>4))
	}
	return h
}
