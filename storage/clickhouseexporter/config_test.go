package clickhouseexporter

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.uber.org/zap"
)

func named(name string, v any) driver.NamedValue { return clickhouse.Named(name, v) }

func load(t *testing.T, name string) *Config {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(component.NewIDWithName(Type, name).String())
	require.NoError(t, err)
	cfg := NewFactory().CreateDefaultConfig()
	require.NoError(t, sub.Unmarshal(cfg))
	return cfg.(*Config)
}

func TestConfig(t *testing.T) {
	require.NoError(t, componenttest.CheckConfigStruct(NewDefaultConfig()))

	small := load(t, "small")
	require.NoError(t, confmap.Validate(small))
	require.Equal(t, "file_storage", small.Queue.Get().StorageID.String())
	require.EqualValues(t, 2<<30, small.Queue.Get().QueueSize)
	require.Equal(t, exporterhelper.RequestSizerTypeBytes, small.Queue.Get().Sizer)
	require.Equal(t, exporterhelper.RequestSizerTypeItems, small.Queue.Get().Batch.Get().Sizer)
	require.Equal(t, 400*time.Millisecond, small.Queue.Get().Batch.Get().FlushTimeout)

	all := load(t, "all")
	require.NoError(t, confmap.Validate(all))
	require.Equal(t, 48*time.Hour, all.Retention.Chunks)
	require.Equal(t, "/var/lib/fermata/dead.jsonl", all.DeadLetter.File)
	require.Equal(t, 4, all.ClickHouse.MaxOpenConns)
	require.EqualValues(t, 1000, all.Queue.Get().Batch.Get().MinSize)

	for name, want := range map[string][]string{
		"no_dsn":    {"clickhouse", "dsn: must be set"},
		"gives_up":  {"retry_on_failure.max_elapsed_time: "},
		"no_retry":  {"retry_on_failure.enabled: "},
		"retention": {"retention", "requests: "},
		"limits":    {"timeout: ", "max_chunks: ", "dead_letter.max_bytes: "},
	} {
		t.Run(name, func(t *testing.T) {
			err := confmap.Validate(load(t, name))
			for _, w := range want {
				require.ErrorContains(t, err, w)
			}
		})
	}
}

func TestQueueInMemoryIsSmaller(t *testing.T) {
	cfg := NewDefaultConfig()
	size := func() int64 {
		q := queueFor(zap.NewNop(), cfg.Queue)
		return q.Get().QueueSize
	}
	require.EqualValues(t, defaultMemoryBytes, size())
	require.EqualValues(t, defaultQueueBytes, cfg.Queue.Get().QueueSize, "the user's configuration is not touched")
	cfg.Queue.Get().QueueSize = 1 << 30
	require.EqualValues(t, 1<<30, size())
	cfg.Queue.Get().QueueSize, cfg.Queue.Get().StorageID = defaultQueueBytes, &storageID
	require.EqualValues(t, defaultQueueBytes, size())
}

func TestFactory(t *testing.T) {
	f := NewFactory()
	cfg := NewDefaultConfig()
	cfg.ClickHouse.DSN = "clickhouse://127.0.0.1:1/x"
	e, err := f.CreateLogs(t.Context(), exportertest.NewNopSettings(Type), cfg)
	require.NoError(t, err)
	require.NoError(t, e.Shutdown(t.Context()), "stopped before it was started")
	_, err = f.CreateTraces(t.Context(), exportertest.NewNopSettings(Type), cfg)
	require.Error(t, err)
}
