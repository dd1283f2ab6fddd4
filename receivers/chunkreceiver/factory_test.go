package chunkreceiver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

func TestFactory(t *testing.T) {
	f := NewFactory()
	require.Equal(t, "fermata_chunks", f.Type().String())
	require.NoError(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
}

func TestLifecycle(t *testing.T) {
	f := NewFactory()
	ctx := context.Background()
	r, err := f.CreateLogs(ctx, receivertest.NewNopSettings(f.Type()), serving(), consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, r.Shutdown(ctx), "without a start")
	require.NoError(t, r.Start(ctx, ingesttest.Host{}))
	require.NoError(t, r.Shutdown(ctx))
	require.NoError(t, r.Shutdown(ctx), "a second time")
}

func TestStartFails(t *testing.T) {
	f := NewFactory()
	ctx := context.Background()
	id := component.MustNewID("fermata_ingest")
	cfg := NewDefaultConfig()
	cfg.Ingest = &id
	r, err := f.CreateLogs(ctx, receivertest.NewNopSettings(f.Type()), cfg, consumertest.NewNop())
	require.NoError(t, err)
	err = r.Start(ctx, ingesttest.Host{})
	require.ErrorIs(t, err, ingest.ErrNoMounter)
	require.ErrorContains(t, err, `"fermata_ingest"`)
	require.NoError(t, r.Shutdown(ctx))
}
