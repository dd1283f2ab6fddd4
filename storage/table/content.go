package table

import (
	"encoding/binary"
	"reflect"
	"unsafe"
)

// AppendContent appends an encoding of row's columns to dst, but for those tagged `rank:"-"`. Two rows have
// equal encodings only if these columns are equal, so its hash can rank deliveries of one identity.
func (t *Table[R]) AppendContent(dst []byte, row *R) []byte {
	p := unsafe.Pointer(row) //nolint:gosec // offsets are those of R, see Of
	for i := range t.parts {
		dst = t.parts[i].content(dst, unsafe.Add(p, t.parts[i].offset))
	}
	return dst
}

// contentOf returns the encoder of a field of a type that codec knows.
func contentOf(t reflect.Type) func(dst []byte, field unsafe.Pointer) []byte {
	switch reflect.New(t).Interface().(type) {
	case *string:
		return func(dst []byte, f unsafe.Pointer) []byte { return appendString(dst, *at[string](f)) }
	case *bool:
		return func(dst []byte, f unsafe.Pointer) []byte { return appendBool(dst, *at[bool](f)) }
	case *uint16:
		return number[uint16]
	case *uint32:
		return number[uint32]
	case *uint64:
		return number[uint64]
	case *int32:
		return number[int32]
	case *int64, *Micros:
		return number[int64]
	case *Opt[uint32]:
		return optional[uint32]
	case *Opt[uint64]:
		return optional[uint64]
	case *Opt[int64]:
		return optional[int64]
	case *[]bool:
		return list(appendBool)
	case *[]uint16:
		return raw[uint16]
	case *[]uint32:
		return raw[uint32]
	case *[]uint64:
		return raw[uint64]
	case *[]int32:
		return raw[int32]
	case *[]float32:
		return raw[float32]
	case *[]string:
		return list(appendString)
	case *[]*int64:
		return list(func(dst []byte, v *int64) []byte {
			if v == nil {
				return appendOpt(dst, false, 0)
			}
			return appendOpt(dst, true, uint64(*v)) //nolint:gosec // bits only
		})
	}
	panic("table: no content of " + t.String()) // codec refuses it first
}

func number[T uint16 | uint32 | uint64 | int32 | int64](dst []byte, f unsafe.Pointer) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(*at[T](f)))
}

func optional[T uint32 | uint64 | int64](dst []byte, f unsafe.Pointer) []byte {
	o := at[Opt[T]](f)
	return appendOpt(dst, o.OK, uint64(o.V))
}

func list[T any](one func([]byte, T) []byte) func([]byte, unsafe.Pointer) []byte {
	return func(dst []byte, f unsafe.Pointer) []byte {
		v := *at[[]T](f)
		dst = appendLen(dst, len(v))
		for _, x := range v {
			dst = one(dst, x)
		}
		return dst
	}
}

// raw appends a list as it lies in memory, which is little-endian: so ClickHouse's columns want it, too.
func raw[T uint16 | uint32 | uint64 | int32 | float32](dst []byte, f unsafe.Pointer) []byte {
	v := *at[[]T](f)
	dst = appendLen(dst, len(v))
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))...) //nolint:gosec // numbers have no padding
}

func appendLen(dst []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(n)) //nolint:gosec // bounded by the body's size
}

func appendString(dst []byte, s string) []byte { return append(appendLen(dst, len(s)), s...) }

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendOpt(dst []byte, ok bool, v uint64) []byte {
	if !ok {
		return append(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(append(dst, 1), v)
}
