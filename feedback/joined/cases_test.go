package joined_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/feedback/joined"
	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/requests"
)

const base = int64(1_780_000_000_000_000)

// What each request of the cases with several tiers shows through the real join; the numbers are crosstier's own tests.
func TestCasesThroughTheJoin(t *testing.T) {
	list, err := corpus.LoadCases("../../processors/testdata/cases.jsonl")
	require.NoError(t, err)
	want := map[string]map[string][]string{
		"S09": {"r1": {"stall"}}, "B01": {"r1": {"buffering"}}, "B03": {"r1": {"buffering"}}, "B07": {"r1": {"idle_drop"}}, "B08": {"r1": {"idle_drop"}},
		"T08": {"r1": {"clock_conflict"}}, "U03": {"old-1": {}, "new-1": {"buffering"}}, "R01": {"id-7": {"id_conflict"}}, "R03": {"r1": {}},
		"K02": {"r1": {"clock_conflict"}}, "K05": {"r1": {}}, "V01": {"r1": {}}, "V03": {"r1": {}}, "P01": {"r1": {"render_lag"}}, "P03": {"r1": {"render_lag"}},
		"W01": {"r1": {}}, "W03": {"r1": {}}, "A01": {"r1": {"cancel_waste"}}, "A02": {"r1": {"cancel_waste"}}, "A03": {"r1": {"cancel_waste"}}, "A06": {"r1": {}},
	}
	cfg := crosstier.NewDefaultConfig()
	for i := range list {
		c := &list[i]
		for id, kinds := range want[c.ID] {
			t.Run(c.ID+" "+id, func(t *testing.T) {
				rec := c.Play("", base)
				var own requests.Records
				for _, s := range rec.Streams {
					if s.RequestID == id {
						own.Streams = append(own.Streams, s)
					}
				}
				for _, g := range rec.Gateways {
					if g.RequestID == id {
						own.Gateways = append(own.Gateways, g)
					}
				}
				for _, p := range rec.Clients {
					if p.RequestID == id {
						own.Clients = append(own.Clients, p)
					}
				}
				r := requests.Assemble(wire.DefaultTenant, id, own)
				got := []string{}
				for _, f := range joined.Findings(r, nil, &cfg) {
					got = append(got, f.Kind)
					require.GreaterOrEqual(t, f.At(), base-1_000_000)
					require.Less(t, f.At(), base+500_000_000)
				}
				require.Equal(t, kinds, got)
			})
		}
	}
}
