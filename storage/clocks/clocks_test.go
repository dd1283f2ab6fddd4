package clocks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/clocks"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/table"
)

func TestColumnsAreThoseOfTheTable(t *testing.T) {
	storagetest.Columns(t, storagetest.New(t), clocks.Table)
}

func TestRowsGoThereAndBack(t *testing.T) {
	db := storagetest.New(t)
	want := clocks.Row{
		Tenant: "default", SessionID: "s", TimeOrigin: 5, SubmitUS: 7, RequestID: "r", Tier: "server", Version: 3, Peer: "vllm\x00gpu-1",
		StartedAt: table.Micros(start), ThetaUS: -9, LowerAtUS: []uint64{0}, LowerUS: []int32{0}, UpperAtUS: []uint64{5, 8}, UpperUS: []int32{4, -2},
		WallUS: table.Some(int64(-1)),
	}
	b := clocks.Table.NewBatch()
	b.Append(&want)
	db.Insert(t, b)
	got := storagetest.All(t, db, clocks.Table, "session_id = 's'")
	require.Equal(t, []clocks.Row{want}, got)
}
