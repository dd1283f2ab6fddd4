package chunkreceiver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver"
)

// What passes the tap arrives in the pipeline as streams.
func TestTapFeedsThePipeline(t *testing.T) {
	model := httptest.NewServer(demo.NewHandler(demo.Config{}))
	defer model.Close()
	for name, upstreams := range map[string]map[string]any{
		"bare URLs": {"": model.URL, "demo": model.URL},
		"objects":   {"default": map[string]any{"url": model.URL, "provider": "p"}, "demo": map[string]any{"url": model.URL}},
	} {
		t.Run(name, func(t *testing.T) {
			factory := chunkreceiver.NewFactory()
			cfg := factory.CreateDefaultConfig()
			conf := confmap.NewFromStringMap(map[string]any{"tap": map[string]any{"endpoint": "127.0.0.1:0", "upstreams": upstreams}})
			require.NoError(t, conf.Unmarshal(cfg))
			require.NoError(t, confmap.Validate(cfg))
			sink := new(consumertest.LogsSink)
			r, err := factory.CreateLogs(t.Context(), receivertest.NewNopSettings(chunkreceiver.Type), cfg, sink)
			require.NoError(t, err)
			require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
			addr := r.(interface{ Addrs() map[string]string }).Addrs()["tap"]
			for _, path := range []string{"/v1/chat/completions", "/demo/v1/chat/completions"} {
				req, err := http.NewRequest(http.MethodPost, "http://"+addr+path, strings.NewReader(`{"stream":true,"max_tokens":5}`))
				require.NoError(t, err)
				req.Header.Set("X-Request-Id", "r"+path[1:2])
				res, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, http.StatusOK, res.StatusCode)
			}
			http.DefaultClient.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			require.NoError(t, r.Shutdown(ctx))

			got := map[string]wire.Stream{}
			for _, l := range sink.AllLogs() {
				records := l.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
				for i := range records.Len() {
					s, err := streamlog.Stream(records.At(i), 1000)
					require.NoError(t, err)
					got[s.RequestID] = s
				}
			}
			require.Len(t, got, 2)
			require.True(t, got["rv"].Final)
			require.Equal(t, "demo", got["rd"].Deployment)
			require.Equal(t, "/v1/chat/completions", got["rd"].Route)
			require.Equal(t, 8, len(got["rd"].Chunks.T), "role, five of text, finish, done")
		})
	}
}
