package requests_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/streams"
)

var update = flag.Bool("update", false, "rewrite testdata/snapshots")

// The final text of every query, for review. The other tests execute each of them.
func TestStatementSnapshots(t *testing.T) {
	for name, sql := range requests.Statements() {
		path := filepath.Join("testdata", "snapshots", name+".sql")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
			require.NoError(t, os.WriteFile(path, []byte(sql), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), sql, "run `go test ./storage/requests -run Snapshots -update` after review")
	}
}

func TestReadsCanNotWriteAndEndInTime(t *testing.T) {
	db := storagetest.New(t)
	ctx := requests.Limited(t.Context(), requests.NewDefaultReadLimits())
	require.ErrorContains(t, db.Conn.Exec(ctx, "TRUNCATE TABLE streams"), "readonly")
	for setting, want := range map[string]string{
		"max_execution_time": "10", "max_memory_usage": "1073741824", "log_comment": "fermata.list",
	} {
		var got string
		require.NoError(t, db.Conn.QueryRow(ctx, "SELECT toString(getSetting({name:String}))", clickhouse.Named("name", setting)).Scan(&got))
		require.Equal(t, want, got, setting)
	}
}

// A look-up by id reads a granule or two of each part, not the table.
func TestLookUpReadsFewRows(t *testing.T) {
	db := storagetest.New(t)
	const rows, days = 120_000, 3
	b := streams.Table.NewBatch()
	for i := range rows {
		s := stream(fmt.Sprintf("look-%d", i), 1, func(s *wire.Stream) { s.StartedAt = noon - int64(i)*(days*86_400*sec/rows) })
		var row streams.Row
		streams.FromWire(&s, &row)
		b.Append(&row)
	}
	db.Insert(t, b)
	require.NoError(t, db.Conn.Exec(t.Context(), "OPTIMIZE TABLE streams FINAL"))
	read := uint64(0)
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { read += p.Rows }))
	var n uint64
	require.NoError(t, db.Conn.QueryRow(ctx, "SELECT count() FROM streams WHERE tenant = 'default' AND request_id IN {ids:Array(String)}",
		clickhouse.Named("ids", []string{"look-77777"})).Scan(&n))
	require.EqualValues(t, 1, n)
	require.LessOrEqual(t, read, uint64(2*8192), "of %d rows in %d days", rows, days)
}
