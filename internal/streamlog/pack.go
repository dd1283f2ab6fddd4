package streamlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
)

// ErrTruncated is returned for a packed array that ends inside a value.
var ErrTruncated = errors.New("packed array is truncated")

// ErrTooMany is returned for a packed array with more entries than allowed.
var ErrTooMany = errors.New("packed array has too many entries")

// PackOffsets appends ascending offsets as differences.
func PackOffsets(dst []byte, t []int64) []byte {
	prev := int64(0)
	for _, v := range t {
		d := uint64(v - prev) //nolint:gosec // ascending, checked by Validate
		prev = v
		if d >= 1<<14 && d < 1<<21 { // as nearly every gap
			dst = append(dst, byte(d)|0x80, byte(d>>7)|0x80, byte(d>>14)) //nolint:gosec // the lowest bits
			continue
		}
		dst = binary.AppendUvarint(dst, d)
	}
	return dst
}

// UnpackOffsets appends what PackOffsets wrote to dst, which is empty, and returns nil for no entries.
func UnpackOffsets(dst []int64, b []byte, most int) ([]int64, error) {
	n, err := countVarints(b, most)
	if err != nil || n == 0 {
		return nil, err
	}
	out := slices.Grow(dst, n)[:n]
	sum := int64(0)
	for i := range out {
		// Nearly every gap takes two or three bytes, 128 µs to 2 s, now this and now that: no branch between them.
		if len(b) >= 4 && sum < math.MaxInt64-1<<21 {
			x := binary.LittleEndian.Uint32(b)
			if x&0x80 != 0 && x&0x808000 != 0x808000 {
				third := x >> 15 & 1
				sum += int64(x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000&-third)
				out[i] = sum
				b = b[2+third:]
				continue
			}
		}
		v, k := uvarint(b)
		if k <= 0 {
			return nil, ErrTruncated
		}
		if v > math.MaxInt64-uint64(sum) {
			return nil, fmt.Errorf("entry %d overflows", i)
		}
		sum += int64(v) //nolint:gosec // bounded above
		out[i] = sum
		b = b[k:]
	}
	return out, nil
}

// PackUints appends numbers as varints.
func PackUints(dst []byte, v []uint32) []byte {
	for _, x := range v {
		dst = binary.AppendUvarint(dst, uint64(x))
	}
	return dst
}

// UnpackUints appends what PackUints wrote to dst, which is empty, and returns nil for no entries.
func UnpackUints(dst []uint32, b []byte, most int) ([]uint32, error) {
	n, err := countVarints(b, most)
	if err != nil || n == 0 {
		return nil, err
	}
	out := slices.Grow(dst, n)[:n]
	for i := range out {
		v, k := uvarint(b)
		if k <= 0 {
			return nil, ErrTruncated
		}
		if v > math.MaxUint32 {
			return nil, fmt.Errorf("entry %d is larger than 32 bits", i)
		}
		out[i] = uint32(v)
		b = b[k:]
	}
	return out, nil
}

// PackKinds appends kinds as runs.
func PackKinds(dst []byte, kinds []wire.Kind) []byte {
	for i := 0; i < len(kinds); {
		j := i + 1
		for j < len(kinds) && kinds[j] == kinds[i] {
			j++
		}
		dst = append(dst, byte(kinds[i]))
		dst = binary.AppendUvarint(dst, uint64(j-i)) //nolint:gosec // positive
		i = j
	}
	return dst
}

// UnpackKinds appends what PackKinds wrote to dst, which is empty.
func UnpackKinds(dst []wire.Kind, b []byte, most int) ([]wire.Kind, error) {
	out := dst
	for len(b) > 0 {
		kind := wire.Kind(b[0])
		n, k := uvarint(b[1:])
		if k <= 0 {
			return nil, ErrTruncated
		}
		if n > uint64(most-len(out)) { //nolint:gosec // never negative: most bounds out
			return nil, ErrTooMany
		}
		for range n {
			out = append(out, kind)
		}
		b = b[1+k:]
	}
	return out, nil
}

// PackChoices appends choice indexes as runs.
func PackChoices(dst []byte, v []uint16) []byte {
	for i := 0; i < len(v); {
		j := i + 1
		for j < len(v) && v[j] == v[i] {
			j++
		}
		dst = binary.AppendUvarint(dst, uint64(v[i]))
		dst = binary.AppendUvarint(dst, uint64(j-i)) //nolint:gosec // positive
		i = j
	}
	return dst
}

// UnpackChoices appends what PackChoices wrote to dst, which is empty.
func UnpackChoices(dst []uint16, b []byte, most int) ([]uint16, error) {
	out := dst
	for len(b) > 0 {
		v, k := uvarint(b)
		if k <= 0 {
			return nil, ErrTruncated
		}
		n, m := uvarint(b[k:])
		if m <= 0 {
			return nil, ErrTruncated
		}
		if v > math.MaxUint16 {
			return nil, fmt.Errorf("choice %d is larger than 16 bits", v)
		}
		if n > uint64(most-len(out)) { //nolint:gosec // never negative: most bounds out
			return nil, ErrTooMany
		}
		for range n {
			out = append(out, uint16(v))
		}
		b = b[k+m:]
	}
	return out, nil
}

func packFloats(dst []byte, v []float32) []byte {
	for _, f := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst
}

func unpackFloats(dst []float32, b []byte, most int) ([]float32, error) {
	if len(b)%4 != 0 {
		return nil, ErrTruncated
	}
	if len(b)/4 > most {
		return nil, ErrTooMany
	}
	out := slices.Grow(dst, len(b)/4)
	for ; len(b) > 0; b = b[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out, nil
}

// Entries counts the varints of a packed array by their last bytes.
func Entries(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b) & 0x8080808080808080)
	}
	for _, c := range b {
		n += int(^c >> 7)
	}
	return n
}

// countVarints counts the values, so that the result can be sized once.
func countVarints(b []byte, most int) (int, error) {
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		return 0, ErrTruncated
	}
	n := Entries(b)
	if n > most {
		return 0, ErrTooMany
	}
	return n, nil
}

// uvarint is binary.Uvarint with the cases of one and two bytes in front, which most sizes and counts take.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if len(b) > 1 && b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	return binary.Uvarint(b)
}
