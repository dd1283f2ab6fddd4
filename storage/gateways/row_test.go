package gateways_test

import (
	"fmt"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/internal/schematest"
	"github.com/fermata-io/fermata/storage/internal/wiretest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestRowIsTheTable(t *testing.T) { schematest.Columns(t, schematest.New(t), gateways.Table) }

// What goes in comes out: record → row → engine → row → record.
func TestRoundTripThroughTheEngine(t *testing.T) {
	db := schematest.New(t)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(wiretest.Gateway), 1, 20).Draw(t, "records")
		batch := gateways.Table.NewBatch()
		ids := make([]string, len(want))
		for i := range want {
			ids[i] = fmt.Sprintf("%d-%s", i, rapid.StringMatching("[a-z0-9]{16}").Draw(t, "unique"))
			want[i].RequestID = ids[i]
			row := gateways.FromWire(&want[i])
			batch.Append(&row)
		}
		db.Insert(t, batch)
		got := map[string]wire.Gateway{}
		for _, row := range schematest.All(t, db, gateways.Table, "request_id IN {ids:Array(String)}", clickhouse.Named("ids", ids)) {
			got[row.RequestID] = row.ToWire()
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, want[i], got[ids[i]])
		}
	})
}
