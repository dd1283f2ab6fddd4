package table

import (
	"strconv"
	"unicode/utf8"
	"unsafe"
)

type integer interface {
	uint16 | uint32 | uint64 | int32 | int64
}

func putInt[T integer](dst []byte, v T) []byte {
	if v < 0 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

func getInt[T integer](r *reader) T {
	neg, u := r.integer()
	v := T(u)
	if neg {
		v = -v
	}
	if !neg && (v < 0 || uint64(v) != u) || neg && (v > 0 || uint64(-v) != u) {
		r.bad = true // out of the type's range
	}
	return v
}

func putNumber[T integer](dst []byte, p unsafe.Pointer) []byte {
	if v := *at[T](p); v != 0 {
		dst = putInt(dst, v)
	}
	return dst
}

func getNumber[T integer](r *reader, p unsafe.Pointer) { *at[T](p) = getInt[T](r) }

func putOpt[T uint32 | uint64 | int64](dst []byte, p unsafe.Pointer) []byte {
	if o := at[Opt[T]](p); o.OK {
		dst = putInt(dst, o.V)
	}
	return dst
}

func getOpt[T uint32 | uint64 | int64](r *reader, p unsafe.Pointer) {
	*at[Opt[T]](p) = Some(getInt[T](r))
}

func putList[T any](one func([]byte, T) []byte) func([]byte, unsafe.Pointer) []byte {
	return func(dst []byte, p unsafe.Pointer) []byte {
		v := *at[[]T](p)
		if len(v) == 0 {
			return dst
		}
		for i, x := range v {
			c := byte(',')
			if i == 0 {
				c = '['
			}
			dst = one(append(dst, c), x)
		}
		return append(dst, ']')
	}
}

func getList[T any](one func(*reader) T) func(*reader, unsafe.Pointer) {
	return func(r *reader, p unsafe.Pointer) {
		var v []T
		r.list(func() { v = append(v, one(r)) })
		*at[[]T](p) = v
	}
}

func putBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

func putPointer(dst []byte, v *int64) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return putInt(dst, *v)
}

// putFloat writes NaN and the infinities, which JSON has not, as null.
func putFloat(dst []byte, v float32) []byte {
	if d := v - v; d != d {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
}

const hexDigits = "0123456789abcdef"

// putString writes bytes that are not UTF-8 as U+FFFD.
func putString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			v, n := utf8.DecodeRuneInString(s[i:])
			if v != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\ufffd"...)
		case c >= ' ':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func putText(dst []byte, p unsafe.Pointer) []byte {
	if s := *at[string](p); s != "" {
		dst = putString(dst, s)
	}
	return dst
}

func putTrue(dst []byte, p unsafe.Pointer) []byte {
	if *at[bool](p) {
		dst = append(dst, "true"...)
	}
	return dst
}
