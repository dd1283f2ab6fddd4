package wire

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// jsonDecoder reads the items of one body. Problems of an item are collected with the path to the value;
// only broken syntax ends the item.
type jsonDecoder struct {
	jsonReader
	opt   DecodeOptions
	path  []pathStep
	errs  []error
	stats DecodeStats
	// envelope is where the object starts whose fields the item inherits; nil: there is none.
	envelope *int
}

// A pathStep is a field, or an element of an array when name is empty.
type pathStep struct {
	name string
	i    int
}

func (d *jsonDecoder) push(name string) { d.path = append(d.path, pathStep{name: name}) }

func (d *jsonDecoder) pushIndex(i int) { d.path = append(d.path, pathStep{i: i}) }

func (d *jsonDecoder) pop() { d.path = d.path[:len(d.path)-1] }

func (d *jsonDecoder) where() string {
	var s strings.Builder
	for i, p := range d.path {
		switch {
		case p.name == "":
			s.WriteByte('[')
			s.WriteString(strconv.Itoa(p.i))
			s.WriteByte(']')
		case i > 0:
			s.WriteByte('.')
			fallthrough
		default:
			s.WriteString(p.name)
		}
	}
	if s.Len() == 0 {
		return "(item)"
	}
	return s.String()
}

// fail records a problem of the value the path leads to.
func (d *jsonDecoder) fail(format string, args ...any) {
	if len(d.errs) < maxProblems {
		d.errs = append(d.errs, Fieldf(d.where(), format, args...))
	}
}

func (d *jsonDecoder) failAt(i int, format string, args ...any) {
	d.pushIndex(i)
	d.fail(format, args...)
	d.pop()
}

func (d *jsonDecoder) failIn(field, format string, args ...any) {
	d.push(field)
	d.fail(format, args...)
	d.pop()
}

// wrongType records that the next value has the wrong type, and skips it.
func (d *jsonDecoder) wrongType(want string) error {
	have := "not a JSON value"
	c := d.peek()
	word := func(w string) bool { return bytes.HasPrefix(d.b[d.i:], []byte(w)) }
	switch {
	case c == '"':
		have = "a string"
	case c == '{':
		have = "an object"
	case c == '[':
		have = "an array"
	case word("true"):
		have = "true"
	case word("false"):
		have = "false"
	case word("null"):
		have = "null"
	case c == '-' || isDigit(c):
		have = "a number"
	}
	d.fail("is %s; want %s", have, want)
	return d.skip()
}

// string reads a string of at most MaxString bytes.
func (d *jsonDecoder) string() (string, error) {
	if d.peek() != '"' {
		return "", d.wrongType("a string")
	}
	b, defect, err := d.str()
	switch {
	case err != nil:
		return "", err
	case defect != 0:
		d.fail("%s", defect)
		return "", nil
	case len(b) > d.opt.Limits.MaxString:
		d.fail("has %d bytes, at most %d are allowed", len(b), d.opt.Limits.MaxString)
		return "", nil
	}
	return string(b), nil
}

// int reads an integer; with round it takes any number. ok is false when there was none.
func (d *jsonDecoder) int(want string, round bool) (v int64, ok bool, err error) {
	if c := d.peek(); c != '-' && !isDigit(c) {
		return 0, false, d.wrongType(want)
	}
	s, err := d.number()
	if err != nil {
		return 0, false, err
	}
	v, problem := integer(s, round)
	if problem != "" {
		d.fail("%s; want %s", problem, want)
		return 0, false, nil
	}
	return v, true, nil
}

// int64s reads an array of integers between lo and hi into dst, of at most MaxChunks. Digits between
// commas, which is what arrays are made of, take the short way.
func int64s[N int64 | uint32 | uint16](d *jsonDecoder, dst []N, lo, hi int64, want string, round bool) ([]N, error) {
	dst = dst[:0]
	if d.peek() != '[' {
		return dst, d.wrongType("an array")
	}
	start := d.i
	d.i++
	b, most := d.b, d.opt.Limits.MaxChunks
	more, err := d.more(']', true)
	for more && err == nil {
		i, v := d.i, int64(0)
		for i < len(b) && isDigit(b[i]) && i-d.i < 18 {
			v = v*10 + int64(b[i]-'0')
			i++
		}
		plain := i > d.i && i < len(b) && (b[i] == ',' || b[i] == ']') && (b[d.i] != '0' || i == d.i+1)
		if plain {
			d.i = i
		} else {
			before := len(d.errs)
			d.pushIndex(len(dst))
			var ok bool
			if v, ok, err = d.int(want, round); err != nil {
				return dst, err
			}
			d.pop()
			if !ok {
				// The rest of the array would only repeat the problem.
				if len(d.errs) == before && before < maxProblems {
					d.failAt(len(dst), "can't be read; want %s", want)
				}
				d.i = start
				return dst[:0], d.skip()
			}
		}
		if len(dst) >= most || v < lo || v > hi {
			switch {
			case len(dst) >= most:
				d.fail("has more than %d entries; send the stream in segments", most)
			case v < lo:
				d.failAt(len(dst), "is negative (%d); want %s", v, want)
			default:
				d.failAt(len(dst), "is %d, at most %d is allowed", v, hi)
			}
			d.i = start
			return dst[:0], d.skip()
		}
		dst = append(dst, N(v))
		if plain && b[d.i] == ',' && d.i+2 < len(b) {
			if b[d.i+1] == ' ' && isDigit(b[d.i+2]) { // as Python writes arrays
				d.i++
			}
			if isDigit(b[d.i+1]) {
				d.i++
				continue
			}
		}
		more, err = d.more(']', false)
	}
	return dst, err
}

