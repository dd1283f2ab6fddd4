package rumreceiver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// serving is the default configuration with a listener on a free port.
func serving() *Config {
	cfg := NewDefaultConfig()
	cfg.HTTP = configoptional.Some(ingest.NewDefaultHTTP("127.0.0.1:0"))
	return cfg
}

func requestID(lr plog.LogRecord) string {
	v, _ := lr.Attributes().Get(streamlog.KeyRequestID)
	return v.Str()
}

func TestFactory(t *testing.T) {
	f := NewFactory()
	require.Equal(t, "fermata_rum", f.Type().String())
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

	id := component.MustNewID("fermata_ingest")
	cfg := NewDefaultConfig()
	cfg.Ingest = &id
	r, err = f.CreateLogs(ctx, receivertest.NewNopSettings(f.Type()), cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.ErrorIs(t, r.Start(ctx, ingesttest.Host{}), ingest.ErrNoMounter)
	require.NoError(t, r.Shutdown(ctx))
}

// clients reads what reached the pipeline.
func clients(t *testing.T, sink *consumertest.LogsSink) []wire.Client {
	t.Helper()
	var out []wire.Client
	for _, l := range sink.AllLogs() {
		for _, lr := range l.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			c, err := streamlog.Client(lr, 1000)
			require.NoError(t, err)
			out = append(out, c)
		}
	}
	sink.Reset()
	return out
}

const beacon = `{"session_id":"s","seq":4,"app":"shop","clock":{"time_origin":1760000000000000.5},
"streams":[{"request_id":"a","submit_at":1000},{"request_id":"b","submit_at":5}]}`

// TestBeacon posts what navigator.sendBeacon sends.
func TestBeacon(t *testing.T) {
	sink := new(consumertest.LogsSink)
	cfg := serving()
	cfg.RememberBeacons = 0
	url := ingesttest.Start(t, NewFactory(), cfg, sink)
	before := time.Now().UnixMicro()
	for _, contentType := range []string{"text/plain;charset=UTF-8", "application/json", "-"} {
		got := ingesttest.Do(t, url+"/v1/rum", ingesttest.Request{ContentType: contentType, Body: []byte(beacon)})
		require.Equal(t, 200, got.Status, got.Raw)
		require.Equal(t, 2, got.Answer.Accepted)
		records := clients(t, sink)
		require.Len(t, records, 2)
		require.Equal(t, []string{"a", "b"}, []string{records[0].RequestID, records[1].RequestID})
		for _, c := range records {
			require.EqualValues(t, 4, c.BeaconSeq)
			require.GreaterOrEqual(t, c.ReceivedAt, before, "the receiver's clock")
			require.LessOrEqual(t, c.ReceivedAt, time.Now().UnixMicro())
		}
	}
}

func TestUserAgent(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
	const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1"
	f := func(use bool, agent, extra string, want [3]string) {
		t.Helper()
		cfg := serving()
		cfg.UserAgent = use
		sink := new(consumertest.LogsSink)
		url := ingesttest.Start(t, NewFactory(), cfg, sink)
		got := ingesttest.Do(t, url+"/v1/rum", ingesttest.Request{
			Header: map[string]string{"User-Agent": agent}, Body: []byte(`{"session_id":"s"` + extra + `}`),
		})
		require.Equal(t, 200, got.Status)
		c := clients(t, sink)[0]
		require.Equal(t, want, [3]string{c.Browser, c.OS, c.Device})
	}
	f(true, chrome, "", [3]string{"Chrome 156", "Linux", "desktop"})
	f(true, iphone, "", [3]string{"Safari 17", "iOS", "mobile"})
	f(true, chrome, `,"browser":"Own 1"`, [3]string{"Own 1", "", ""})
	f(true, "curl/8.0", "", [3]string{})
	f(true, "", "", [3]string{})
	f(false, chrome, "", [3]string{})
}
