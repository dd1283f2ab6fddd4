package repetition_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
)

// zFunction returns, for each place, how far the text from there equals its beginning (D. Gusfield,
// "Algorithms on Strings, Trees, and Sequences", 1997, section 1.3).
func zFunction(s []rune) []int {
	z := make([]int, len(s))
	for i, l, r := 1, 0, 0; i < len(s); i++ {
		if i < r {
			z[i] = min(r-i, z[i-l])
		}
		for i+z[i] < len(s) && s[z[i]] == s[i+z[i]] {
			z[i]++
		}
		if i+z[i] > r {
			l, r = i, i+z[i]
		}
	}
	return z
}

// tailPeriod is the shortest period that the end of a text has for at least copies copies and least
// characters, and the length of that end; 0: none.
func tailPeriod(s []rune, copies float64, least int) (period, length int) {
	rev := make([]rune, len(s))
	for i, c := range s {
		rev[len(s)-1-i] = c
	}
	z := zFunction(rev)
	for p := 1; p <= len(s)/2; p++ {
		if l := z[p] + p; float64(l) >= copies*float64(p) && l >= least {
			return p, l
		}
	}
	return 0, 0
}

// TestExactAgainstZFunction: every exact loop that is told is one, and every long one at the end is told,
// with its period and, to the character, its start.
func TestExactAgainstZFunction(t *testing.T) {
	alphabets := []string{"ab", "abc \n", "abcdefghijklmnopqrstuvwxyz    ", "ACGT", "0123456789, ", "书店城海，。", "<>/div=\" "}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		alphabet := []rune(alphabets[r.IntN(len(alphabets))])
		word := func(n int) string {
			b := make([]rune, n)
			for i := range b {
				b[i] = alphabet[r.IntN(len(alphabet))]
			}
			return string(b)
		}
		p := 1 + r.IntN(380)
		text := corpus.Prose(r, 2) + " | " + word(r.IntN(300)) + " | " + strings.Repeat(word(p), 4+500/p) + word(0)
		runes := []rune(text)
		got := play(text, true, r)
		for _, f := range got.list {
			e := f.Evidence
			if e.Match != repetition.Exact {
				continue
			}
			for i := e.StartChar + e.PeriodChars; i < e.StartChar+e.Chars; i++ {
				require.Equal(t, runes[i-e.PeriodChars], runes[i], "place %d of %+v", i, e)
			}
		}
		want, length := tailPeriod(runes, 4, 500)
		require.NotZero(t, want)
		require.Len(t, got.list, 1, "%q", tail(text, 200))
		e := got.list[0].Evidence
		require.True(t, e.ToEnd)
		if e.Match != repetition.Exact || e.PeriodChars > 380 {
			return // told by words from a little earlier on
		}
		require.EqualValues(t, want, e.PeriodChars)
		require.InDelta(t, len(runes)-length, e.StartChar, 3)
	})
}

// TestLongPeriods: periods beyond what is followed by characters, up to several thousand.
func TestLongPeriods(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		unit := corpus.Prose(r, 8+r.IntN(28)) + "\n\n"
		text := corpus.Prose(r, 3) + "\n\n" + strings.Repeat(unit, 4)
		got := play(text, true, r)
		require.Len(t, got.list, 1)
		require.EqualValues(t, len(unit), got.list[0].Evidence.PeriodChars)
		require.EqualValues(t, 4, got.list[0].Evidence.Repeats)
	}
}

// TestHashes: loops are found in keyed hashes of words, without a text.
func TestHashes(t *testing.T) {
	cfg := repetition.NewDefaultConfig()
	for _, span := range []int{1, 2, 7, 40, 300} {
		d := repetition.New(&cfg)
		var c collector
		r := rand.New(rand.NewPCG(uint64(span), 7))
		chunk := int64(0)
		write := func(h uint64) {
			c.take(d.WriteHashes(repetition.Content, chunk, []uint64{h}, nil))
			chunk++
		}
		for range 100 {
			write(r.Uint64N(500))
		}
		require.Empty(t, c.list)
		unit := make([]uint64, span)
		for i := range unit {
			unit[i] = r.Uint64()
		}
		for range 30 + 5*span {
			write(unit[(chunk-100)%int64(span)])
		}
		c.take(d.Finish(repetition.FinishLimit, nil))
		require.Len(t, c.list, 1)
		e := c.list[0].Evidence
		require.True(t, e.Words)
		require.EqualValues(t, span, e.PeriodChars)
		require.InDelta(t, 100, c.list[0].Chunk, 1)
	}
}

// TestChannelsAreApart: a loop in one channel is told there; what comes between in another doesn't hide it.
func TestChannelsAreApart(t *testing.T) {
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	var c collector
	r := rand.New(rand.NewPCG(1, 8))
	chunk := int64(0)
	for range 60 {
		c.take(d.Write(repetition.Content, chunk, " "+corpus.Sentence(r), nil))
		c.take(d.Write(repetition.Tool, chunk+1, "line done. ", nil))
		chunk += 2
	}
	require.Len(t, d.Open(nil), 1)
	c.take(d.Finish(repetition.FinishLimit, nil))
	require.Len(t, c.list, 1)
	require.Equal(t, repetition.Tool, c.list[0].Channel)
	require.EqualValues(t, 1, c.list[0].Chunk)
}

// TestEngineVerdict: where the engine says loop, less is needed.
func TestEngineVerdict(t *testing.T) {
	text := "The answer is: open the door, open the door, open the door, "
	r := rand.New(rand.NewPCG(1, 9))
	require.Empty(t, play(text, true, r).list)
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	var c collector
	for i, x := range corpus.Chunks(text, r) {
		c.take(d.Write(repetition.Content, int64(i), x, nil))
	}
	c.take(d.Finish(repetition.FinishRepetition, nil))
	require.Len(t, c.list, 1)
	require.True(t, c.list[0].Evidence.HitLimit)
}

// TestLoopThatIsLeft: a raised loop that the text leaves again is withdrawn, a very long one stays.
func TestLoopThatIsLeft(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	unit := " " + corpus.Sentence(r)
	p := play(corpus.Prose(r, 3)+strings.Repeat(unit, 6)+" "+corpus.Prose(r, 20), false, r)
	require.Empty(t, p.list)
	require.Len(t, p.withdrawn, 1)
	p = play(corpus.Prose(r, 3)+strings.Repeat(unit, 60)+" "+corpus.Prose(r, 20), false, r)
	require.Len(t, p.list, 1)
	require.False(t, p.list[0].Evidence.ToEnd)
	require.False(t, p.list[0].Open)
	require.InDelta(t, 60, p.list[0].Evidence.Repeats, 1)
}
