package rollup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/rollups"
	"github.com/fermata-io/fermata/storage/storagetest"
	"github.com/fermata-io/fermata/storage/storagetest/wiretest"
	"github.com/fermata-io/fermata/storage/streams"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func stream(id string, chunks int) wire.Stream {
	s := wire.Stream{
		RequestID: id, Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Emitter: "e", Final: true,
		StartedAt: wiretest.Day + 3600e6, Target: wire.Target{Model: "m"}, FinishReason: "stop",
	}
	for i := range chunks {
		s.Chunks.T = append(s.Chunks.T, int64(i)*30_000)
		s.Chunks.Bytes = append(s.Chunks.Bytes, 4)
	}
	return s
}

// What came before the start and what comes while it runs is in the rollups by itself, each once.
func TestRollupsFollowTheRecords(t *testing.T) {
	db := storagetest.New(t)
	insert := func(ss ...wire.Stream) {
		b := streams.Table.NewBatch()
		for i := range ss {
			var row streams.Row
			streams.FromWire(&ss[i], &row)
			b.Append(&row)
		}
		db.Insert(t, b)
	}
	insert(stream("before", 10))

	cfg := NewDefaultConfig()
	cfg.Interval = 20 * time.Millisecond
	cfg.ClickHouse.DSN = configopaque.String(db.DSN)
	f := NewFactory()
	ext, err := f.Create(t.Context(), extensiontest.NewNopSettings(Type), cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(t.Context(), componenttest.NewNopHost()))

	store := rollups.New(db.Conn)
	chunks := func(want uint64) {
		t.Helper()
		require.Eventually(t, func() bool {
			got, err := store.ICLByModel(t.Context(), wire.DefaultTenant, time.UnixMicro(wiretest.Day), time.UnixMicro(wiretest.Day+86_400e6))
			require.NoError(t, err)
			return len(got) == 1 && got[0].Chunks == want && got[0].MaxGapUS == 30_000
		}, 3*time.Minute, 20*time.Millisecond) // looks get rarer the longer they take
	}
	chunks(10)
	insert(stream("while", 7), stream("before", 10))
	chunks(17)

	require.NoError(t, ext.Shutdown(t.Context()))
	require.NoError(t, ext.Shutdown(t.Context()), "a second time")
}

// ClickHouse may be away: the collector runs, and stops.
func TestWithoutDatabase(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.ClickHouse.DSN = "clickhouse://127.0.0.1:1/fermata"
	ext, err := newExtension(componenttest.NewNopTelemetrySettings(), cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, ext.Shutdown(t.Context()))
}

func TestConfig(t *testing.T) {
	require.NoError(t, NewDefaultConfig().Validate())
	err := (&Config{Interval: -time.Second, Lag: -time.Second}).Validate()
	for _, key := range []string{"interval: is -1s", "lag: is -1s", "catch_up: is 0s"} {
		require.ErrorContains(t, err, key)
	}
}
