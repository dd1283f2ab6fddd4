package table

import (
	"math"
	"strconv"
	"strings"
)

// reader reads the JSON that pack writes: no spaces, no escapes but \" \\ and \u00xx. Anything else sets bad, after which
// values are zero.
type reader struct {
	s   string
	i   int
	bad bool
}

// next reads c if it comes next.
func (r *reader) next(c byte) bool {
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *reader) want(c byte) {
	if !r.next(c) {
		r.bad = true
	}
}

func (r *reader) word(w string) bool {
	if strings.HasPrefix(r.s[r.i:], w) {
		r.i += len(w)
		return true
	}
	return false
}

// object calls member for each key; it must read the value.
func (r *reader) object(member func(key string)) {
	r.sequence('{', '}', func() {
		key := r.str()
		r.want(':')
		if !r.bad {
			member(key)
		}
	})
}

// list calls one for each element; it must read it.
func (r *reader) list(one func()) { r.sequence('[', ']', one) }

func (r *reader) sequence(first, last byte, one func()) {
	r.want(first)
	if r.next(last) {
		return
	}
	for !r.bad {
		one()
		if !r.next(',') {
			break
		}
	}
	if !r.bad {
		r.want(last)
	}
}

func (r *reader) str() string {
	r.want('"')
	if r.bad {
		return ""
	}
	start := r.i
	for r.i < len(r.s) && r.s[r.i] != '"' && r.s[r.i] != '\\' {
		r.i++
	}
	if r.next('"') {
		return strings.Clone(r.s[start : r.i-1])
	}
	b := []byte(r.s[start:r.i])
	for r.i < len(r.s) {
		c := r.s[r.i]
		r.i++
		switch c {
		case '"':
			return string(b)
		case '\\':
			switch {
			case r.next('"'):
				b = append(b, '"')
			case r.next('\\'):
				b = append(b, '\\')
			case r.word("u00") && r.i+2 <= len(r.s):
				v, err := strconv.ParseUint(r.s[r.i:r.i+2], 16, 7)
				r.bad = r.bad || err != nil
				r.i += 2
				b = append(b, byte(v))
			default:
				r.bad = true
				return ""
			}
		default:
			b = append(b, c)
		}
	}
	r.bad = true
	return ""
}

func (r *reader) boolean() bool {
	if r.word("true") {
		return true
	}
	if !r.word("false") {
		r.bad = true
	}
	return false
}

// integer reads a whole number as its sign and size.
func (r *reader) integer() (neg bool, size uint64) {
	neg = r.next('-')
	start := r.i
	for ; r.i < len(r.s); r.i++ {
		d := r.s[r.i] - '0'
		if d > 9 {
			break
		}
		if size > math.MaxUint64/10 || size*10 > math.MaxUint64-uint64(d) {
			r.bad = true
			return false, 0
		}
		size = size*10 + uint64(d)
	}
	if r.i == start {
		r.bad = true
	}
	return neg, size
}

func (r *reader) float() float32 {
	if r.word("null") {
		return float32(math.NaN())
	}
	start := r.i
	for r.i < len(r.s) && strings.IndexByte("+-.0123456789e", r.s[r.i]) >= 0 {
		r.i++
	}
	v, err := strconv.ParseFloat(r.s[start:r.i], 32)
	r.bad = r.bad || err != nil
	return float32(v)
}

func (r *reader) pointer() *int64 {
	if r.word("null") {
		return nil
	}
	v := getInt[int64](r)
	return &v
}

// skip reads over a value of any kind that pack writes.
func (r *reader) skip() {
	if r.i == len(r.s) {
		r.bad = true
		return
	}
	switch c := r.s[r.i]; {
	case c == '"':
		_ = r.str()
	case c == '[':
		r.list(r.skip)
	case r.word("true"), r.word("false"), r.word("null"):
	default:
		_ = r.float()
	}
}

// done reports whether the whole text was read and well formed.
func (r *reader) done() bool { return !r.bad && r.i == len(r.s) }
