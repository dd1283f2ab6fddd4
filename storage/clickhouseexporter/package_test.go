package clickhouseexporter

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
)

const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	enginetest.MaybeRunChild()
	if dsn := os.Getenv(collectorEnv); dsn != "" {
		runTestCollector(dsn)
		return
	}
	enginetest.Main(m)
}

// host is a Collector's host as far as exporters see it.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

var storageID = component.MustNewID("file_storage")

// openStorage opens the real file storage with fsync, as `fermata up` does.
func openStorage(ctx context.Context, dir string, change func(*filestorage.Config)) (extension.Extension, error) {
	f := filestorage.NewFactory()
	cfg := f.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory, cfg.FSync = dir, true
	if change != nil {
		change(cfg)
	}
	ext, err := f.Create(ctx, extensiontest.NewNopSettings(f.Type()), cfg)
	if err != nil {
		return nil, err
	}
	return ext, ext.Start(ctx, componenttest.NewNopHost())
}

func storageHost(t *testing.T, dir string, change func(*filestorage.Config)) host {
	t.Helper()
	ext, err := openStorage(t.Context(), dir, change)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ext.Shutdown(context.Background())) })
	return host{storageID: ext}
}

// configFor is the default configuration with batches that leave at once.
func configFor(dsn string) *Config {
	cfg := NewDefaultConfig()
	cfg.ClickHouse.DSN = configopaque.String(dsn)
	cfg.Queue.Get().Batch.Get().FlushTimeout = 50 * time.Millisecond
	cfg.Retry.InitialInterval, cfg.Retry.MaxInterval = 20*time.Millisecond, 200*time.Millisecond
	return cfg
}

func newDatabase(t testing.TB, e *enginetest.Engine) (dsn string, conn driver.Conn) {
	t.Helper()
	name := e.NewDatabase(t)
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(e.DSN(name))
	opts, err := cfg.Options()
	require.NoError(t, err)
	_, err = migrations.Up(context.Background(), opts, nil)
	require.NoError(t, err)
	return e.DSN(name), e.Open(t, name)
}

// settings has the id that the queue's file is named after; the test package's own has another name each time.
func settings() exporter.Settings {
	set := exportertest.NewNopSettings(Type)
	set.ID = component.NewID(Type)
	return set
}

func start(t testing.TB, cfg *Config, h component.Host) exporter.Logs {
	t.Helper()
	e, err := NewFactory().CreateLogs(context.Background(), settings(), cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(context.Background(), h))
	return e
}

func count(t testing.TB, conn driver.Conn, query string, args ...any) uint64 {
	t.Helper()
	var n uint64
	require.NoError(t, conn.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

func eventuallyCount(t *testing.T, conn driver.Conn, want uint64, query string) {
	t.Helper()
	var n uint64
	require.Eventually(t, func() bool {
		return conn.QueryRow(context.Background(), query).Scan(&n) == nil && n >= want
	}, patience, 10*time.Millisecond, "%s", query)
	require.Equal(t, want, n)
}

// stream makes stream i of the reference workload: 200 chunks, gaps log-normal around 30 ms.
func stream(i, chunks int, at time.Time) wire.Stream {
	rnd := rand.New(rand.NewPCG(1, uint64(i)))
	s := wire.Stream{
		RequestID: fmt.Sprintf("req-%08d", i), Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Emitter: "test", Final: true,
		Target: wire.Target{Provider: "test", Deployment: "d", Model: fmt.Sprintf("model-%d", i%8)}, Route: "/v1/chat/completions",
		PromptTokens: wire.Some(int64(100)), OutputTokens: wire.Some(int64(chunks)),
		StartedAt: at.Add(time.Duration(i) * time.Millisecond).UnixMicro(), FinishReason: "stop", Status: 200,
		ResponseID: fmt.Sprintf("chatcmpl-%08d", i),
	}
	t := int64(300_000 + rnd.IntN(200_000))
	for range chunks {
		s.Chunks.T = append(s.Chunks.T, t)
		s.Chunks.Bytes = append(s.Chunks.Bytes, uint32(1+rnd.IntN(7)))
		t += int64(30_000 * math.Exp(0.5*rnd.NormFloat64()))
	}
	s.EndUS = wire.Some(t)
	return s
}

func put(logs plog.Logs, s *wire.Stream) {
	rl := logs.ResourceLogs()
	if rl.Len() == 0 {
		rl.AppendEmpty().ScopeLogs().AppendEmpty()
	}
	streamlog.PutStream(rl.At(0).ScopeLogs().At(0).LogRecords().AppendEmpty(), s)
}

func streamLogs(from, to, chunks int, at time.Time) plog.Logs {
	logs := plog.NewLogs()
	for i := from; i < to; i++ {
		s := stream(i, chunks, at)
		put(logs, &s)
	}
	return logs
}