// elements calls each for the elements of an array, of at most most. It must read exactly one value.
func (d *jsonDecoder) elements(most int, what string, each func(i int) error) error {
	if d.peek() != '[' {
		return d.wrongType("an array" + what)
	}
	start := d.i
	d.i++
	n := 0
	more, err := d.more(']', true)
	for ; more && err == nil; n++ {
		if n >= most {
			d.fail("has more than %d entries", most)
			d.i = start
			return d.skip()
		}
		d.pushIndex(n)
		err = each(n)
		if err != nil {
			return err
		}
		d.pop()
		more, err = d.more(']', false)
	}
	return err
}

// items calls item for each item of the body. The callback reads one value and reports through errs, or
// returns the error that made it stop in the middle of the value; report is then told.
func (d *jsonDecoder) items(item func() error, report func(err error, inItem bool)) {
	body := bytes.TrimPrefix(d.b, []byte("\xef\xbb\xbf"))
	empty := true
	lines := d.opt.NDJSON
	for at := 0; at >= 0 && at < len(body); {
		end := len(body)
		if lines {
			if n := bytes.IndexByte(body[at:], '\n'); n >= 0 {
				end = at + n
			}
		}
		d.b, d.i = body[:end], at
		next, ok := d.values(item, report, &empty, lines)
		switch {
		case !ok:
			return
		case lines:
			at = end + 1
		default:
			at, lines = next, true
		}
	}
	if empty {
		report(Fieldf("(body)", "is empty; want a JSON object, an array of objects, or one object on each line"), false)
	}
}

// values reads the values of d.b. When one is broken and its end can't be found, and lines is not set, it
// returns where the next line with an object starts, -1 when there is none. ok is false when no item can
// be taken any more.
func (d *jsonDecoder) values(item func() error, report func(err error, inItem bool), empty *bool, lines bool) (next int, ok bool) {
	for d.peek() != 0 || d.i < len(d.b) {
		*empty = false
		if d.b[d.i] != '[' {
			start := d.i
			resumed, ok := d.one(item, report)
			if !ok {
				return -1, false
			}
			if !resumed {
				if n := bytes.Index(d.b[start:], []byte("\n{")); n >= 0 && !lines {
					return start + n + 1, true
				}
				return -1, true
			}
			continue
		}
		d.i++
		more, err := d.more(']', true)
		for more && err == nil {
			resumed, ok := d.one(item, report)
			if !ok {
				return -1, false
			}
			if !resumed {
				return -1, true
			}
			more, err = d.more(']', false)
		}
		if err != nil {
			report(&FieldError{Field: "(body)", Reason: "the array of items " + err.Error()}, false)
			return -1, true
		}
	}
	return -1, true
}

// one reads one item. When it is broken it goes on behind it, if its end can be found.
func (d *jsonDecoder) one(item func() error, report func(err error, inItem bool)) (resumed, ok bool) {
	if d.stats.Items >= d.opt.MaxItems {
		report(Fieldf("(body)", "holds more than %d items; split the batch", d.opt.MaxItems), false)
		return false, false
	}
	start := d.i
	d.path, d.errs = d.path[:0], d.errs[:0]
	err := item()
	if err == nil {
		return true, true
	}
	d.fail("%s", err.Error())
	report(errors.Join(d.errs...), true)
	if c := d.b[start]; c != '{' && c != '[' {
		return false, true
	}
	if end := d.extent(start); end >= 0 {
		d.i = end
		return true, true
	}
	return false, true
}

// validator is a record's Validate.
type validator func(now time.Time, lim Limits) error

// joined returns the problems of the item just read.
func (d *jsonDecoder) joined() error { return errors.Join(d.errs...) }

// goodID returns id when it may be repeated in an answer.
func goodID(id string) string {
	if ValidID(id) {
		return id
	}
	return ""
}
