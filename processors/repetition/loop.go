package repetition

// loop is the finding of one slot, raised or not.
type loop struct {
	found Finding
	broke uint32 // place where the followed text stopped to repeat
	state state
	class class // of the unit, as last judged
}

type state uint8

const (
	quiet   state = iota
	byChars       // raised, followed by characters
	byWords       // raised, followed by words
	broken        // raised; the text broke off and may go on
	byBlank       // raised; white space in no order
)

// endSlack is how many characters after a loop may still belong to its end: a quote, a line end.
const endSlack = 8

// judgeChars looks at the loop followed by characters.
func (s *slot) judgeChars(cfg *Config, dst []Event) []Event {
	c := &s.chars
	c.next = c.run + max(16, c.lag/4)
	if c.run < c.lag+c.lag/2 || int(c.run+c.lag) < cfg.MinChars || s.loop.state > byChars {
		return dst
	}
	v := s.charSight()
	ok, conf := cfg.judge(v, live)
	if !ok {
		return dst
	}
	op := Update
	if s.loop.state == quiet {
		s.raiseChars(cfg, v)
		op = Raise
	}
	c.next = c.run + max(64, c.run/2)
	return s.tell(op, byChars, c.n, v, conf, dst)
}

// charSight is what the followed characters show.
func (s *slot) charSight() sight {
	c := &s.chars
	if s.loop.state == quiet {
		c.shorten()
	}
	u := c.unit()
	return sight{
		match: Exact, class: u.class(16, c.opaque()),
		period: float64(c.lag), copies: 1 + float64(c.run)/float64(c.lag), chars: float64(c.run + c.lag), quality: 1, thought: s.thought(),
	}
}

// begin is where the first repeat starts: the first character that repeats, unless the first few only happen
// to equal the repeat's own end. That is so when they are the rest of a chunk, or end a sentence or line.
func (s *slot) begin() uint32 {
	c := &s.chars
	start := c.start()
	whole := s.places.count(start, start+1) == 1
	rest := start // of the chunk that start lies in
	for k := uint32(1); k < min(4, c.lag/4+1) && c.n-start-k <= charRing; k++ {
		if s.places.count(start+k, start+k+1) == 0 {
			continue
		}
		if endsSentence(c.ring[(start+k-1)&charMask]) {
			return start + k
		}
		if !whole && rest == start {
			rest = start + k
		}
	}
	return rest
}

// charsBroke ends the run that was followed by characters.
func (s *slot) charsBroke() {
	c, l := &s.chars, &s.loop
	c.lag, c.run = 0, 0
	if l.state != byChars {
		return
	}
	l.state, l.broke = broken, c.n-1
	e := &l.found.Evidence
	l.found.LastChunk = s.places.at(l.broke-1, c.n)
	e.Chars = int64(l.broke) - e.StartChar
	e.Repeats = e.Chars / max(1, e.PeriodChars)
}

// raise starts a finding.
func (s *slot) raise(start uint32, chunk int64, v sight, hash uint64) {
	period := v.period
	if s.hashes {
		period = v.words
	}
	s.loop.found = Finding{
		Channel: Channel(s.owner - 1), Chunk: chunk, Open: true, //nolint:gosec // small by construction
		Evidence: Evidence{StartChar: int64(start), PeriodChars: int64(period + 0.5), UnitHash: Hash(hash), Words: s.hashes},
	}
}

func (s *slot) raiseChars(cfg *Config, v sight) {
	start := s.begin()
	s.raise(start, s.places.at(start, s.chars.n), v, s.chars.hash(cfg.HashKey))
}

func (s *slot) raiseWords(cfg *Config, v sight) {
	m := &s.words.main
	s.lookUp(m)
	s.raise(m.start, m.chunk, v, s.words.unitHash(m, cfg.HashKey))
}

// lookUp finds out the chunk in which a period starts, while that is still known.
func (s *slot) lookUp(t *track) {
	if t.chunk < 0 {
		t.chunk = s.places.at(t.start, s.chars.n)
	}
}

// tell makes the event for a state of the finding.
func (s *slot) tell(op Op, to state, end uint32, v sight, conf float64, dst []Event) []Event {
	l := &s.loop
	l.state, l.class = to, v.class
	s.words.held = to == byWords
	s.measure(end, v, conf)
	return append(dst, Event{op, l.found})
}

