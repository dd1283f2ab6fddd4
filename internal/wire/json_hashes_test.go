package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Hashes come as hexadecimal strings or as arrays of token ids, and are kept only where text would be.
func TestHashesInPlaceOfText(t *testing.T) {
	decode := func(keep bool, hashes string) (*Stream, []ItemError) {
		o := NewDefaultDecodeOptions()
		o.KeepText = keep
		list, errs := DecodeStreams([]byte(`{"request_id":"r","started_at":1760000000000000,"chunks":{"t":[1,2,3],"hashes":`+hashes+`}}`), o)
		if len(list) == 0 {
			return nil, errs
		}
		return &list[0], errs
	}
	s, errs := decode(true, `["0a FFFFFFFFFFFFFFFF","",[17,255]]`)
	require.Empty(t, errs)
	require.Equal(t, []string{"0a FFFFFFFFFFFFFFFF", "", "11 ff"}, s.Chunks.Hashes)
	again, errs := DecodeStreams(AppendStreamJSON(nil, s), DecodeOptions{Limits: NewDefaultLimits(), MaxItems: 1, KeepText: true})
	require.Empty(t, errs)
	require.Equal(t, s.Chunks.Hashes, again[0].Chunks.Hashes)

	s, errs = decode(false, `["0a","",[17]]`)
	require.Empty(t, errs)
	require.Empty(t, s.Chunks.Hashes)

	for _, bad := range []string{
		`["the ferry","",""]`, `["0a  0b","",""]`, `[" 0a","",""]`, `["0a ","",""]`, `["11112222333344445","",""]`, `[[-1],"",""]`, `[[1.5],"",""]`,
		`[["a"],"",""]`, `[1,2,3]`, `"0a"`,
	} {
		_, errs := decode(true, bad)
		require.Len(t, errs, 1, bad)
		require.ErrorContains(t, errs[0].Err, "hashes", bad)
		require.NotContains(t, errs[0].Err.Error(), "ferry", bad)
	}
}
