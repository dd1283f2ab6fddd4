package clients_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestRowIsTheTable(t *testing.T) { storagetest.Columns(t, storagetest.New(t), clients.Table) }

// What goes in comes out: record → row → engine → row → record.
func TestRoundTripThroughTheEngine(t *testing.T) {
	db := storagetest.New(t)
	const records = 400
	draw := rapid.Custom(wiretest.Client)
	want := make([]wire.Client, records)
	batch := clients.Table.NewBatch()
	for i := range want {
		want[i] = draw.Example(i)
		want[i].RequestID = fmt.Sprintf("%d-%s", i, want[i].RequestID)
		row := clients.FromWire(&want[i])
		batch.Append(&row)
	}
	require.Equal(t, records, batch.Len())
	db.Insert(t, batch)
	got := map[string]wire.Client{}
	for _, row := range storagetest.All(t, db, clients.Table, "1") {
		got[row.RequestID] = row.ToWire()
	}
	require.Len(t, got, records)
	for i := range want {
		require.Equal(t, want[i], got[want[i].RequestID])
	}
	storagetest.Computed(t, db, clients.Table)
}