func (s *slot) measure(end uint32, v sight, conf float64) {
	f := &s.loop.found
	e := &f.Evidence
	f.LastChunk, f.Confidence = s.places.last, conf
	e.Chars, e.Match, e.Quality = int64(end)-e.StartChar, v.match, v.quality
	e.Repeats = int64(v.copies)
	if v.words > 1 { // the last word is not known before another begins
		e.Repeats = int64(v.copies + 1.01/v.words)
	}
	if v.match == Exact {
		slack := int64(0)
		if v.words > 0 { // nor is the white space behind it
			slack = min(4, e.PeriodChars/8)
		}
		e.Repeats = (e.Chars + slack) / max(1, e.PeriodChars)
	}
}

// judgeWords looks at the loop followed by words, and settles a broken one.
func (s *slot) judgeWords(cfg *Config, dst []Event) []Event {
	m, l := &s.words.main, &s.loop
	e := &l.found.Evidence
	goesOn := m.lag > 0 && int64(m.start) <= e.StartChar+2*e.PeriodChars+16
	switch l.state {
	case byChars, byBlank:
		return dst
	case broken:
		if goesOn && m.miss == 0 && m.copies() > 2 {
			l.state, s.words.held = byWords, true
		} else if s.chars.n-l.broke > uint32(e.PeriodChars)+64 { //nolint:gosec // small by construction
			return s.close(cfg, stopped, l.broke, false, dst)
		}
		return dst
	case byWords:
		if !goesOn {
			return s.close(cfg, stopped, s.chars.n, false, dst)
		}
	}
	if m.lag == 0 || m.n < m.next {
		return dst
	}
	if m.next == 0 { // far below any bar: only what will be forgotten
		m.next = max(8, m.lag/8)
		return dst
	}
	s.lookUp(m)
	m.next = m.n + max(4, m.lag/4, m.n/8)
	v, conf, yes := s.bestWords(cfg, live)
	if !yes {
		return dst
	}
	op := Update
	if l.state == quiet {
		s.raiseWords(cfg, v)
		op = Raise
	}
	m.next = m.n + max(16, m.n/2)
	return s.tell(op, byWords, m.lastEnd, v, conf, dst)
}

// blankSight is white space in no order, seen as a loop of one character.
func (s *slot) blankSight() sight {
	n := float64(s.blank)
	return sight{match: Masked, class: class{kind: blank, empty: true}, period: 1, copies: n, chars: n, quality: 1}
}

// judgeBlank looks at a long row of white space, unless it has an order that the characters follow.
func (s *slot) judgeBlank(cfg *Config, dst []Event) []Event {
	if c := &s.chars; c.lag > 0 && (c.run+c.lag)*10 >= uint32(s.blank)*9 {
		return s.judgeChars(cfg, dst)
	}
	v := s.blankSight()
	ok, conf := cfg.judge(v, live)
	if !ok {
		return dst
	}
	s.raiseBlank(cfg, v)
	return s.tell(Raise, byBlank, s.chars.n, v, conf, dst)
}

func (s *slot) raiseBlank(cfg *Config, v sight) {
	start := s.chars.n - uint32(s.blank)
	s.raise(start, s.places.at(start, s.chars.n), v, mix(cfg.HashKey, ' '))
}

// thought reports whether this is the reasoning's text.
func (s *slot) thought() bool { return Channel(s.owner-1) == Reasoning } //nolint:gosec // small by construction

// forChars reports whether the characters are the better judge: they know the place and cut no word.
func (s *slot) forChars(v sight) bool {
	if v.match != Exact || s.hashes || s.loop.state == byWords {
		return false
	}
	return v.period < charsJudge || v.period <= maxLag && uint32(v.period) == s.chars.lag
}

// bestWords judges the period followed by words, and the looser one if need be, which then takes its place.
func (s *slot) bestWords(cfg *Config, at moment) (v sight, conf float64, yes bool) {
	w := &s.words
	v, ok := s.wordSight(cfg, &w.main)
	if ok && !s.forChars(v) && (at == live || w.main.miss <= 2) {
		if yes, conf = cfg.judge(v, at); yes {
			return v, conf, true
		}
	}
	if w.loose.lag == 0 || s.loop.state != quiet || at != live && w.loose.miss > 2 {
		return v, 0, false
	}
	if v, ok = s.wordSight(cfg, &w.loose); !ok {
		return v, 0, false
	}
	if yes, conf = cfg.judge(v, at); yes {
		w.main, w.loose, w.alt = w.loose, track{}, track{}
		w.main.next = w.main.n
	}
	return v, conf, yes
}

// hashedChars stands for the length of a word that is known by its hash only.
const hashedChars = 5

