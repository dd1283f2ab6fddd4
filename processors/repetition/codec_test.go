package repetition_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
)

// anySample is a text of any kind, looping or sound.
func anySample(r *rand.Rand) corpus.Sample {
	if k := r.IntN(len(corpus.Loops) + len(corpus.Sound)); k < len(corpus.Loops) {
		return corpus.Loops[k].Make(r)
	} else {
		return corpus.Sound[k-len(corpus.Loops)].Make(r)
	}
}

// TestHandOver: a stream that moves to another process in the middle gives the same events.
func TestHandOver(t *testing.T) {
	cfg := repetition.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		chunks := corpus.Chunks(anySample(r).Text, r)
		cut := r.IntN(len(chunks))
		a, b := repetition.New(&cfg), repetition.New(&cfg)
		for i, x := range chunks {
			ch := repetition.Channel(0)
			if i < len(chunks)/8 {
				ch = repetition.Reasoning
			}
			require.Equal(t, a.Write(ch, int64(i), x, nil), b.Write(ch, int64(i), x, nil))
			if i == cut {
				state, err := b.AppendBinary(nil)
				require.NoError(t, err)
				require.LessOrEqual(t, len(state), 7<<10)
				b = repetition.New(&cfg)
				require.NoError(t, b.UnmarshalBinary(state))
			}
		}
		require.Equal(t, a.Open(nil), b.Open(nil))
		require.Equal(t, a.Finish(repetition.FinishLimit, nil), b.Finish(repetition.FinishLimit, nil))
	})
}

// TestStateIsSmall: what is kept of an open stream, for stalls and loops together, is at most 8 kB.
func TestStateIsSmall(t *testing.T) {
	loops, stalls := unsafe.Sizeof(repetition.Detector{}), unsafe.Sizeof(stall.Tracker{})
	t.Logf("repetition %d B, stall %d B", loops, stalls)
	require.LessOrEqual(t, loops+stalls, uintptr(8<<10))
}

func FuzzUnmarshal(f *testing.F) {
	cfg := repetition.NewDefaultConfig()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 4))
		d := repetition.New(&cfg)
		for i, x := range corpus.Chunks(corpus.Loops[int(seed)*7].Make(r).Text, r) {
			d.Write(repetition.Channel(i%2), int64(i), x, nil)
		}
		b, _ := d.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := repetition.New(&cfg)
		if d.UnmarshalBinary(b) != nil {
			return
		}
		r := rand.New(rand.NewPCG(1, 4)) // any accepted state can go on
		for i, x := range corpus.Chunks(corpus.Loops[8].Make(r).Text, r) {
			d.Write(repetition.Channel(i%3), int64(i), x, nil)
		}
		d.Finish(repetition.FinishLimit, nil)
	})
}

// FuzzWrite feeds any text in any pieces: no panic, findings within the text, and the same answer however
// the text is cut, but for chunk numbers.
func FuzzWrite(f *testing.F) {
	f.Add("ab", uint16(300), uint8(3))
	f.Add("x\x00\xff\n", uint16(900), uint8(1))
	f.Add("书店 ", uint16(100), uint8(9))
	f.Fuzz(func(t *testing.T, unit string, n uint16, step uint8) {
		cfg := repetition.NewDefaultConfig()
		d := repetition.New(&cfg)
		var c collector
		total := int64(0)
		for i := range int64(min(n, 2000)) {
			if len(unit) > 400 {
				unit = unit[:400]
			}
			c.take(d.Write(repetition.Channel(step)%3, i, unit, nil))
			total += int64(len([]rune(unit)))
		}
		c.take(d.Finish(repetition.Finish(step)%4, nil))
		for _, x := range c.list {
			e := x.Evidence
			require.GreaterOrEqual(t, e.StartChar, int64(0))
			require.Positive(t, e.PeriodChars)
			require.LessOrEqual(t, e.StartChar+e.Chars, total)
			require.GreaterOrEqual(t, x.Chunk, int64(0))
			require.LessOrEqual(t, x.Chunk, x.LastChunk)
			require.False(t, x.Open)
		}
	})
}
