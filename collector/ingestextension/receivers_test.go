package ingestextension

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/receivers/chunkreceiver"
	"github.com/fermata-io/fermata/receivers/gatewayreceiver"
	"github.com/fermata-io/fermata/receivers/rumreceiver"
)

// TestReceiversShareTheListener runs the receivers of the three tiers on one port.
func TestReceiversShareTheListener(t *testing.T) {
	e, url := start(t)
	ctx := context.Background()
	host := ingesttest.Host{component.NewID(Type): e}
	sink := new(consumertest.LogsSink)
	run := func(f receiver.Factory) receiver.Logs {
		cfg := f.CreateDefaultConfig()
		require.NoError(t, confmap.NewFromStringMap(map[string]any{"ingest": "fermata_ingest"}).Unmarshal(cfg))
		r, err := f.CreateLogs(ctx, receivertest.NewNopSettings(f.Type()), cfg, sink)
		require.NoError(t, err)
		require.NoError(t, r.Start(ctx, host))
		return r
	}
	chunks := run(chunkreceiver.NewFactory())
	gateway := run(gatewayreceiver.NewFactory())
	rum := run(rumreceiver.NewFactory())
	require.NoError(t, e.Ready())

	post := func(path, contentType, body string, status int) {
		t.Helper()
		got := ingesttest.Do(t, url+path, ingesttest.Request{ContentType: contentType, Body: []byte(body)})
		require.Equal(t, status, got.Status, got.Raw)
	}
	post("/v1/chunks", "application/json", `{"request_id":"a","started_at":1760000000000000}`, 200)
	post("/v1/gateway", "application/json", `{"request_id":"a","received_at":1760000000000000}`, 200)
	post("/v1/gateway/litellm", "application/json", `[]`, 200)
	post("/v1/rum", "text/plain", `{"request_id":"a","session_id":"s"}`, 200)
	post("/collect", "application/json", `{}`, 202)
	post("/v1/none", "application/json", `{}`, 404)
	var events []string
	for _, l := range sink.AllLogs() {
		events = append(events, l.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).EventName())
	}
	require.Equal(t, []string{"fermata.stream", "fermata.gateway", "fermata.client"}, events)

	// A second receiver of the same path is refused, and takes nothing from the first.
	f := chunkreceiver.NewFactory()
	cfg := f.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"ingest": "fermata_ingest"}).Unmarshal(cfg))
	second, err := f.CreateLogs(ctx, receivertest.NewNopSettings(f.Type()), cfg, sink)
	require.NoError(t, err)
	require.ErrorIs(t, second.Start(ctx, host), ErrServed)
	require.NoError(t, second.Shutdown(ctx))
	post("/v1/chunks", "application/json", `[]`, 200)

	require.NoError(t, e.NotReady())
	for _, r := range []receiver.Logs{chunks, gateway, rum} {
		require.NoError(t, r.Shutdown(ctx))
	}
	post("/v1/chunks", "application/json", `[]`, 503)
}