// wordSight is what the followed words show; ok is false while it is far from any bar.
func (s *slot) wordSight(cfg *Config, m *track) (v sight, ok bool) {
	length := float64(m.lastEnd - m.start)
	if s.hashes {
		length *= hashedChars
	}
	if m.lag == 0 || m.copies() < 2 || length < float64(cfg.MinChars)/2 {
		return sight{}, false
	}
	u := s.words.unit(m.lag)
	v = sight{
		class: u.class(4, false), period: float64(u.chars), copies: m.copies(), chars: length, hashes: s.hashes, thought: s.thought(),
		quality: float64(m.match) / float64(m.n), words: float64(m.lag), reading: u.sentence,
		varied: float64(m.differ()) / (m.copies() - 1), text: float64(u.text()) / float64(max(1, u.chars)),
		code:  float64(u.marks) / float64(max(1, u.chars)),
		plain: float64(u.plain+u.dense) / float64(max(1, u.chars)), missed: float64(m.n-m.match) / (m.copies() - 1), news: float64(m.news) / (m.copies() - 1), counts: m.counts(), listed: m.listed*10 >= m.varied*9,
	}
	if s.hashes {
		v.period *= hashedChars
	} else {
		v.short = u.plain < u.plainWords*4 // with the space after
	}
	switch {
	case m.match < m.n || m.shifts > 0:
		v.match = Drifting
	case m.exact < m.n:
		v.match = Masked
	}
	return v, true
}

// finish judges what there is at the end of the channel's text.
func (s *slot) finish(cfg *Config, how Finish, dst []Event) []Event {
	l := &s.loop
	slack := min(endSlack, uint32(l.found.Evidence.PeriodChars/4)) //nolint:gosec // small by construction
	if l.state == byWords && l.broke > 0 && s.chars.n-l.broke <= slack {
		l.state = broken
	}
	gone := l.state == byWords && s.words.main.miss > 2 ||
		l.state == broken && s.chars.n-l.broke > slack
	if gone {
		end := l.broke
		if l.state == byWords {
			end = s.words.main.lastEnd
		}
		dst = s.close(cfg, stopped, end, false, dst) // another may run to the end
	}
	m := atLimit
	switch how {
	case FinishStop:
		m = atStop
	case FinishRepetition:
		m = byEngine
	}
	limit := how == FinishLimit || how == FinishRepetition
	if l.state == byWords {
		if _, _, yes := s.bestWords(cfg, m); !yes {
			dst = s.close(cfg, m, s.chars.n, limit, dst) // the characters may know better
		}
	}
	return s.close(cfg, m, s.chars.n, limit, dst)
}

// close ends the finding: it is kept or withdrawn, or raised at the last moment.
func (s *slot) close(cfg *Config, m moment, end uint32, limit bool, dst []Event) []Event {
	l := &s.loop
	v, from := s.lastSight(cfg, m)
	yes, conf := false, 0.0
	if v.copies > 0 {
		yes, conf = cfg.judge(v, m)
	}
	was := l.state
	l.state, s.words.held = quiet, false
	l.found.Open = false
	defer func() { l.broke = 0 }()
	switch {
	case was == quiet && !yes:
		return dst
	case !yes:
		return append(dst, Event{Withdraw, l.found})
	case was == broken || m == stopped:
		l.found.Confidence = conf
	case was == quiet:
		from(cfg, v)
		s.measure(end, v, conf)
	default:
		s.measure(end, v, conf)
	}
	l.found.Open = false
	l.found.Evidence.ToEnd = m != stopped
	l.found.Evidence.HitLimit = limit && m != stopped
	op := Update
	if was == quiet {
		op = Raise
	}
	return append(dst, Event{op, l.found})
}

// lastSight is the best sight at the end of a loop, and what raises it.
func (s *slot) lastSight(cfg *Config, m moment) (v sight, raise func(*Config, sight)) {
	c, l := &s.chars, &s.loop
	if m == stopped || l.state == broken { // what was told of it
		e := &l.found.Evidence
		return sight{
			match: e.Match, class: l.class, period: float64(e.PeriodChars),
			copies: float64(e.Repeats), chars: float64(e.Chars), quality: e.Quality, thought: s.thought(),
		}, s.raiseChars
	}
	if c.lag > 0 && c.run >= c.lag && l.state != byWords && l.state != byBlank {
		v = s.charSight()
		if yes, _ := cfg.judge(v, m); yes {
			return v, s.raiseChars
		}
	}
	if w, _, yes := s.bestWords(cfg, m); yes {
		return w, s.raiseWords
	}
	if s.blank > 0 && (l.state == quiet || l.state == byBlank) {
		return s.blankSight(), s.raiseBlank
	}
	return v, s.raiseChars
}
