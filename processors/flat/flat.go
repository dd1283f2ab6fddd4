// Package flat writes and reads the states of detectors: their fields in one order, as varints and byte
// strings, by one function for both directions.
package flat

import (
	"encoding/binary"
	"math"
)

// Coder walks the fields of a state. The zero value writes; Reader makes one that reads.
type Coder struct {
	buf     []byte
	reading bool
	bad     bool
}

// Writer makes a Coder that appends to b.
func Writer(b []byte) *Coder { return &Coder{buf: b} }

// Reader makes a Coder that reads b.
func Reader(b []byte) *Coder { return &Coder{buf: b, reading: true} }

// Bytes returns what was written.
func (c *Coder) Bytes() []byte { return c.buf }

// Complete reports whether everything could be read and nothing is left.
func (c *Coder) Complete() bool { return !c.bad && len(c.buf) == 0 }

// Fail marks the input as damaged.
func (c *Coder) Fail() { c.bad, c.buf = true, nil }

// Int writes or reads an integer that an int64 can hold.
func Int[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](c *Coder, v *T) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, int64(*v))
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 || int64(T(x)) != x {
		c.Fail()
		*v = 0
		return
	}
	*v, c.buf = T(x), c.buf[n:]
}

// Uint64 writes or reads eight bytes.
func (c *Coder) Uint64(v *uint64) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, *v)
		return
	}
	if len(c.buf) < 8 {
		c.Fail()
		return
	}
	*v, c.buf = binary.LittleEndian.Uint64(c.buf), c.buf[8:]
}

// Bool writes or reads a truth value.
func (c *Coder) Bool(v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	Int(c, &b)
	if b > 1 {
		c.Fail()
	}
	*v = b == 1
}

// Raw writes or reads bytes of a known length.
func (c *Coder) Raw(v []byte) {
	if !c.reading {
		c.buf = append(c.buf, v...)
		return
	}
	if len(c.buf) < len(v) {
		c.Fail()
		return
	}
	copy(v, c.buf)
	c.buf = c.buf[len(v):]
}

// Raw16 writes or reads 16-bit words of a known number.
func (c *Coder) Raw16(v []uint16) {
	for i := range v {
		var b [2]byte
		binary.LittleEndian.PutUint16(b[:], v[i])
		c.Raw(b[:])
		v[i] = binary.LittleEndian.Uint16(b[:])
	}
}

// Float writes or reads a floating-point number; a NaN is refused.
func Float(c *Coder, v *float64) {
	b := math.Float64bits(*v)
	c.Uint64(&b)
	if *v = math.Float64frombits(b); *v != *v {
		*v = 0
		c.Fail()
	}
}
