package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A jsonField is one field of a JSON object: its name, how to read it and how to write it. The tables made
// of them are the only place where wire names and struct fields meet.
type jsonField[T any] struct {
	name string
	// set reads the value; null never gets here.
	set func(d *jsonDecoder, r *T) error
	// add appends the value, or nothing when it is absent; nil for names that are only read.
	add func(dst []byte, r *T) []byte
}

type jsonTable[T any] struct {
	fields []jsonField[T]
	byName map[string]int
}

// maxFields is how many fields of one object can be told apart when one is given twice.
const maxFields = 128

func newJSONTable[T any](parts ...[]jsonField[T]) *jsonTable[T] {
	t := &jsonTable[T]{byName: map[string]int{}}
	for _, p := range parts {
		for _, f := range p {
			t.byName[f.name] = len(t.fields)
			t.fields = append(t.fields, f)
		}
	}
	return t
}

// names lists the wire names.
func (t *jsonTable[T]) names() []string {
	out := make([]string, len(t.fields))
	for i, f := range t.fields {
		out[i] = f.name
	}
	return out
}

// read reads an object into r. Unknown fields are counted, a known one given twice is refused: which of
// the two was meant can't be told. null is the same as absent.
func (t *jsonTable[T]) read(d *jsonDecoder, r *T) error {
	if d.peek() != '{' {
		return d.wrongType("an object")
	}
	d.i++
	var seen [maxFields / 64]uint64
	more, err := d.more('}', true)
	for more {
		if d.peek() != '"' {
			return d.unexpected("a field name")
		}
		from := d.i + 1
		key, _, err := d.str()
		if err != nil {
			return err
		}
		to := d.i - 1
		i, known := t.byName[string(key)]
		name := ""
		if known {
			name = t.fields[i].name
		}
		if err := d.expect(':', "a colon"); err != nil {
			return err
		}
		switch {
		case !known:
			d.stats.Unknown++
			if err := d.skip(); err != nil {
				d.push(keyName(d.b[from:to]))
				return err
			}
		case d.peek() == 'n':
			if err := d.literal("null"); err != nil {
				d.push(name)
				return err
			}
		case seen[i/64]>>(i%64)&1 == 1:
			d.failIn(name, "is given twice")
			if err := d.skip(); err != nil {
				return err
			}
		default:
			seen[i/64] |= 1 << (i % 64)
			d.push(name)
			if err := t.fields[i].set(d, r); err != nil {
				return err
			}
			d.pop()
		}
		if more, err = d.more('}', false); err != nil {
			return err
		}
	}
	return err
}

// keyName makes a field name from a body fit for an error: short and printable.
func keyName(raw []byte) string {
	if len(raw) > 64 {
		raw = raw[:64]
	}
	for _, c := range raw {
		if c < ' ' || c > '~' {
			return "(field)"
		}
	}
	return string(raw)
}

// write appends r as an object without its absent fields.
func (t *jsonTable[T]) write(dst []byte, r *T) []byte {
	dst = append(dst, '{')
	first := true
	for i := range t.fields {
		f := &t.fields[i]
		if f.add == nil {
			continue
		}
		mark := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, f.name...)
		dst = append(dst, '"', ':')
		before := len(dst)
		if dst = f.add(dst, r); len(dst) == before {
			dst = dst[:mark]
			continue
		}
		first = false
	}
	return append(dst, '}')
}

// alias makes a second name of f that is only read.
func alias[T any](name string, f jsonField[T]) jsonField[T] {
	return jsonField[T]{name: name, set: f.set}
}

func appendString(dst []byte, s string) []byte {
	b, _ := json.Marshal(s) // a string: can't fail
	return append(dst, b...)
}

func strField[T any, S ~string](name string, at func(*T) *S) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			s, err := d.string()
			*at(r) = S(s)
			return err
		},
		add: func(dst []byte, r *T) []byte {
			if s := *at(r); s != "" {
				return appendString(dst, string(s))
			}
			return dst
		},
	}
}

// hexField lower-cases a trace or span id.
func hexField[T any](name string, at func(*T) *string) jsonField[T] {
	f := strField(name, at)
	set := f.set
	f.set = func(d *jsonDecoder, r *T) error {
		err := set(d, r)
		*at(r) = strings.ToLower(*at(r))
		return err
	}
	return f
}

// classField keeps the short class of an error, never its message.
func classField[T any](name string, at func(*T) *string) jsonField[T] {
	f := strField(name, at)
	f.set = func(d *jsonDecoder, r *T) (err error) {
		*at(r), err = d.errorClass()
		return err
	}
	return f
}

const (
	wantInt     = "an integer"
	wantCount   = "a non-negative integer"
	wantUS      = "an integer number of µs"
	wantInstant = "an integer number of µs since 1970-01-01"
)

