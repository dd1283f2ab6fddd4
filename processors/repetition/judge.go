package repetition

import (
	"math"
)

// unit describes one period of a loop.
type unit struct {
	chars    uint32
	plain    uint32 // characters of plain words, or letters
	title    uint32 // of words with a capital letter
	dense    uint32 // of scripts without spaces
	digits   uint32
	marks    uint32 // of words with code characters, or these characters
	blank    uint32
	comma    bool
	drawn    bool  // nothing but what rulers and boxes are made of
	distinct int   // different symbols, where known
	most     uint8 // what the character is that is more than half of it, where known; 0: none is

	words      uint32
	plainWords uint32
	labels     uint32
	sentence   uint32 // longest row of plain words; two dense characters count as a word
	row        uint32 // the row being counted
}

// add counts a character.
func (u *unit) add(bits uint8) {
	u.chars++
	switch {
	case bits&isLetter != 0:
		u.plain++
	case bits&isDense != 0:
		u.dense++
	case bits&isDigit != 0:
		u.digits++
	case bits&isSpace != 0:
		u.blank++
	case bits&isCode != 0:
		u.marks++
	}
}

// word counts a word of n characters.
func (u *unit) word(class uint16, n uint32) {
	u.chars += n
	u.words++
	switch class {
	case classPlain:
		u.plain += n
		u.plainWords++
		u.row++
	case classTitle:
		u.title += n
		u.row++
	case classLabel:
		u.title += n
		u.labels++
		u.sentence = max(u.sentence, u.row+1)
		u.row = 0
	case classDense:
		u.dense += n
		u.row += n / 2
	case classNumber:
		u.digits += n
		u.row = 0
	case classBlank:
		u.blank += n
	default:
		u.marks += n
		u.row = 0
	}
	u.sentence = max(u.sentence, u.row)
}

// text is the number of characters that are, or are in, words of a language.
func (u *unit) text() uint32 { return u.plain + u.title + u.dense }

// Classes of units: the less a text says, the more of it is needed.
type kind uint8

const (
	prose kind = iota // words of a language
	data              // code, tables, numbers, base64
	blank             // rulers, boxes, empty cells, white space: nothing to read
)

// kind classes the unit; at most one in marks characters may be code for prose.
func (u *unit) kind(marks uint32) kind {
	switch {
	case u.drawn:
		return blank
	case u.fill():
		return data
	case u.text()*10 >= (u.chars-u.blank)*6 && u.marks*marks <= u.chars && u.labels*6 <= u.words && (u.distinct >= 3 || u.dense > 0):
		return prose
	default:
		return data
	}
}

// fill reports whether the unit is what tables of constants are filled with: ffff in quotes, but not hmmm.
func (u *unit) fill() bool {
	one := u.most&^isSpace != 0 && (u.most&isLetter == 0 || u.marks > 0)
	return u.distinct <= 10 && u.blank > 0 && u.dense == 0 && (u.comma || one || u.digits+u.blank == u.chars)
}

// ruler reports whether the unit is one mark, or two in turn.
func (u *unit) ruler() bool { return u.distinct <= 2 && u.text()+u.digits == 0 }

// class is what the bar depends on in a unit.
type class struct {
	kind   kind
	ruler  bool
	fill   bool
	coded  bool // words with code characters
	empty  bool // white space only
	opaque bool // lies within text without words, such as base64
}

func (u *unit) class(marks uint32, opaque bool) class {
	return class{u.kind(marks), u.ruler(), u.fill(), u.marks > 0 && u.text() > 0, u.blank == u.chars, opaque}
}

// sight is what is known of a loop at one moment.
type sight struct {
	match Match
	class
	period  float64 // characters
	copies  float64
	chars   float64 // of all copies
	quality float64 // share of words that match
	// of words only
	words   float64 // in a period
	reading uint32  // longest row of plain words
	text    float64 // share of characters in words of a language
	plain   float64 // of these without capitals
	code    float64 // share of characters in words with code characters
	varied  float64 // words of a period that match but for digits
	missed  float64 // words of a period that miss
	news    float64 // words of a period that are new, once there was a whole copy
	short   bool    // words too short for a language's: codes, initials
	counts  bool    // a running number is all that changes
	listed  bool    // and it stands where lists have theirs
	hashes  bool    // only hashes of the words are known: nothing tells prose from data

	thought bool // of the reasoning, which nobody asks to repeat something
}

// Moments of judgement.
type moment uint8

const (
	live     moment = iota // the text goes on, and so does the loop
	atLimit                // the text ended there, and not by itself
	atStop                 // the text ended there by itself
	stopped                // the text went on without it
	byEngine               // the engine says that it is a loop
)

