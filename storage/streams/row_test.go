package streams_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
	"github.com/fermata-io/fermata/storage/streams"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestRowIsTheTable(t *testing.T) { storagetest.Columns(t, storagetest.New(t), streams.Table) }

// What goes in comes out: record → row → engine → row → record.
func TestRoundTripThroughTheEngine(t *testing.T) {
	db := storagetest.New(t)
	const records = 400
	draw := rapid.Custom(wiretest.Stream)
	want := make([]wire.Stream, records)
	batch := streams.Table.NewBatch()
	for i := range want {
		want[i] = draw.Example(i)
		want[i].RequestID = fmt.Sprintf("%d-%s", i, want[i].RequestID)
		var row streams.Row
		streams.FromWire(&want[i], &row)
		batch.Append(&row)
	}
	require.Equal(t, records, batch.Len())
	db.Insert(t, batch)
	got := map[string]wire.Stream{}
	for _, row := range storagetest.All(t, db, streams.Table, "1") {
		got[row.RequestID] = row.ToWire()
	}
	require.Len(t, got, records)
	for i := range want {
		require.Equal(t, want[i], got[want[i].RequestID])
	}
	storagetest.Computed(t, db, streams.Table)
}
