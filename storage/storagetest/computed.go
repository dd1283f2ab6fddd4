package storagetest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/table"
)

// Computed checks that the table computes every packed field of its rows under the field's name and that what it computes
// is what the row holds. The rows of the table are all compared.
func Computed[R any](t *testing.T, d *DB, tab *table.Table[R]) {
	t.Helper()
	expressions := map[string]string{}
	rs, err := d.Conn.Query(context(), `SELECT name, type FROM system.columns
		WHERE database = currentDatabase() AND table = {table:String} AND default_kind = 'ALIAS'`, clickhouse.Named("table", tab.Name()))
	require.NoError(t, err)
	for rs.Next() {
		var name, typ string
		require.NoError(t, rs.Scan(&name, &typ))
		expressions[name] = typ
	}
	require.NoError(t, rs.Err())
	require.NoError(t, rs.Close())

	var names []string
	for _, a := range tab.Aliases() {
		require.Equal(t, a.Type, expressions[a.Name], "computed column %s", a.Name)
		names = append(names, "`"+a.Name+"`")
	}
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if name, _, ok := strings.Cut(f.Tag.Get("ch"), ","); ok {
			fields["`"+name+"`"] = f.Index
		}
	}
	require.Len(t, fields, len(names))

	want := All(t, d, tab, "1 ORDER BY request_id, version")
	rs, err = d.Conn.Query(context(), "SELECT "+strings.Join(names, ", ")+" FROM "+tab.Name()+" ORDER BY request_id, version")
	require.NoError(t, err)
	defer func() { _ = rs.Close() }()
	for i := 0; rs.Next(); i++ {
		var row R
		v := reflect.ValueOf(&row).Elem()
		dest := make([]any, len(names))
		for k, name := range names {
			dest[k] = v.FieldByIndex(fields[name]).Addr().Interface()
		}
		require.NoError(t, rs.Scan(dest...))
		for _, name := range names {
			w, g := reflect.ValueOf(want[i]).FieldByIndex(fields[name]), v.FieldByIndex(fields[name])
			if w.Kind() == reflect.Slice && w.Len() == 0 && g.Len() == 0 {
				continue
			}
			if floats, ok := w.Interface().([]float32); ok {
				require.InDeltaSlice(t, floats, g.Interface(), 1e-6, name) // NaN is within any distance of NaN
				continue
			}
			require.Equal(t, w.Interface(), g.Interface(), name)
		}
	}
	require.NoError(t, rs.Err())
}
