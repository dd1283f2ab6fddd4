package clickhouse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
)

const day = 24 * time.Hour

func TestApplyRetention(t *testing.T) {
	e := enginetest.Start(t)
	cfg := configFor(e, e.NewDatabase(t))
	opts, err := cfg.Options()
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), opts, nil)
	require.NoError(t, err)
	conn := open(t, cfg)
	ddl := func(table string) string {
		var s string
		require.NoError(t, conn.QueryRow(t.Context(), "SHOW CREATE TABLE "+table).Scan(&s))
		return s
	}
	tables := []string{"streams", "gateways", "clients", "aliases", "requests", "findings"}
	before := map[string]string{}
	for _, name := range tables {
		before[name] = ddl(name)
	}
	altered := func() (at []time.Time) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT groupArray(metadata_modification_time) FROM
			(SELECT metadata_modification_time FROM system.tables WHERE database = currentDatabase() ORDER BY name)`).Scan(&at))
		return at
	}

	r := clickhouse.Retention{Chunks: 7 * day, Requests: 30 * day, Findings: 90 * day}
	require.NoError(t, clickhouse.ApplyRetention(t.Context(), conn, r))
	require.Contains(t, ddl("streams"), "TTL greatest(toDate(started_at), toDate(inserted_at)) + toIntervalDay(30)")
	require.Equal(t, 5, strings.Count(ddl("streams"), "TTL greatest(toDate(started_at), toDate(inserted_at)) + toIntervalDay(7)"))
	require.Equal(t, 7, strings.Count(ddl("clients"), "TTL greatest(toDate(received_at), toDate(inserted_at)) + toIntervalDay(7)"))
	require.Contains(t, ddl("gateways"), "TTL greatest(toDate(received_at), toDate(inserted_at)) + toIntervalDay(30)")
	require.Contains(t, ddl("aliases"), "TTL greatest(toDate(seen_at), arrived_on) + toIntervalDay(30)")

	require.Contains(t, ddl("requests"), "TTL greatest(toDate(started_at), arrived_on) + toIntervalDay(30)")
	require.Contains(t, ddl("findings"), "TTL greatest(toDate(at), arrived_on) + toIntervalDay(90)")

	last, applied := altered(), ddl("streams")
	require.NoError(t, clickhouse.ApplyRetention(t.Context(), conn, r))
	require.Equal(t, last, altered(), "nothing to do, nothing altered")
	require.Equal(t, applied, ddl("streams"))

	r.Chunks = 2 * day
	require.NoError(t, clickhouse.ApplyRetention(t.Context(), conn, r))
	require.Equal(t, 5, strings.Count(ddl("streams"), "TTL greatest(toDate(started_at), toDate(inserted_at)) + toIntervalDay(2)"))
	require.Equal(t, 1, strings.Count(ddl("streams"), "toIntervalDay(30)"))

	require.NoError(t, clickhouse.ApplyRetention(t.Context(), conn, clickhouse.Retention{}))
	for _, name := range tables {
		require.Equal(t, before[name], ddl(name), "0 keeps for ever")
	}
}

func TestRetentionDropsWhatIsOld(t *testing.T) {
	e := enginetest.Start(t)
	cfg := configFor(e, e.NewDatabase(t))
	opts, err := cfg.Options()
	require.NoError(t, err)
	_, err = migrations.Up(t.Context(), opts, nil)
	require.NoError(t, err)
	conn := open(t, cfg)
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO streams (tenant, request_id, started_at, inserted_at, version, gaps_us, bytes)
		SELECT 'default', concat('r', toString(number)), now64(6) - toIntervalDay(number * 10) AS at, at, 196608, [1, 2], [1, 1, 1]
		FROM numbers(6)`))
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO streams (tenant, request_id, started_at, version, gaps_us, bytes)
		VALUES ('default', 'replayed', now64(6) - toIntervalDay(1000), 196608, [1, 2], [1, 1, 1])`))
	require.NoError(t, clickhouse.ApplyRetention(t.Context(), conn, clickhouse.NewDefaultRetention()))
	require.NoError(t, conn.Exec(t.Context(), "ALTER TABLE streams MATERIALIZE TTL SETTINGS mutations_sync = 2"))
	require.NoError(t, conn.Exec(t.Context(), "OPTIMIZE TABLE streams FINAL"))
	var rows, arrays uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(), countIf(notEmpty(gaps_us)) FROM streams WHERE n_chunks = 3").Scan(&rows, &arrays))
	require.EqualValues(t, 6, rows, "0 to 40 days old, and the one that arrived today")
	require.EqualValues(t, 3, arrays, "0 and 10 days old, and that one")
}

func TestRetentionValidate(t *testing.T) {
	def := clickhouse.NewDefaultRetention()
	require.NoError(t, def.Validate())
	bad := clickhouse.Retention{Chunks: -1, Requests: 25 * time.Hour}
	require.ErrorContains(t, bad.Validate(), "chunks: ")
	require.ErrorContains(t, bad.Validate(), "requests: ")
	swapped := clickhouse.Retention{Chunks: 2 * day, Requests: day}
	require.ErrorContains(t, swapped.Validate(), "longer than requests")
}
