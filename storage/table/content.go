package table

import (
	"encoding/binary"
	"math"
	"reflect"
)

// AppendContent appends an encoding of row's columns to dst, but for those tagged `rank:"-"`. Two rows have
// equal encodings only if these columns are equal, so its hash can rank deliveries of one identity.
func (t *Table[R]) AppendContent(dst []byte, row *R) []byte {
	v := reflect.ValueOf(row).Elem()
	for i := range t.cols {
		if c := &t.cols[i]; c.ranked {
			dst = appendValue(dst, v.FieldByIndex(c.field))
		}
	}
	return dst
}

func appendValue(dst []byte, v reflect.Value) []byte {
	switch p := v.Addr().Interface().(type) {
	case *string:
		return appendString(dst, *p)
	case *bool:
		return appendBool(dst, *p)
	case *Opt[uint32]:
		return appendOpt(dst, p.OK, uint64(p.V))
	case *Opt[uint64]:
		return appendOpt(dst, p.OK, p.V)
	case *Opt[int64]:
		return appendOpt(dst, p.OK, uint64(p.V)) //nolint:gosec // bits only
	case *[]bool:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = appendBool(dst, x)
		}
	case *[]uint16:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = binary.LittleEndian.AppendUint16(dst, x)
		}
	case *[]uint32:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = binary.LittleEndian.AppendUint32(dst, x)
		}
	case *[]uint64:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = binary.LittleEndian.AppendUint64(dst, x)
		}
	case *[]int32:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(x)) //nolint:gosec // bits only
		}
	case *[]float32:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	case *[]string:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			dst = appendString(dst, x)
		}
	case *[]*int64:
		dst = appendLen(dst, len(*p))
		for _, x := range *p {
			if x == nil {
				dst = appendOpt(dst, false, 0)
				continue
			}
			dst = appendOpt(dst, true, uint64(*x)) //nolint:gosec // bits only
		}
	default:
		if v.CanInt() {
			return binary.LittleEndian.AppendUint64(dst, uint64(v.Int())) //nolint:gosec // bits only
		}
		return binary.LittleEndian.AppendUint64(dst, v.Uint())
	}
	return dst
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
