package enginetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	eng := enginetest.Start(t)
	a, b := eng.NewDatabase(t), eng.NewDatabase(t)
	require.NotEqual(t, a, b)
	require.Equal(t, eng.PID(), enginetest.Start(t).PID(), "one engine for all tests")

	conn := eng.Open(t, a)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO t VALUES (1)"))
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM t").Scan(&n))
	require.EqualValues(t, 1, n)
	require.ErrorContains(t, eng.Open(t, b).QueryRow(t.Context(), "SELECT count() FROM t").Scan(&n), "code: 60")
}
