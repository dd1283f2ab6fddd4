package wire

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader is a pull parser over a body in memory (RFC 8259). The records' arrays are what a body is made
// of; reading them through a general decoder costs three times as much and loses what an error needs: the
// place of the element, and where the next item starts after a broken one.
type jsonReader struct {
	b       []byte
	i       int
	scratch []byte // unescaped strings
}

// maxDepth bounds nesting, of which the records need six levels.
const maxDepth = 64

// A syntaxError ends an item: its end can only be guessed.
type syntaxError struct {
	reason string
}

func (e *syntaxError) Error() string { return e.reason }

func syntaxf(format string, args ...any) error {
	return &syntaxError{reason: fmt.Sprintf(format, args...)}
}

// errTooDeep is a value nested deeper than maxDepth.
var errTooDeep = errors.New("nests deeper than " + strconv.Itoa(maxDepth) + " levels")

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// peek skips white space and returns the next byte; 0 at the end.
func (r *jsonReader) peek() byte {
	for r.i < len(r.b) {
		if c := r.b[r.i]; !isSpace(c) {
			return c
		}
		r.i++
	}
	return 0
}

func (r *jsonReader) unexpected(want string) error {
	if r.peek() == 0 && r.i >= len(r.b) {
		return syntaxf("ends early, at byte %d; want %s", r.i, want)
	}
	return syntaxf("has %s at byte %d; want %s", strconv.QuoteRune(rune(r.b[r.i])), r.i, want)
}

func (r *jsonReader) expect(c byte, want string) error {
	if r.peek() != c {
		return r.unexpected(want)
	}
	r.i++
	return nil
}

// more moves to the next element of an object or array whose opening bracket was read: it takes the comma,
// or the closing bracket and reports false.
func (r *jsonReader) more(closing byte, first bool) (bool, error) {
	switch c := r.peek(); {
	case c == closing:
		r.i++
		return false, nil
	case first && r.i < len(r.b):
		return true, nil
	case c == ',' && !first:
		r.i++
		if r.peek() == closing || r.i >= len(r.b) {
			return false, r.unexpected("a value after the comma")
		}
		return true, nil
	default:
		return false, r.unexpected("a comma or " + strconv.QuoteRune(rune(closing)))
	}
}

func (r *jsonReader) literal(word string) error {
	if len(r.b)-r.i < len(word) || string(r.b[r.i:r.i+len(word)]) != word {
		return r.unexpected("a JSON value")
	}
	r.i += len(word)
	return nil
}

// A strDefect is a set of what is wrong with a string that still has an end.
type strDefect uint8

const (
	strControl strDefect = 1 << iota
	strEscape
	strSurrogate
	strUTF8

	// strMalformed strings are not JSON; the others are JSON that says nothing sensible.
	strMalformed = strControl | strEscape
)

func (d strDefect) String() string {
	switch {
	case d&strControl != 0:
		return "holds a raw control character; want it escaped"
	case d&strEscape != 0:
		return "holds a malformed escape"
	case d&strSurrogate != 0:
		return "holds half of a surrogate pair"
	case d&strUTF8 != 0:
		return "is not valid UTF-8"
	}
	return "is sound"
}

// str reads a string. The bytes are valid until the next call. Defects are repaired with U+FFFD, as
// browsers do, and reported.
func (r *jsonReader) str() ([]byte, strDefect, error) {
	if err := r.expect('"', "a string"); err != nil {
		return nil, 0, err
	}
	start, b := r.i, r.b
	ascii := byte(0)
	for i := start; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			r.i = i + 1
			s := b[start:i]
			if ascii >= utf8.RuneSelf && !utf8.Valid(s) {
				return r.repair(s), strUTF8, nil
			}
			return s, 0, nil
		case c == '\\' || c < ' ':
			return r.strSlow(start, i)
		default:
			ascii |= c
		}
	}
	return nil, 0, syntaxf("holds a string that is not closed, from byte %d", start-1)
}

func (r *jsonReader) repair(s []byte) []byte {
	out := r.scratch[:0]
	for len(s) > 0 {
		c, n := utf8.DecodeRune(s)
		out = utf8.AppendRune(out, c)
		s = s[n:]
	}
	r.scratch = out
	return out
}

