package ingestbench_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/fermata-io/fermata/processors/groupcommitprocessor"
	"github.com/fermata-io/fermata/storage/clickhouseexporter/ingestbench"
	"github.com/fermata-io/fermata/storage/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func group(ctx context.Context, next consumer.Logs) (consumer.Logs, func(context.Context) error, error) {
	f := groupcommitprocessor.NewFactory()
	p, err := f.CreateLogs(ctx, processortest.NewNopSettings(f.Type()), f.CreateDefaultConfig(), next)
	if err != nil {
		return nil, nil, err
	}
	return p, p.Shutdown, p.Start(ctx, componenttest.NewNopHost())
}

func env(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// The harness itself works; its figures are for people to read. FERMATA_BENCH_STREAMS=100000 FERMATA_BENCH_RUNS=5 measures
// workload W.
func TestRun(t *testing.T) {
	r, err := ingestbench.Run(t.Context(), ingestbench.Options{
		Streams: env("FERMATA_BENCH_STREAMS", 2000), PerMessage: 100, Runs: env("FERMATA_BENCH_RUNS", 1),
		Dir: t.TempDir(), Group: group, Log: t.Output(),
	})
	require.NoError(t, err)
	require.Positive(t, r.Floor.Bytes)
	require.Positive(t, r.Ours.Bytes)
	t.Logf("medians\n  floor %s\n  ours  %s\n  ratio %.2f", r.Floor, r.Ours, r.Ratio)
}
