package migrations_test

import (
	"path/filepath"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestUpReachesTheLatestVersionAndThenDoesNothing(t *testing.T) {
	e := enginetest.Start(t)
	opts, err := clickhouse.ParseDSN(e.DSN(e.NewDatabase(t)))
	require.NoError(t, err)
	before, err := migrations.Version(t.Context(), opts)
	require.NoError(t, err)
	require.Zero(t, before)
	require.ErrorIs(t, migrations.Check(t.Context(), opts), migrations.ErrTooOld)

	var steps []migrations.Step
	got, err := migrations.Up(t.Context(), opts, func(s migrations.Step) { steps = append(steps, s) })
	require.NoError(t, err)
	require.Equal(t, migrations.Latest(), got)
	require.Len(t, steps, files(t))
	for i, s := range steps {
		require.Equal(t, i+1, s.Done)
		require.Equal(t, len(steps), s.Total)
		require.NotEmpty(t, s.File)
	}
	require.NoError(t, migrations.Check(t.Context(), opts))

	got, err = migrations.Up(t.Context(), opts, func(migrations.Step) { t.Error("a step ran twice") })
	require.NoError(t, err)
	require.Equal(t, migrations.Latest(), got)
}

// files counts the migrations.
func files(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob("0*.sql")
	require.NoError(t, err)
	return len(names)
}
