package repetition

import (
	"slices"
	"unicode"
)

// Bits that a character adds to the mask of the word it is in.
const (
	isLetter  = 1 << iota // letters of scripts that put spaces between words
	isDigit               // 0–9
	isSpace               // white space
	isPunct               // what prose uses
	isCode                // what code, tables and data use
	isDense               // scripts without spaces: Han, Kana, Thai, …; also emoji and other symbols
	isCapital             // together with isLetter
	isColon               // together with isPunct: a label
)

const isWord = isLetter | isDigit | isDense

// asciiBits classes the ASCII characters.
var asciiBits = func() (t [128]uint8) {
	for c := range t {
		switch b := byte(c); {
		case b >= 'a' && b <= 'z', b == '\'': // don't is one word
			t[c] = isLetter
		case b >= 'A' && b <= 'Z':
			t[c] = isLetter | isCapital
		case b >= '0' && b <= '9':
			t[c] = isDigit
		case b == '\n' || b == ' ' || b == '\t' || b == '\r' || b == '\v' || b == '\f':
			t[c] = isSpace
		case b == ':':
			t[c] = isPunct | isColon
		case b == '.' || b == ',' || b == '!' || b == '?' || b == '-' || b == '*' || b == '"':
			t[c] = isPunct
		default:
			t[c] = isCode
		}
	}
	return t
}()

// drawing marks the ASCII characters that rulers, boxes and empty tables are made of.
var drawing = func() (t [128]bool) {
	for _, c := range "-=_*#~.+|/\\<>: \t\n\r^" {
		t[c] = true
	}
	return t
}()

// runeBits classes a character above ASCII by block; exactness at the edges of blocks doesn't matter here.
func runeBits(r rune) uint8 {
	switch {
	case r < 0x00c0:
		if r == 0x00a0 || r == 0x0085 {
			return isSpace
		}
		return isPunct
	case r < 0x0e00: // Latin, Greek, Cyrillic, Hebrew, Arabic, Indic
		return isLetter
	case r < 0x1100: // Thai, Lao, Tibetan, Myanmar
		return isDense
	case r < 0x2000:
		if r >= 0x1780 && r < 0x1800 { // Khmer
			return isDense
		}
		return isLetter
	case r == 0x2019: // apostrophe
		return isLetter
	case r < 0x2070: // general punctuation
		if r <= 0x200b || r == 0x2028 || r == 0x2029 || r == 0x202f {
			return isSpace
		}
		return isPunct
	case r < 0x2e80: // arrows, mathematics, boxes, blocks, dingbats
		return isCode
	case r < 0x3040: // CJK punctuation
		if r == 0x3000 {
			return isSpace
		}
		return isPunct
	case r >= 0xac00 && r < 0xd7b0: // Hangul syllables: words have spaces
		return isLetter
	case r >= 0xff00 && r < 0xff66: // full-width forms
		return isPunct
	case r >= 0xe000 && r < 0xf900, r == 0xfffd: // private use, and what stands for bytes that are no character
		return isCode
	default:
		return isDense
	}
}

// zeros tells for each sixteen characters where among them a script's digits begin, counted from 1; 0: nowhere.
var zeros = func() (t [0x10000 / 16]uint8) {
	for _, x := range unicode.Nd.R16 {
		for zero := int(x.Lo); zero < int(x.Hi); zero += 10 {
			t[zero/16] = uint8(zero%16) + 1
		}
	}
	return t
}()

// digit maps the digits of other scripts to those of ASCII.
func digit(r rune) (byte, bool) {
	if r < 0x10000 {
		zero := zeros[r>>4]
		d := byte(r&15) + 1 - zero
		return '0' + d, zero > 0 && d < 10
	}
	for _, x := range slices.Backward(unicode.Nd.R32) { // emoji and the rarer Han are near or behind the end
		switch {
		case uint32(r) > x.Hi: //nolint:gosec // no rune is below zero
			return 0, false
		case uint32(r) >= x.Lo: //nolint:gosec // no rune is below zero
			return byte('0' + (uint32(r)-x.Lo)%10), true //nolint:gosec // no rune is below zero, nor is ten a large number
		}
	}
	return 0, false
}

// Symbols of characters above ASCII keep the class: first those of code and drawings, then punctuation and
// spaces, then letters.
const (
	symCode   = 0x80
	symPunct  = 0x88
	symLetter = 0xa8
)

// fold maps a character above ASCII to a symbol.
func fold(r rune, bits uint8) byte {
	switch {
	case bits&isWord != 0:
		return symLetter + byte(uint32(r)*0x9e3779b1>>16*(256-symLetter)>>16) //nolint:gosec // a hash
	case bits&isCode != 0:
		return symCode | byte(r)&7 //nolint:gosec // a hash
	default:
		return symPunct + byte(r^r>>8)&0x1f //nolint:gosec // a hash; keeps the usual ones apart
	}
}

// Classes of words, kept in the low bits of the comparable part of a word's hash.
const (
	classBlank  = iota // no letters, digits or dense characters
	classPlain         // letters, prose punctuation and white space only, or given as a hash
	classTitle         // the same, with a capital letter
	classLabel         // the same, with a colon
	classMixed         // letters and digits
	classNumber        // digits without letters
	classCode          // letters and code characters; letters without white space after them
	classDense
)

func classOf(mask uint8) uint16 {
	switch {
	case mask&isWord == 0:
		return classBlank
	case mask&isDense != 0:
		return classDense
	case mask&isLetter == 0:
		return classNumber
	case mask&isDigit != 0:
		return classMixed
	case mask&isCode != 0, mask&isSpace == 0:
		return classCode
	case mask&isColon != 0:
		return classLabel
	case mask&isCapital != 0:
		return classTitle
	default:
		return classPlain
	}
}

// endsSentence reports whether a symbol ends sentences or lines, as far as symbols tell.
func endsSentence(sym byte) bool {
	switch sym {
	case '\n', '.', '!', '?':
		return true
	}
	return sym >= symPunct && sym < symLetter
}