func (r *jsonReader) strSlow(start, i int) (_ []byte, defect strDefect, _ error) {
	b := r.b
	out := r.scratch[:0]
	out = append(out, b[start:i]...)
	for i < len(b) {
		c := b[i]
		switch {
		case c == '"':
			r.i, r.scratch = i+1, out
			if !utf8.Valid(out) {
				return r.repair([]byte(string(out))), defect | strUTF8, nil
			}
			return out, defect, nil
		case c < ' ':
			defect |= strControl
			out = append(out, c)
			i++
		case c != '\\':
			out = append(out, c)
			i++
		case i+1 >= len(b):
			i++
		case b[i+1] == 'u':
			c1, ok := hex4(b, i+2)
			if !ok {
				defect |= strEscape
				i += 2
				continue
			}
			i += 6
			if utf16.IsSurrogate(c1) {
				c2 := rune(0)
				if i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
					c2, _ = hex4(b, i+2)
				}
				if c1 = utf16.DecodeRune(c1, c2); c1 != utf8.RuneError {
					i += 6
				} else {
					defect |= strSurrogate
				}
			}
			out = utf8.AppendRune(out, c1)
		default:
			esc := unescape[b[i+1]]
			if esc == 0 {
				defect |= strEscape
				esc = b[i+1]
			}
			out = append(out, esc)
			i += 2
		}
	}
	r.scratch = out
	return nil, 0, syntaxf("holds a string that is not closed, from byte %d", start-1)
}

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	v := rune(0)
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// number reads the text of a number.
func (r *jsonReader) number() ([]byte, error) {
	start, b := r.i, r.b
	i := start
	digits := func() bool {
		from := i
		for i < len(b) && isDigit(b[i]) {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	zero := i < len(b) && b[i] == '0'
	from := i
	ok := digits() && (!zero || i == from+1)
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		return nil, syntaxf("holds a malformed number at byte %d", start)
	}
	r.i = i
	return b[start:i], nil
}

// skip reads any value and checks its syntax. It needs no stack: the kinds of the open brackets are bits.
func (r *jsonReader) skip() error {
	var objects uint64 // bit d: the bracket at depth d is an object
	depth := 0
	for {
		if depth > 0 && objects&1 == 0 {
			r.skipPlain()
		}
		// A value starts here.
		switch c := r.peek(); c {
		case '{', '[':
			if depth == maxDepth {
				return errTooDeep
			}
			r.i++
			objects = objects<<1 | uint64(c>>5&1) // '{' is 0x7b, '[' is 0x5b
			depth++
			closing := byte(']')
			if c == '{' {
				closing = '}'
			}
			more, err := r.more(closing, true)
			if err != nil {
				return err
			}
			if more {
				if c == '{' {
					if err := r.skipKey(); err != nil {
						return err
					}
				}
				continue
			}
			objects >>= 1
			depth--
		default:
			if err := r.skipScalar(c); err != nil {
				return err
			}
		}
		// A value ended here: close brackets until another one starts.
		for {
			if depth == 0 {
				return nil
			}
			object := objects&1 == 1
			closing := byte(']')
			if object {
				closing = '}'
			}
			more, err := r.more(closing, false)
			if err != nil {
				return err
			}
			if more {
				if object {
					if err := r.skipKey(); err != nil {
						return err
					}
				}
				break
			}
			objects >>= 1
			depth--
		}
	}
}

// skipPlain skips values of an array that are unsigned integers with a bare comma behind them, which is what arrays of times
// consist of.
func (r *jsonReader) skipPlain() {
	b := r.b
	for i := r.i; i < len(b); {
		from := i
		for i < len(b) && isDigit(b[i]) {
			i++
		}
		if i == from || i == len(b) || b[i] != ',' || b[from] == '0' && i > from+1 {
			return
		}
		i++
		r.i = i
	}
}

func (r *jsonReader) skipKey() error {
	if r.peek() != '"' {
		return r.unexpected("a field name")
	}
	if err := r.skipStr(); err != nil {
		return err
	}
	return r.expect(':', "a colon")
}

func (r *jsonReader) skipStr() error {
	_, defect, err := r.str()
	if err == nil && defect&strMalformed != 0 {
		err = &syntaxError{reason: defect.String()}
	}
	return err
}

func (r *jsonReader) skipScalar(c byte) error {
	switch {
	case c == '"':
		return r.skipStr()
	case c == '-' || isDigit(c):
		_, err := r.number()
		return err
	case c == 't':
		return r.literal("true")
	case c == 'f':
		return r.literal("false")
	case c == 'n':
		return r.literal("null")
	default:
		return r.unexpected("a JSON value")
	}
}

// extent finds the end of the object or array that starts at i by its own kind of bracket and its strings
// alone, however broken it is inside; -1 when it is never closed.
func (r *jsonReader) extent(i int) int {
	depth, opening := 0, r.b[i]
	closing := opening + 2 // of both kinds
	for b := r.b; i < len(b); i++ {
		switch b[i] {
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// integer reads a number's text as an integer. An integral float (12.0, 1e3) is one; with round any number is.
func integer(s []byte, round bool) (int64, string) {
	v, err := strconv.ParseInt(string(s), 10, 64)
	if err == nil {
		return v, ""
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, "is out of range (" + clip(string(s)) + ")"
	}
	f, err := strconv.ParseFloat(string(s), 64)
	const exact = 1 << 53
	if err != nil || f > exact || f < -exact {
		return 0, "is out of range (" + clip(string(s)) + ")"
	}
	if round {
		if f < 0 {
			return int64(f - 0.5), ""
		}
		return int64(f + 0.5), ""
	}
	if f != float64(int64(f)) || f == 0 && hasNonZero(s) {
		return 0, "is " + clip(string(s))
	}
	return int64(f), ""
}

// hasNonZero reports whether the mantissa of a number that reads as 0 has another digit: it underflowed.
func hasNonZero(s []byte) bool {
	for _, c := range s {
		if c == 'e' || c == 'E' {
			return false
		}
		if c >= '1' && c <= '9' {
			return true
		}
	}
	return false
}
