package otlpwire

import "encoding/binary"

// MaxVariable is how many attributes of a Template may differ.
const MaxVariable = 4

// Template recognises log records or span events that equal another one byte for byte, but for their times and the values
// of some int attributes. A sender of one record for each chunk writes long rows of them, and comparing costs
// a tenth of parsing.
type Template struct {
	raw  []byte // the record it was made of: a view into the request
	segs [MaxVariable + 2]segment
	n    int
}

// segment is where records may differ.
type segment struct {
	off, size int
	what      int // index into Match.Num, or whatTime, whatObserved
}

const (
	whatTime     = -1
	whatObserved = -2
)

// Match is what a record has of its own.
type Match struct {
	Time, Observed uint64
	Num            [MaxVariable]int64
}

// Template makes a template of the record; variable lists the attributes whose int values may differ, by
// index and in order. False: the record isn't of a form that can be one.
func (r *LogRecord) Template(variable []int) (t Template, ok bool) {
	return newTemplate(r.raw, 6, 11, variable)
}

// EventTemplate makes a template of event i, as LogRecord.Template does of a record.
func (s *Span) EventTemplate(i int, variable []int) (t Template, ok bool) {
	return newTemplate(s.EventBytes(i), 3, 0, variable)
}

// EventBytes returns the bytes of event i, for Template.Match.
func (s *Span) EventBytes(i int) []byte {
	e := &s.Events[i]
	return s.raw[e.off : e.off+e.size]
}

// newTemplate knows the message by its fields: the time is field 1 in both.
func newTemplate(raw []byte, attrField, observedField uint64, variable []int) (t Template, ok bool) {
	if len(variable) > MaxVariable {
		return t, false
	}
	t.raw = raw
	attr, found := -1, 0
	for b := raw; len(b) > 0; {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return t, false
		}
		end := len(raw) - len(rest)
		b = rest
		switch {
		case num == 1 && typ == typeFixed64:
			ok = t.add(segment{end - 8, 8, whatTime})
		case num == observedField && typ == typeFixed64:
			ok = t.add(segment{end - 8, 8, whatObserved})
		case num == attrField && typ == typeBytes:
			attr++
			ok = true
			if found < len(variable) && variable[found] == attr {
				var seg segment
				if seg, ok = intSegment(val.b, end-len(val.b)); ok {
					seg.what = found
					ok = t.add(seg)
					found++
				}
			}
		default:
			ok = true
		}
		if !ok {
			return t, false
		}
	}
	return t, found == len(variable) && t.n > 0
}

func (t *Template) add(s segment) bool {
	if t.n == len(t.segs) {
		return false
	}
	t.segs[t.n] = s
	t.n++
	return true
}

// intSegment finds the varint of an int attribute whose bytes lie at off.
func intSegment(kv []byte, off int) (segment, bool) {
	for b := kv; len(b) > 0; {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return segment{}, false
		}
		b = rest
		if num == 2 && typ == typeBytes && len(val.b) > 1 && val.b[0] == 3<<3|byte(typeVarint) {
			if _, n := binary.Uvarint(val.b[1:]); n == len(val.b)-1 {
				return segment{off: off + len(kv) - len(rest) - n, size: n}, true
			}
		}
	}
	return segment{}, false
}

// Match reports whether a record's bytes fit, and what they have of their own.
func (t *Template) Match(raw []byte) (m Match, ok bool) {
	if len(raw) != len(t.raw) || t.n == 0 {
		return m, false
	}
	at := 0
	for _, s := range t.segs[:t.n] {
		if string(raw[at:s.off]) != string(t.raw[at:s.off]) {
			return m, false
		}
		at = s.off + s.size
		switch b := raw[s.off:at]; s.what {
		case whatTime:
			m.Time = binary.LittleEndian.Uint64(b)
		case whatObserved:
			m.Observed = binary.LittleEndian.Uint64(b)
		default:
			v, n := binary.Uvarint(b)
			if n != s.size {
				return m, false
			}
			m.Num[s.what] = int64(v) //nolint:gosec // the wire's two's complement
		}
	}
	return m, string(raw[at:]) == string(t.raw[at:])
}
