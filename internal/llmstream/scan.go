package llmstream

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// raw is the text of one JSON value without white space around it; nil where absent.
type raw []byte

func (r raw) null() bool   { return len(r) == 0 || r[0] == 'n' }
func (r raw) object() bool { return len(r) > 0 && r[0] == '{' }
func (r raw) array() bool  { return len(r) > 0 && r[0] == '[' }
func (r raw) str() bool    { return len(r) > 0 && r[0] == '"' }
func (r raw) truth() bool  { return len(r) > 0 && r[0] == 't' }

// inner returns the still escaped text of a string, nil for any other value.
func (r raw) inner() []byte {
	if !r.str() {
		return nil
	}
	return r[1 : len(r)-1]
}

// is reports whether r is the string s, which must need no escapes.
func (r raw) is(s string) bool { return string(r.inner()) == s }

// num reads a JSON number.
func (r raw) num() (float64, bool) {
	if len(r) == 0 || len(r) > 64 || r[0] != '-' && (r[0] < '0' || r[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(r), 64)
	return f, err == nil
}

// count reads a whole number from 0 to 2^53. Numbers with a fraction are cut.
func (r raw) count() (int64, bool) {
	if len(r) == 0 {
		return 0, false
	}
	n := int64(0)
	for i, c := range r {
		if c < '0' || c > '9' || i > 15 {
			f, ok := r.num()
			if !ok || f < 0 || f > 1<<53 {
				return 0, false
			}
			return int64(f), true
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i, or -1.
func skipString(b []byte, i int) int {
	j := i + 1
	for {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		k += j
		n := 0
		for m := k - 1; m > i && b[m] == '\\'; m-- {
			n++
		}
		if n%2 == 0 {
			return k + 1
		}
		j = k + 1
	}
}

// structural marks the bytes that matter in a value that is skipped.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// skipValue returns the index behind the value that starts at i, or -1. Inside a value that nobody reads only
// strings and the balance of brackets are checked.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		depth := 0
		for {
			for i < len(b) && !structural[b[i]] {
				i++
			}
			if i == len(b) {
				return -1
			}
			switch b[i] {
			case '"':
				if i = skipString(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	case c == '-' || c >= '0' && c <= '9':
		for i++; i < len(b); i++ {
			if c := b[i]; (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
				break
			}
		}
		return i
	}
	return -1
}

func skipWord(b []byte, i int, word string) int {
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word)
	}
	return -1
}

// fields walks through an object: for it.next() { switch string(it.key) { … it.val … } }. After the walk bad
// tells whether the object was broken, and end is the index behind it.
type fields struct {
	b    []byte
	i    int
	key  []byte // as written, without quotes
	val  raw
	bad  bool
	end  int
	open bool
}

func walk(r []byte) fields {
	if len(r) == 0 || r[0] != '{' {
		return fields{bad: len(r) > 0 && r[0] != 'n'}
	}
	return fields{b: r, i: 1, open: true}
}

func (f *fields) next() bool {
	if !f.open {
		return false
	}
	b := f.b
	i := skipSpace(b, f.i)
	if i < len(b) && b[i] == '}' && f.key == nil {
		f.open, f.end = false, i+1
		return false
	}
	if f.key != nil {
		if i >= len(b) || b[i] != ',' {
			f.open = false
			if f.bad = i >= len(b) || b[i] != '}'; !f.bad {
				f.end = i + 1
			}
			return false
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return f.fail()
	}
	j := skipString(b, i)
	if j < 0 {
		return f.fail()
	}
	f.key = b[i+1 : j-1 : j-1]
	if i = skipSpace(b, j); i >= len(b) || b[i] != ':' {
		return f.fail()
	}
	i = skipSpace(b, i+1)
	if j = skipValue(b, i); j < 0 {
		return f.fail()
	}
	f.val, f.i = raw(b[i:j]), j
	return true
}

func (f *fields) fail() bool {
	f.open, f.bad = false, true
	return false
}

// elements walks through an array.
type elements struct {
	b     []byte
	i     int
	val   raw
	bad   bool
	first bool
	open  bool
}

func list(r []byte) elements {
	if len(r) == 0 || r[0] != '[' {
		return elements{bad: len(r) > 0 && r[0] != 'n'}
	}
	return elements{b: r, i: 1, first: true, open: true}
}

func (e *elements) next() bool {
	if !e.open {
		return false
	}
	b := e.b
	i := skipSpace(b, e.i)
	if i < len(b) && b[i] == ']' {
		e.open = false
		return false
	}
	if !e.first {
		if i >= len(b) || b[i] != ',' {
			e.open, e.bad = false, true
			return false
		}
		i = skipSpace(b, i+1)
	}
	e.first = false
	j := skipValue(b, i)
	if j < 0 {
		e.open, e.bad = false, true
		return false
	}
	e.val, e.i = raw(b[i:j]), j
	return true
}

// plain reports whether escaped JSON text stands for itself.
func plain(s []byte) bool { return bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) }

// textLen returns the number of UTF-8 bytes of the text that the JSON string r stands for; 0 for other values.
// A lone surrogate and an invalid byte count as U+FFFD, which is what a reader gets to see.
func textLen(r raw) int {
	s := r.inner()
	if plain(s) {
		return len(s)
	}
	n := 0
	decode(s, func(c rune) { n += utf8.RuneLen(c) })
	return n
}

// appendText appends the text that the JSON string r stands for.
func appendText(dst []byte, r raw) []byte { return appendEscaped(dst, r.inner()) }

// appendEscaped appends the text that stands between a JSON string's quotes.
func appendEscaped(dst, s []byte) []byte {
	if plain(s) {
		return append(dst, s...)
	}
	decode(s, func(c rune) { dst = utf8.AppendRune(dst, c) })
	return dst
}

// decode calls yield for each character of escaped JSON text.
func decode(s []byte, yield func(rune)) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c != '\\' && c < utf8.RuneSelf:
			yield(rune(c))
			i++
		case c != '\\':
			r, n := utf8.DecodeRune(s[i:])
			yield(r)
			i += n
		case i+1 == len(s):
			yield(utf8.RuneError)
			i++
		case s[i+1] == 'u':
			r, n := decodeU(s[i:])
			yield(r)
			i += n
		default:
			yield(unescape(s[i+1]))
			i += 2
		}
	}
}

func unescape(c byte) rune {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '"', '\\', '/':
		return rune(c)
	}
	return utf8.RuneError
}

// decodeU reads \uXXXX, or two of them that make one character, and returns the bytes used.
func decodeU(s []byte) (rune, int) {
	r, ok := hex4(s)
	if !ok {
		return utf8.RuneError, min(2, len(s))
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := hex4(s[6:]); ok {
			if c := utf16.DecodeRune(r, low); c != utf8.RuneError {
				return c, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
