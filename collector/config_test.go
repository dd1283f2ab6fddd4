package collector

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/fermata-io/fermata/storage/engine"
)

func TestMain(m *testing.M) {
	engine.MaybeRunChild()
	os.Exit(m.Run())
}

// Every shipped configuration names only settings that exist.
func TestShippedConfigurations(t *testing.T) {
	files, err := filepath.Glob("configs/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	values := map[string]any{
		"dsn": "clickhouse://u:p@127.0.0.1:9000/fermata", "queue_dir": t.TempDir(), "dead_letter": filepath.Join(t.TempDir(), "d.jsonl"),
		"listen_api": "127.0.0.1:0", "listen_ingest": "127.0.0.1:0", "listen_tap": "127.0.0.1:0", "listen_otlp_grpc": "127.0.0.1:0",
		"listen_otlp_http": "127.0.0.1:0", "upstreams": upstreamConfig(map[string]string{"default": "http://127.0.0.1:1"}),
		"log_level": "warn", "log_encoding": "console", "metrics_host": "127.0.0.1", "metrics_port": 8888, "metrics_url": "http://127.0.0.1:8888/metrics",
		"playground_upstreams": playgroundUpstreams(map[string]string{"default": "http://127.0.0.1:1"}),
	}
	t.Setenv("FERMATA_CLICKHOUSE", "clickhouse://u:p@127.0.0.1:9000/fermata")
	t.Setenv("FERMATA_QUEUE", t.TempDir())
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			col, err := otelcol.NewCollector(settings(&addresses{}, []string{"yaml:" + string(b)}, values))
			require.NoError(t, err)
			require.NoError(t, col.DryRun(context.Background()))
		})
	}
}

func TestParseUpstreams(t *testing.T) {
	got, err := parseUpstreams([]string{"http://a:1/x=y", "b=https://b.example", "c=http://127.0.0.1:9"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"default": "http://a:1/x=y", "b": "https://b.example", "c": "http://127.0.0.1:9"}, got)
	for _, bad := range [][]string{
		{"a"}, {"=http://a"}, {"demo=http://a"}, {"http://a", "http://b"}, {"x=http://a", "x=http://b"}, {"x=ftp://a"}, {"x="},
	} {
		_, err := parseUpstreams(bad)
		require.ErrorContains(t, err, "--upstream", "%v", bad)
	}
}
