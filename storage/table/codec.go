package table

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
)

const microsType = "DateTime64(6, 'UTC')"

type resettable interface {
	proto.ColInput
	Reset()
}

// buffer is one column of a batch.
type buffer struct {
	col resettable
	add func(unsafe.Pointer) // of the row's field
}

// codec chooses the ClickHouse type and buffer of a field. want is the tag's type, or empty.
func codec(t reflect.Type, want string) (string, func() buffer, error) {
	typ, mk := "", (func() buffer)(nil)
	switch reflect.New(t).Interface().(type) {
	case *string:
		typ, mk = "String", func() buffer { return scalar[string](new(proto.ColStr)) }
		if want == "LowCardinality(String)" {
			typ, mk = want, func() buffer { return scalar[string](newWords()) }
		}
	case *bool:
		typ, mk = "Bool", func() buffer { return scalar[bool](new(proto.ColBool)) }
	case *uint16:
		typ, mk = "UInt16", func() buffer { return scalar[uint16](new(proto.ColUInt16)) }
	case *uint32:
		typ, mk = "UInt32", func() buffer { return scalar[uint32](new(proto.ColUInt32)) }
	case *uint64:
		typ, mk = "UInt64", func() buffer { return scalar[uint64](new(proto.ColUInt64)) }
	case *int32:
		typ, mk = "Int32", func() buffer { return scalar[int32](new(proto.ColInt32)) }
	case *int64:
		typ, mk = "Int64", func() buffer { return scalar[int64](new(proto.ColInt64)) }
	case *Micros:
		typ, mk = microsType, micros
	case *Opt[uint32]:
		typ, mk = "Nullable(UInt32)", func() buffer { return nullable(proto.ColumnOf[uint32](new(proto.ColUInt32))) }
	case *Opt[uint64]:
		typ, mk = "Nullable(UInt64)", func() buffer { return nullable(proto.ColumnOf[uint64](new(proto.ColUInt64))) }
	case *Opt[int64]:
		typ, mk = "Nullable(Int64)", func() buffer { return nullable(proto.ColumnOf[int64](new(proto.ColInt64))) }
	case *[]bool:
		typ, mk = "Array(Bool)", func() buffer { return array(new(proto.ColBool).Array(), appendAll[proto.ColBool]) }
	case *[]uint16:
		typ, mk = "Array(UInt16)", func() buffer { return array(new(proto.ColUInt16).Array(), appendAll[proto.ColUInt16]) }
	case *[]uint32:
		typ, mk = "Array(UInt32)", func() buffer { return array(new(proto.ColUInt32).Array(), appendAll[proto.ColUInt32]) }
	case *[]uint64:
		typ, mk = "Array(UInt64)", func() buffer { return array(new(proto.ColUInt64).Array(), appendAll[proto.ColUInt64]) }
	case *[]int32:
		typ, mk = "Array(Int32)", func() buffer { return array(new(proto.ColInt32).Array(), appendAll[proto.ColInt32]) }
	case *[]float32:
		typ, mk = "Array(Float32)", func() buffer { return array(new(proto.ColFloat32).Array(), appendAll[proto.ColFloat32]) }
	case *[]string:
		typ, mk = "Array(String)", func() buffer { return array(new(proto.ColStr).Array(), appendEach[string]) }
		if want == "Array(LowCardinality(String))" {
			typ, mk = want, func() buffer {
				return array(proto.NewArray[string](newWords()), appendEach[string])
			}
		}
	case *[]*int64:
		typ, mk = "Array(Nullable(Int64))", nullables
	default:
		return "", nil, fmt.Errorf("no column type for %s", t)
	}
	if want != "" && want != typ {
		return "", nil, fmt.Errorf("%s can't be stored as %s", t, want)
	}
	return typ, mk, nil
}

// at returns a pointer to the field. codec chose T by the field's type.
func at[T any](field unsafe.Pointer) *T { return (*T)(field) }

type resetColumn[T any] interface {
	proto.ColInput
	Reset()
	Append(T)
}

func scalar[T any](col resetColumn[T]) buffer {
	return buffer{col: col, add: func(v unsafe.Pointer) { col.Append(*at[T](v)) }}
}

func micros() buffer {
	col := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro).WithLocation(time.UTC)
	return buffer{col: col, add: func(v unsafe.Pointer) {
		col.Data = append(col.Data, proto.DateTime64(*at[int64](v)))
	}}
}

func nullable[T any](inner proto.ColumnOf[T]) buffer {
	col := proto.NewColNullable(inner)
	return buffer{col: col, add: func(v unsafe.Pointer) {
		o := at[Opt[T]](v)
		col.Append(proto.Nullable[T]{Set: o.OK, Value: o.V})
	}}
}

func nullables() buffer {
	inner := proto.NewColNullable(proto.ColumnOf[int64](new(proto.ColInt64)))
	col := inner.Array()
	return buffer{col: col, add: func(v unsafe.Pointer) {
		for _, p := range *at[[]*int64](v) {
			if p == nil {
				inner.Append(proto.Nullable[int64]{})
				continue
			}
			inner.Append(proto.Nullable[int64]{Set: true, Value: *p})
		}
		col.Offsets = append(col.Offsets, uint64(inner.Rows())) //nolint:gosec // a count
	}}
}

// array makes a buffer whose elements are copied in one go.
func array[T any](col *proto.ColArr[T], appendTo func(proto.ColumnOf[T], []T)) buffer {
	return buffer{col: col, add: func(v unsafe.Pointer) {
		appendTo(col.Data, *at[[]T](v))
		col.Offsets = append(col.Offsets, uint64(col.Data.Rows())) //nolint:gosec // a count
	}}
}

func appendAll[C ~[]T, T any](col proto.ColumnOf[T], v []T) {
	c := any(col).(*C)
	*c = append(*c, v...)
}

func appendEach[T any](col proto.ColumnOf[T], v []T) {
	for _, x := range v {
		col.Append(x)
	}
}

// words is a column of strings that many rows share.
type words struct {
	*proto.ColLowCardinality[string]
}

func newWords() words { return words{new(proto.ColStr).LowCardinality()} }

// Reset empties the column and lets go of the strings, which may be parts of what is much larger than they are.
func (w words) Reset() {
	clear(w.Values)
	w.ColLowCardinality.Reset()
}
