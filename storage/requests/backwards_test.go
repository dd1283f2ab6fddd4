package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// A page that tells of an answer before it asked is a conflict, and no number follows from it.
func TestPageTimesThatCantBe(t *testing.T) {
	page := wire.Client{
		RequestID: "r", Tenant: "default", SessionID: "s", TimeOrigin: noon, Final: true, ReceivedAt: noon + 20*sec,
		Submit: wire.Some(10 * sec), Headers: wire.Some(11 * sec), FirstPaint: wire.Some(12 * sec), Done: wire.Some(9 * sec),
		Recv: wire.Chunks{T: []int64{11 * sec, 12 * sec}, Bytes: []uint32{1, 1}},
	}
	assemble := func(c wire.Client) *requests.Request {
		return requests.Assemble("default", "r", requests.Records{Clients: []wire.Client{c}})
	}
	r := assemble(page)
	require.Len(t, r.Conflicts, 1)
	require.Equal(t, requests.ConflictClock, r.Conflicts[0].Kind)
	require.Equal(t, []int64{10 * sec, 9 * sec}, r.Conflicts[0].Evidence)
	require.Equal(t, requests.StateCompleted, r.Client.State)
	require.Nil(t, r.Client.EndUS)
	require.EqualValues(t, 2*sec, *r.Perceived.TTFTUS, "what can be stays")
	require.Empty(t, r.ClockRows(), "no other request goes by such a clock")

	page.Recv.T = []int64{8 * sec, 9 * sec}
	r = assemble(page)
	require.Equal(t, []int64{10 * sec, 8 * sec}, r.Conflicts[0].Evidence)
	require.Nil(t, r.Client.TTFTUS)
	require.Nil(t, r.Client.Chunks)

	page.Done, page.Recv.T = wire.Some(13*sec), []int64{10*sec - 500, 12 * sec}
	require.Empty(t, assemble(page).Conflicts, "a coarse clock is none")
}
