package crosstier

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

// The gap between what was felt and what was measured names its largest part, and who is to blame for it where that is one.
func TestPerceivedGapNamesItsLargestPart(t *testing.T) {
	cfg := NewDefaultConfig()
	gap := func(parts []Part, visibility ...wire.VisibilityChange) (wire.Finding, map[string]any) {
		r := &Request{
			Tenant: "t", RequestID: "r", Attempt: 1, Parts: parts,
			Server: &wire.Stream{Tier: wire.TierServer, Attempt: 1, Final: true, FinishReason: "stop", Chunks: wire.Chunks{T: []int64{200_000, 250_000}, Bytes: []uint32{3, 3}}},
			Client: &wire.Client{Submit: wire.Some[int64](0), RequestSent: wire.Some[int64](1000), FirstPaint: wire.Some[int64](5_200_000), Visibility: visibility},
		}
		found, _ := Derive(r, &cfg)
		for _, f := range found {
			if f.Kind == wire.FindingPerceivedGap {
				var ev map[string]any
				require.NoError(t, json.Unmarshal(f.Evidence, &ev))
				return f, ev
			}
		}
		t.Fatal("no perceived gap")
		return wire.Finding{}, nil
	}
	f, ev := gap([]Part{{"page", 1000, 0}, {"gateway_queue", 4_900_000, 0}, {"network", 99_000, 0}})
	require.Equal(t, "gateway", f.Attribution)
	require.Equal(t, "gateway_queue", ev["largest_part"])
	require.EqualValues(t, 4_900_000, ev["largest_part_us"])

	f, ev = gap([]Part{{"uplink", 2_600_000, 400_000}, {"downlink", 2_400_000, 400_000}})
	require.Equal(t, "unknown", f.Attribution, "it may be less than half")
	require.EqualValues(t, 400_000, ev["largest_part_uncertainty_us"])

	f, ev = gap([]Part{{"page", 5_000_000, 0}})
	require.Equal(t, "unknown", f.Attribution, "the application's own code is no tier")
	require.Equal(t, "page", ev["largest_part"])

	f, ev = gap(nil)
	require.Equal(t, "unknown", f.Attribution)
	require.NotContains(t, ev, "largest_part")

	f, ev = gap([]Part{{"render", 4_000_000, 0}}, wire.VisibilityChange{T: 500_000, Hidden: true}, wire.VisibilityChange{T: 3_500_000})
	require.Equal(t, "hidden", f.Attribution)
	require.EqualValues(t, 3_000_000, ev["hidden_us"])
}