func intField[T any](name, want string, at func(*T) *int64) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			v, _, err := d.int(want, false)
			*at(r) = v
			return err
		},
		add: func(dst []byte, r *T) []byte {
			if v := *at(r); v != 0 {
				return strconv.AppendInt(dst, v, 10)
			}
			return dst
		},
	}
}

// roundField is an intField that takes fractions, which browsers' clocks have.
func roundField[T any](name, want string, at func(*T) *int64) jsonField[T] {
	f := intField(name, want, at)
	f.set = func(d *jsonDecoder, r *T) error {
		v, _, err := d.int(want, true)
		*at(r) = v
		return err
	}
	return f
}

// smallField is an integer that the struct holds in less than 64 bits; def is what absent means.
func smallField[T any, N uint32 | int32](name string, def N, at func(*T) *N) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			v, ok, err := d.int(wantCount, false)
			n := N(v)
			if ok && (v < 0 || int64(n) != v) {
				d.fail("is out of range (%d); want %s", v, wantCount)
				return err
			}
			*at(r) = n
			return err
		},
		add: func(dst []byte, r *T) []byte {
			if v := *at(r); v != def {
				return strconv.AppendInt(dst, int64(v), 10)
			}
			return dst
		},
	}
}

func optField[T any](name, want string, at func(*T) *Opt[int64]) jsonField[T] {
	return optional(name, want, false, at)
}

func optRoundField[T any](name, want string, at func(*T) *Opt[int64]) jsonField[T] {
	return optional(name, want, true, at)
}

func optional[T any](name, want string, round bool, at func(*T) *Opt[int64]) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			v, ok, err := d.int(want, round)
			*at(r) = Opt[int64]{V: v, OK: ok}
			return err
		},
		add: func(dst []byte, r *T) []byte {
			if o := *at(r); o.OK {
				return strconv.AppendInt(dst, o.V, 10)
			}
			return dst
		},
	}
}

func boolField[T any](name string, at func(*T) *bool) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			switch d.peek() {
			case 't':
				*at(r) = true
				return d.literal("true")
			case 'f':
				*at(r) = false
				return d.literal("false")
			}
			return d.wrongType("true or false")
		},
		add: func(dst []byte, r *T) []byte {
			if *at(r) {
				return append(dst, "true"...)
			}
			return dst
		},
	}
}

func strsField[T any](name string, at func(*T) *[]string) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			var out []string
			err := d.elements(d.opt.Limits.MaxAliases, " of strings", func(int) error {
				s, err := d.string()
				out = append(out, s)
				return err
			})
			*at(r) = out
			return err
		},
		add: func(dst []byte, r *T) []byte {
			l := *at(r)
			if len(l) == 0 {
				return dst
			}
			for i, s := range l {
				dst = append(dst, "[,"[min(i, 1)])
				dst = appendString(dst, s)
			}
			return append(dst, ']')
		},
	}
}

// objField is a nested object. It is not written when it would be empty.
func objField[T, U any](name string, table *jsonTable[U], at func(*T) *U) jsonField[T] {
	return jsonField[T]{
		name: name,
		set:  func(d *jsonDecoder, r *T) error { return table.read(d, at(r)) },
		add: func(dst []byte, r *T) []byte {
			n := len(dst)
			if dst = table.write(dst, at(r)); len(dst) == n+len("{}") {
				return dst[:n]
			}
			return dst
		},
	}
}

// listField is an array of objects of at most most entries.
func listField[T, U any](name string, most int, table *jsonTable[U], fresh func(i int) U, at func(*T) *[]U) jsonField[T] {
	return jsonField[T]{
		name: name,
		set: func(d *jsonDecoder, r *T) error {
			var out []U
			err := d.elements(most, " of objects", func(i int) error {
				out = append(out, fresh(i))
				return table.read(d, &out[i])
			})
			*at(r) = out
			return err
		},
		add: func(dst []byte, r *T) []byte {
			l := *at(r)
			if len(l) == 0 {
				return dst
			}
			for i := range l {
				dst = append(dst, "[,"[min(i, 1)])
				dst = table.write(dst, &l[i])
			}
			return append(dst, ']')
		},
	}
}

func appendInts[N int64 | uint32 | uint16](dst []byte, l []N) []byte {
	if len(l) == 0 {
		return dst
	}
	for i, v := range l {
		dst = append(dst, "[,"[min(i, 1)])
		dst = strconv.AppendInt(dst, int64(v), 10)
	}
	return append(dst, ']')
}

func appendFloats(dst []byte, l []float32) []byte {
	if len(l) == 0 {
		return dst
	}
	for i, v := range l {
		dst = append(dst, "[,"[min(i, 1)])
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendFloat(dst, f, 'g', -1, 32)
		}
	}
	return append(dst, ']')
}
