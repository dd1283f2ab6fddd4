package api

import (
	"encoding/json"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestControlsAreEscaped(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		require.Equal(t, want, string(escapeControls([]byte(in))))
	}
	f(`{"a":"plain é 😀 – ß"}`, `{"a":"plain é 😀 – ß"}`)
	f("\"\u009b31m\u007f\"", `"\u009b31m\u007f"`)
	f("\"\u202egnp \u200f \u061c م\"", `"\u202egnp \u200f \u061c م"`)
	f("", "")
	f("\xc2", "\xc2")
	f("\xe2\x80", "\xe2\x80")
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s") + rapid.StringOf(rapid.RuneFrom([]rune("\u007f\u009b\u202e\u0080é…م"))).Draw(t, "more")
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var same string
		require.NoError(t, json.Unmarshal(b, &same)) // what is not UTF-8 was replaced
		out := escapeControls(b)
		var got string
		require.NoError(t, json.Unmarshal(out, &got))
		require.Equal(t, same, got)
		for _, r := range string(out) {
			require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%U", r)
		}
	})
}
