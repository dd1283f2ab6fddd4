// Package storagetest prepares a migrated database on the real engine for tests of the table packages.
package storagetest

import (
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
	"github.com/fermata-io/fermata/storage/table"
)

// DB is a migrated database for one test.
type DB struct {
	Conn driver.Conn
	DSN  string
	Opts *clickhouse.Options
	ins  *ch.Client
}

// New makes the database.
func New(t testing.TB) *DB {
	t.Helper()
	e := enginetest.Start(t)
	name := e.NewDatabase(t)
	opts, err := clickhouse.ParseDSN(e.DSN(name))
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), opts, nil)
	require.NoError(t, err)
	ins, err := ch.Dial(t.Context(), ch.Options{
		Address: opts.Addr[0], Database: name, User: opts.Auth.Username, Password: opts.Auth.Password,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ins.Close() })
	return &DB{Conn: e.Open(t, name), DSN: e.DSN(name), Opts: opts, ins: ins}
}

// Fataler is what both testing.TB and rapid.T can do.
type Fataler interface {
	require.TestingT
	Helper()
}

// Batch is a table.Batch of any row type.
type Batch interface {
	Len() int
	InsertSQL() string
	Input() proto.Input
}

// Insert sends a batch.
func (d *DB) Insert(t Fataler, b Batch) {
	t.Helper()
	if b.Len() == 0 {
		return
	}
	require.NoError(t, d.ins.Do(context(), ch.Query{Body: b.InsertSQL(), Input: b.Input()}))
}

// Columns checks that a row struct's columns are those of the migrated table, in name and type.
func Columns[R any](t *testing.T, d *DB, tab *table.Table[R]) {
	t.Helper()
	rs, err := d.Conn.Query(t.Context(), `SELECT name, type FROM system.columns
		WHERE database = currentDatabase() AND table = {table:String} AND default_kind = '' ORDER BY position`,
		clickhouse.Named("table", tab.Name()))
	require.NoError(t, err)
	defer func() { _ = rs.Close() }()
	have := map[string]string{}
	for rs.Next() {
		var c table.Column
		require.NoError(t, rs.Scan(&c.Name, &c.Type))
		have[c.Name] = c.Type
	}
	require.NoError(t, rs.Err())
	for _, c := range tab.Columns() {
		require.Equal(t, have[c.Name], c.Type, "column %s", c.Name)
		delete(have, c.Name)
	}
	require.Empty(t, have, "columns that no field has")
}

// All reads every row of a table.
func All[R any](t Fataler, d *DB, tab *table.Table[R], where string, args ...any) []R {
	t.Helper()
	rs, err := d.Conn.Query(context(), "SELECT "+tab.SelectList()+" FROM "+tab.Name()+" WHERE "+where, args...)
	require.NoError(t, err)
	defer func() { _ = rs.Close() }()
	var out []R
	s := tab.NewScanner()
	for rs.Next() {
		r, err := s.Scan(rs)
		require.NoError(t, err)
		out = append(out, r)
	}
	require.NoError(t, rs.Err())
	return out
}
