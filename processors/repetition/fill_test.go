package repetition_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A word of one letter drawn out says as much as another word, a constant of a table or a test vector says less.
func TestWordsAndConstantsOfOneLetter(t *testing.T) {
	const head = "Here is the answer you were looking for, my friend. "
	told := func(unit string, chars int) bool {
		n := utf8.RuneCountInString(unit)
		return len(play(head+strings.Repeat(unit, (chars+n-1)/n), true, rand.New(rand.NewPCG(1, 13))).list) > 0
	}
	for _, unit := range []string{"hmmm ", "noooo ", "Brrrr ", "haha ", "gooooooooal! ", "Нееет "} {
		require.True(t, told(unit, 80), unit)
	}
	for _, unit := range []string{"zzz ", "ooo ", "aa "} {
		require.True(t, told(unit, 130), unit)
	}
	for _, unit := range []string{
		`fbffffffffffffffffffffffffffffff" +` + "\n\t\t\t\"",
		`00000000000000000000000000000001" +` + "\n\t\t\t\"",
		"0xffff, 0xffff,\n",
		"0 0 0 1 ",
		"\ufffd\ufffd\ufffd\ufffd\ufffd | ",
	} {
		require.False(t, told(unit, 200), unit)
		require.True(t, told(unit, 450), unit)
	}
}
