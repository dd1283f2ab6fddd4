package chunkreceiver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// OTLP alone is a way in; what comes there reaches the pipeline and the addresses are told.
func TestOTLPIsAWayIn(t *testing.T) {
	cfg := NewDefaultConfig()
	require.ErrorContains(t, cfg.Validate(), "no way in")
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"otlp": map[string]any{
		"grpc":             map[string]any{"endpoint": "127.0.0.1:0"},
		"http":             map[string]any{"endpoint": "127.0.0.1:0"},
		"remember_streams": 10,
	}}).Unmarshal(cfg))
	require.NoError(t, cfg.Validate())
	require.NotEmpty(t, cfg.OTLP.ChunkEvents)

	sink := new(consumertest.LogsSink)
	r, err := NewFactory().CreateLogs(t.Context(), receivertest.NewNopSettings(Type), cfg, sink)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	addrs := r.(interface{ Addrs() map[string]string }).Addrs()
	require.NotEmpty(t, addrs["otlp_grpc"])

	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"fermata.stream","timeUnixNano":"1700000000000000000","attributes":[
	 {"key":"fermata.request_id","value":{"stringValue":"r-1"}},
	 {"key":"fermata.chunks.dt","value":{"arrayValue":{"values":[{"intValue":"1000"},{"intValue":"20"}]}}}]}]}]}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addrs["otlp_http"]+"/v1/logs", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	tr := &http.Transport{}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	tr.CloseIdleConnections()
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, 1, sink.LogRecordCount())
	require.NoError(t, r.Shutdown(t.Context()))
}
