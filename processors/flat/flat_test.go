package flat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/processors/flat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type state struct {
	a int64
	b uint8
	c bool
	d uint64
	e [3]byte
	f [2]uint16
}

func (s *state) fields(c *flat.Coder) {
	flat.Int(c, &s.a)
	flat.Int(c, &s.b)
	c.Bool(&s.c)
	c.Uint64(&s.d)
	c.Raw(s.e[:])
	c.Raw16(s.f[:])
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(-5), uint8(200), true, uint64(1<<63), []byte{0})
	f.Fuzz(func(t *testing.T, a int64, b uint8, flag bool, d uint64, raw []byte) {
		in := state{a: a, b: b, c: flag, d: d, e: [3]byte{b, 1, 2}, f: [2]uint16{uint16(b), 9}}
		w := flat.Writer(nil)
		in.fields(w)
		var out state
		r := flat.Reader(w.Bytes())
		out.fields(r)
		require.True(t, r.Complete())
		require.Equal(t, in, out)

		short := flat.Reader(w.Bytes()[:len(w.Bytes())-1])
		out.fields(short)
		require.False(t, short.Complete())

		any := flat.Reader(raw) // whatever comes: no panic
		out.fields(any)
	})
}
