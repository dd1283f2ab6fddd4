package otlpwire

import (
	"math"
	"strings"
	"unsafe"
)

// Type says which kind of AnyValue a Value holds.
type Type uint8

// Types of a Value.
const (
	Empty Type = iota
	String
	Bool
	Int
	Double
	Array
	KVList
	Bytes
)

var typeNames = [...]string{"empty value", "string", "bool", "int", "double", "array", "map", "bytes"}

// String names the type for error messages.
func (t Type) String() string { return typeNames[t] }

// Value is a view of an AnyValue.
type Value struct {
	Type Type
	num  uint64 // bool, int, double
	raw  []byte // string, bytes, array, map
}

// IsZero reports whether the value is absent or empty.
func (v Value) IsZero() bool { return v.Type == Empty }

// Raw returns the bytes of a string or bytes value as a view, nil for other types.
func (v Value) Raw() []byte {
	if v.Type == String || v.Type == Bytes {
		return v.raw
	}
	return nil
}

// Str copies a string value; other types give "". Bytes that aren't UTF-8 are replaced.
func (v Value) Str() string { return strings.Clone(v.View()) }

// View is Str without the copy: it is valid as long as the request's bytes.
func (v Value) View() string {
	if v.Type != String {
		return ""
	}
	return strings.ToValidUTF8(view(v.raw), "\uFFFD")
}

// Int returns an int value.
func (v Value) Int() (int64, bool) {
	return int64(v.num), v.Type == Int //nolint:gosec // the wire's two's complement
}

// Float returns a double or int value.
func (v Value) Float() (float64, bool) {
	switch v.Type {
	case Double:
		return math.Float64frombits(v.num), true
	case Int:
		return float64(int64(v.num)), true //nolint:gosec // the wire's two's complement
	default:
		return 0, false
	}
}

// Bits returns the bits of a bool, int or double value, 0 for other types.
func (v Value) Bits() uint64 { return v.num }

// Bool returns a bool value.
func (v Value) Bool() (value, ok bool) { return v.num != 0, v.Type == Bool }

// Elements calls f for each element of an array value, until f returns false.
func (v Value) Elements(f func(i int, e Value) bool) error {
	if v.Type != Array {
		return nil
	}
	b := v.raw
	for i := 0; len(b) > 0; {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return err
		}
		b = rest
		if num != 1 || typ != typeBytes {
			continue
		}
		e, err := parseValue(val.b)
		if err != nil {
			return err
		}
		if !f(i, e) {
			return nil
		}
		i++
	}
	return nil
}

// Len counts the elements of an array value.
func (v Value) Len() int {
	n := 0
	_ = v.Elements(func(int, Value) bool { n++; return true })
	return n
}

func parseValue(b []byte) (Value, error) {
	var v Value
	// The usual encoding, straight: one short string and nothing else.
	if len(b) >= 2 && b[0] == 1<<3|byte(typeBytes) && b[1] < 0x80 && len(b) == 2+int(b[1]) {
		return Value{Type: String, raw: b[2:]}, nil
	}
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return Value{}, err
		}
		b = rest
		switch {
		case num == 1 && typ == typeBytes:
			v = Value{Type: String, raw: val.b}
		case num == 2 && typ == typeVarint:
			v = Value{Type: Bool, num: val.u}
		case num == 3 && typ == typeVarint:
			v = Value{Type: Int, num: val.u}
		case num == 4 && typ == typeFixed64:
			v = Value{Type: Double, num: val.u}
		case num == 5 && typ == typeBytes:
			v = Value{Type: Array, raw: val.b}
		case num == 6 && typ == typeBytes:
			v = Value{Type: KVList, raw: val.b}
		case num == 7 && typ == typeBytes:
			v = Value{Type: Bytes, raw: val.b}
		}
	}
	return v, nil
}

// Attr is one attribute.
type Attr struct {
	Key   string // a view: copy it with strings.Clone to keep it
	Value Value
}

// Attrs are the attributes of a resource, scope, span, event or log record.
type Attrs []Attr

// Get returns the first attribute with that key, or an empty value.
func (a Attrs) Get(key string) Value {
	for i := range a {
		if a[i].Key == key {
			return a[i].Value
		}
	}
	return Value{}
}

func appendAttr(a Attrs, b []byte) (Attrs, error) {
	if len(a) >= MaxAttrs {
		return a, ErrTooMany
	}
	var at Attr
	// The usual encodings, straight: a short key and a short value and nothing else, in either order.
	const keyTag, valueTag = 1<<3 | byte(typeBytes), 2<<3 | byte(typeBytes)
	if len(b) > 2 && b[1] < 0x80 && (b[0] == keyTag || b[0] == valueTag) {
		end := 2 + int(b[1])
		if len(b) > end+1 && b[end] == keyTag^valueTag^b[0] && b[end+1] < 0x80 && len(b) == end+2+int(b[end+1]) {
			key, value := b[2:end], b[end+2:]
			if b[0] == valueTag {
				key, value = value, key
			}
			v, err := parseValue(value)
			return append(a, Attr{Key: view(key), Value: v}), err
		}
	}
	for len(b) > 0 {
		num, typ, val, rest, err := next(b)
		if err != nil {
			return a, err
		}
		b = rest
		switch {
		case num == 1 && typ == typeBytes:
			at.Key = view(val.b)
		case num == 2 && typ == typeBytes:
			if at.Value, err = parseValue(val.b); err != nil {
				return a, err
			}
		}
	}
	return append(a, at), nil
}

// view makes a string of bytes that outlive it: keys live as long as the request's buffer.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // that is the point; see the package's contract
}

// Equal reports whether both values have the same bytes on the wire.
func (v Value) Equal(o Value) bool {
	return v.Type == o.Type && v.num == o.num && string(v.raw) == string(o.raw)
}