const (
	charsJudge     = 300  // periods up to here are left to the characters where copies are equal
	never          = 1e9  // copies that no text reaches
	sentenceWords  = 4    // plain words in a row that make a sentence
	dataChars      = 110  // closing tags, tables of zeros, rulers: seldom longer at the place where a text is cut
	codedChars     = 160  // a few equal lines of code where a text is cut
	dataLiveChars  = 120  // the same anywhere
	dataFewChars   = 400  // three equal records
	fillChars      = 350  // tables of one constant
	rulerLiveChars = 160  // rulers of comments, of whatever mark
	emptyChars     = 180  // white space
	blankChars     = 400  // boxes, rulers and empty tables
	opaqueChars    = 2500 // zero-filled parts of encoded binaries
	listChars      = 150
	textShare      = 1.0 / 3
	countPlain     = 0.2
	codeCopies     = 8
	codeChars      = 380
	maskedChars    = 120
	driftChars     = 300
	driftQuality   = 0.92
	driftLong      = 400 // characters from which on copies must be more alike
	driftLongQual  = 0.96
	driftPlain     = 0.3
	driftCode      = 0.14
	driftCodeQual  = 0.97
	shuffleQual    = 0.78
	shuffleNews    = 0.6
	ordinalMisses  = 2.1
	ordinalNews    = 1.2
	ordinalCopies  = 10
	shufflePlain   = 0.45
	shuffleChars   = 400
	thoughtCopies  = 8
	thoughtChars   = 400
)

// judge decides whether a sight is a loop, and how sure that is.
func (c *Config) judge(s sight, m moment) (bool, float64) {
	need, chars := c.bar(s, m)
	if s.copies < need || s.chars < chars {
		return false, 0
	}
	conf := 0.6 + 0.1*math.Log2(s.copies/need+0.01) + 0.1*math.Log2(s.chars/max(1, chars)+0.01)
	if m == atLimit || m == byEngine {
		conf += 0.2
	}
	return true, math.Round(100*min(0.99, max(0.3, conf*s.quality))) / 100
}

// bar returns how many copies and how many characters in all make a loop.
func (c *Config) bar(s sight, m moment) (copies, chars float64) {
	if m == byEngine {
		return 2, 0
	}
	copies, chars = c.ends(s, m)
	switch s.kind {
	case data:
		chars = max(chars, dataChars)
		if s.coded && m == atLimit {
			chars = max(chars, codedChars)
		}
		if s.fill {
			chars = max(chars, fillChars)
		}
		if m == live {
			chars = max(chars, dataLiveChars)
			if s.ruler {
				chars = max(chars, rulerLiveChars)
			}
		}
	case blank:
		chars = max(chars, blankChars)
		if s.empty && m == atLimit {
			chars = emptyChars
		}
	}
	if s.opaque {
		chars = max(chars, opaqueChars)
	}
	if s.match != Exact {
		return c.unlike(s, m, copies, chars)
	}
	switch {
	case m == atLimit && s.kind != prose && s.copies < 4:
		chars = max(chars, dataFewChars)
	case (m == stopped || m == atStop) && s.thought && s.kind == prose:
		copies, chars = thoughtCopies, thoughtChars
	case m == stopped && s.kind != prose, (m == stopped || m == atStop) && s.opaque:
		copies = never
	}
	return copies, chars
}

// ends is the part of the bar that depends on how the text goes on.
func (c *Config) ends(s sight, m moment) (copies, chars float64) {
	long := s.period >= float64(c.LongPeriod)
	switch m {
	case live:
		if long && s.match == Exact {
			return c.LongLiveRepeats, float64(c.MinChars)
		}
		return c.LiveRepeats, float64(c.MinChars)
	case atLimit:
		return c.MinRepeats, float64(c.MinChars)
	case atStop: // somebody may have asked for it
		switch {
		case long:
			return c.StopLongRepeats, float64(c.StopChars)
		case s.chars >= 2.5*float64(c.StopChars):
			return c.StopRepeats / 3, float64(c.StopChars)
		}
		return c.StopRepeats, float64(c.StopChars)
	default:
		return c.StoppedRepeats, float64(c.StoppedChars)
	}
}

// unlike is the bar for copies that differ. They are a loop only while they say nothing new, where there is
// something to read, and while the text goes on or ran to its limit.
func (c *Config) unlike(s sight, m moment, copies, chars float64) (float64, float64) {
	counter := s.counts && (s.match == Masked || s.quality >= 0.98)
	switch {
	case m == atStop || m == stopped:
		return never, chars
	case s.empty:
		return copies, chars // white space, whatever its order
	case counter && s.reading >= sentenceWords && s.plain >= countPlain && s.text >= textShare:
		return copies, chars // all that changes is a number
	case counter && s.listed && s.words >= s.varied+1:
		return copies + 3, max(chars, listChars) // a numbered list that repeats itself
	case counter && s.match == Masked && m == atLimit && s.varied <= 1.15 && s.words >= s.varied+1 && s.text > 0:
		return codeCopies, max(chars, codeChars) // code or data in which nothing but a number changes, to the limit
	case s.kind != prose || s.reading < sentenceWords:
		return never, chars
	case !s.counts && s.varied > 1+0.04*s.words: // numbers that change here and there are news
		return never, chars
	case s.hashes && s.match == Drifting && s.quality < driftLongQual:
		return never, chars
	case s.short || s.plain < driftPlain:
		return never, chars
	case s.match == Masked:
		return copies + 1, max(chars, maskedChars)
	case s.code > driftCode && s.quality < driftCodeQual:
		return never, chars
	case s.quality >= driftQuality && (s.period < driftLong || s.quality >= driftLongQual):
		return copies + 1, max(chars, driftChars)
	case s.quality < shuffleQual || s.plain < shufflePlain:
		return never, chars
	case s.news <= shuffleNews:
	case s.missed <= ordinalMisses && s.news <= ordinalNews: // twenty-first, twenty-second
		return max(copies, ordinalCopies), max(chars, shuffleChars)
	default:
		return never, chars
	}
	return copies + 3, max(chars, shuffleChars) // the same few words change places
}
