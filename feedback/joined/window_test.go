package joined_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/feedback/joined"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/requests"
)

// What a page alone tells of lies in the same window as its request, whatever its clock says.
func TestFindingsOfAPageAreWhereItsRequestIs(t *testing.T) {
	const noon, sec = int64(1_790_000_000_000_000), int64(1_000_000)
	for _, off := range []int64{-3000 * 60 * sec, -1800 * sec, 0, 2820 * sec} {
		c := wire.Client{
			RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon + off, ClockNow: wire.Some(9 * sec), WallNow: noon + off + 9*sec,
			ReceivedAt: noon + 9*sec, Submit: wire.Some(sec), RequestSent: wire.Some(sec), Done: wire.Some(7 * sec), Final: true,
		}
		for k := range int64(40) {
			at := 2*sec + k*20_000
			if k > 20 {
				at += 3 * sec
			}
			c.Recv.T, c.Recv.Bytes = append(c.Recv.T, at), append(c.Recv.Bytes, 5)
			c.Paint.T, c.Paint.Bytes = append(c.Paint.T, at+9000), append(c.Paint.Bytes, 5)
		}
		c.FirstPaint = wire.Some(2*sec + 9000)
		r := requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{c}})
		cfg := crosstier.NewDefaultConfig()
		found, _ := joined.Derive(r, nil, &cfg)
		require.NotEmpty(t, found)
		for i := range found {
			require.Equal(t, r.Summary().StartedAt, found[i].StartedAt)
			require.Equal(t, noon+sec, found[i].StartedAt)
		}
	}
}
