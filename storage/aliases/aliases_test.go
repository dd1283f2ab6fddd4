package aliases_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/aliases"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// Names of all tiers' records come back as they were written.
func TestRoundTripThroughTheEngine(t *testing.T) {
	db := storagetest.New(t)
	storagetest.Columns(t, db, aliases.Table)
	batch := aliases.Table.NewBatch()
	var want []aliases.Row
	for i := range 100 {
		s := rapid.Custom(wiretest.Stream).Example(i)
		g := rapid.Custom(wiretest.Gateway).Example(i)
		c := rapid.Custom(wiretest.Client).Example(i)
		s.RequestID, g.RequestID = fmt.Sprint("s", i), fmt.Sprint("g", i)
		if c.RequestID != "" {
			c.RequestID = fmt.Sprint("c", i)
		}
		want = aliases.AppendClient(aliases.AppendGateway(aliases.AppendStream(want, &s), &g), &c)
	}
	require.NotEmpty(t, want)
	for i := range want {
		batch.Append(&want[i])
	}
	db.Insert(t, batch)
	require.ElementsMatch(t, distinct(want), distinct(storagetest.All(t, db, aliases.Table, "1")))
}

func distinct(rows []aliases.Row) (out []aliases.Row) {
	seen := map[aliases.Row]bool{}
	for _, r := range rows {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return out
}

func TestNamesOfARecord(t *testing.T) {
	for _, c := range []struct {
		name   string
		record wire.Stream
		want   []aliases.Row
	}{
		{"none", wire.Stream{RequestID: "r"}, nil},
		{"its own id is no other name", wire.Stream{RequestID: "r", ResponseID: "r", TraceID: "r", Aliases: []string{"r"}}, nil},
		{"each name once, by its best kind", wire.Stream{RequestID: "r", ResponseID: "a", TraceID: "t", Aliases: []string{"a", "t", "x"}}, []aliases.Row{
			{RequestID: "r", Alias: "a", Kind: aliases.KindResponse},
			{RequestID: "r", Alias: "t", Kind: aliases.KindTrace},
			{RequestID: "r", Alias: "x", Kind: aliases.KindOther},
		}},
	} {
		require.Equal(t, c.want, aliases.AppendStream(nil, &c.record), c.name)
	}
	require.Empty(t, aliases.AppendClient(nil, &wire.Client{ResponseID: "a"}), "without a request there is nothing to find")
}
