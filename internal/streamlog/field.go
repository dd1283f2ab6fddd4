package streamlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/fermata-io/fermata/internal/wire"
)

// A field is one attribute of a record type: its key, how to write it when set and how to read it back.
// The tables in records.go are the only place where keys and struct fields meet.
type field[T any] struct {
	key string
	put func(key string, r *T, m *attributes)
	set func(r *T, v *value, most int) error
}

// attributes are those of a new record: no key is looked for before it is added.
type attributes = xpdata.MapBuilder

type table[T any] struct {
	fields []field[T]
	byKey  map[string]int
}

func newTable[T any](fields ...field[T]) *table[T] {
	t := &table[T]{fields: fields, byKey: make(map[string]int, len(fields))}
	for i, f := range fields {
		if f.key != "" {
			t.byKey[f.key] = i
		}
	}
	return t
}

func (t *table[T]) write(r *T, m *attributes) {
	for i := range t.fields {
		if f := &t.fields[i]; f.put != nil {
			f.put(f.key, r, m)
		}
	}
}

// read sets every known attribute; others are left alone, so that users can add their own.
func (t *table[T]) read(r *T, m pcommon.Map, most int) error {
	var x value
	next := 0
	for k, v := range m.All() {
		i, ok := t.find(k, next)
		if !ok {
			continue
		}
		next = i + 1
		x.pdata(v)
		if err := t.fields[i].set(r, &x, most); err != nil {
			return &wire.FieldError{Field: t.fields[i].key, Reason: err.Error()}
		}
	}
	return nil
}

// view does what read does, from a request's bytes.
func (t *table[T]) view(r *T, v View) error {
	var x value
	next := 0
	for k := range v.Attrs {
		i, ok := t.find(v.Attrs[k].Key, next)
		if !ok {
			continue
		}
		next = i + 1
		x.wire(v.Attrs[k].Value, v.Strings)
		if err := t.fields[i].set(r, &x, v.Most); err != nil {
			return &wire.FieldError{Field: t.fields[i].key, Reason: err.Error()}
		}
	}
	return nil
}

// find returns the field of a key. Records that were written here have their attributes in the table's order, so those from
// next on are looked at first.
func (t *table[T]) find(key string, next int) (int, bool) {
	const ahead = 8
	for i := next; i < min(next+ahead, len(t.fields)); i++ {
		if t.fields[i].key == key {
			return i, true
		}
	}
	i, ok := t.byKey[key]
	return i, ok
}

func str[T any, S ~string](key string, at func(*T) *S) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if s := *at(r); s != "" {
				m.AppendEmpty(key).SetStr(string(s))
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeStr); err != nil {
				return err
			}
			*at(r) = S(v.str)
			return nil
		},
	}
}

type integer interface {
	~int32 | ~int64 | ~uint32
}

func num[T any, N integer](key string, at func(*T) *N) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if n := *at(r); n != 0 {
				m.AppendEmpty(key).SetInt(int64(n))
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeInt); err != nil {
				return err
			}
			n := N(v.int())
			if int64(n) != v.int() {
				return fmt.Errorf("is out of range (%d)", v.int())
			}
			*at(r) = n
			return nil
		},
	}
}

func opt[T any](key string, at func(*T) *wire.Opt[int64]) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if o := *at(r); o.OK {
				m.AppendEmpty(key).SetInt(o.V)
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeInt); err != nil {
				return err
			}
			*at(r) = wire.Some(v.int())
			return nil
		},
	}
}

func double[T any](key string, at func(*T) *float64) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if f := *at(r); f != 0 {
				m.AppendEmpty(key).SetDouble(f)
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeDouble); err != nil {
				return err
			}
			*at(r) = v.double()
			return nil
		},
	}
}

func flag[T any](key string, at func(*T) *bool) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if *at(r) {
				m.AppendEmpty(key).SetBool(true)
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeBool); err != nil {
				return err
			}
			*at(r) = v.bool()
			return nil
		},
	}
}

// boolean is a flag that is written whether set or not, for where absent and false differ to a sender.
func boolean[T any](key string, at func(*T) *bool) field[T] {
	f := flag(key, at)
	f.put = func(key string, r *T, m *attributes) { m.AppendEmpty(key).SetBool(*at(r)) }
	return f
}

// rawJSON carries JSON that this package does not look into.
func rawJSON[T any](key string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if len(*at(r)) > 0 {
				m.AppendEmpty(key).SetStr(string(*at(r)))
			}
		},
		set: func(r *T, v *value, _ int) error {
			if err := v.want(pcommon.ValueTypeStr); err != nil {
				return err
			}
			if !json.Valid([]byte(v.str)) {
				return errors.New("is not JSON")
			}
			*at(r) = json.RawMessage(v.str)
			return nil
		},
	}
}

func strs[T any](key string, at func(*T) *[]string) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if l := *at(r); len(l) > 0 {
				s := m.AppendEmpty(key).SetEmptySlice()
				s.EnsureCapacity(len(l))
				for _, x := range l {
					s.AppendEmpty().SetStr(x)
				}
			}
		},
		set: func(r *T, v *value, most int) error {
			if err := v.want(pcommon.ValueTypeSlice); err != nil {
				return err
			}
			n := v.len()
			if n > most {
				return ErrTooMany
			}
			l := make([]string, 0, n)
			err := v.each(func(_ int, x *value) error {
				l = append(l, x.str)
				return x.want(pcommon.ValueTypeStr)
			})
			if err != nil {
				return err
			}
			*at(r) = l
			return nil
		},
	}
}

// scratch keeps the buffers that arrays are packed in.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch bounds the buffers that are kept.
const maxScratch = 64 << 10

// packed is an array that travels as bytes; ints reads it from an int array, where senders may use one.
func packed[T, E any](key string, at func(*T) *[]E, pack func([]byte, []E) []byte,
	unpack func([]E, []byte, int) ([]E, error), other func(*value) ([]E, error),
) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if l := *at(r); len(l) > 0 {
				buf := scratch.Get().(*[]byte)
				*buf = pack((*buf)[:0], l)
				m.AppendEmpty(key).SetEmptyBytes().FromRaw(*buf)
				if cap(*buf) <= maxScratch {
					scratch.Put(buf)
				}
			}
		},
		set: func(r *T, v *value, most int) (err error) {
			switch {
			case v.typ == pcommon.ValueTypeBytes:
				*at(r), err = unpack((*at(r))[:0], v.bytes, most)
			case v.typ == pcommon.ValueTypeSlice && other != nil:
				if v.len() > most {
					return ErrTooMany
				}
				*at(r), err = other(v)
			default:
				err = v.want(pcommon.ValueTypeBytes)
			}
			return err
		},
	}
}
