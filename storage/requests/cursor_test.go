package requests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzCursor(f *testing.F) {
	f.Add(position{at: 1_790_000_000_000_000, id: "r-1"}.cursor())
	f.Add("")
	f.Add("bm90IGEgY3Vyc29y")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(s)
		if err != nil {
			require.ErrorIs(t, err, ErrBadFilter)
			return
		}
		again, err := parseCursor(p.cursor())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
