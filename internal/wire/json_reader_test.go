package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// jsonValid is the oracle.
func jsonValid(b []byte) bool { return json.Valid(b) }

// extentAfterSkip is where the value that skip just read ended.
func (r *jsonReader) extentAfterSkip() int {
	return len(bytes.TrimRight(r.b[:r.i], " \t\r\n"))
}

func TestSkipAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune(`[]{}:,"\/u0123456789.eE+-truefalsn `+"\x01é")), 0, 24, -1).Draw(t, "json")
		r := jsonReader{b: []byte(s)}
		err := r.skip()
		require.Equal(t, json.Valid([]byte(s)), err == nil && r.peek() == 0 && r.i == len(s), "%q", s)
	})
}

func TestStrAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := `"` + rapid.StringOfN(rapid.RuneFrom([]rune(`ab\\\\nrtbf/u00d8dEe"é😀`)), 0, 30, -1).Draw(t, "s") + `"`
		var want string
		err := json.Unmarshal([]byte(in), &want)
		r := jsonReader{b: []byte(in)}
		got, defect, err1 := r.str()
		if err == nil {
			require.NoError(t, err1)
			require.Zero(t, defect&strMalformed)
			require.Equal(t, want, string(got))
		}
	})
}

func TestIntegerAgreesWithFloats(t *testing.T) {
	f := func(in string, round bool, want int64, problem string) {
		t.Helper()
		v, p := integer([]byte(in), round)
		require.Equal(t, problem, p, in)
		if problem == "" {
			require.Equal(t, want, v, in)
		}
	}
	f("9223372036854775807", false, 9223372036854775807, "")
	f("9223372036854775808", false, 0, "is out of range (9223372036854775808)")
	f("-9223372036854775808", false, -9223372036854775808, "")
	f("1760000000000000.0", false, 1760000000000000, "")
	f("1.76e15", false, 1760000000000000, "")
	f("1e16", false, 0, "is out of range (1e16)")
	f("1e308", false, 0, "is out of range (1e308)")
	f("1e999", true, 0, "is out of range (1e999)")
	f("-0", false, 0, "")
	f("0e99999", false, 0, "")
	f("0.5", true, 1, "")
	f("-0.5", true, -1, "")
	f("2.4999", true, 2, "")
	f("1e-9", false, 0, "is 1e-9")
	f("0."+strings.Repeat("0", 500)+"1", false, 0, "is 0.00000000000000000000000000000000000000…")
}
