package gatewayreceiver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	require.Equal(t, "fermata_gateway", f.Type().String())
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

// events lists the event names that reached the pipeline.
func events(sink *consumertest.LogsSink) []string {
	var out []string
	for _, l := range sink.AllLogs() {
		for _, lr := range l.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			out = append(out, lr.EventName()+" "+requestID(lr))
		}
	}
	sink.Reset()
	return out
}

const native1 = `{"request_id":"n-1","received_at":1760000000000000}`

func TestChunksBecomeAStream(t *testing.T) {
	sink := new(consumertest.LogsSink)
	url := ingesttest.Start(t, NewFactory(), serving(), sink)
	got := ingesttest.Do(t, url+"/v1/gateway", ingesttest.Request{Body: []byte(
		`[` + native1 + `,{"request_id":"n-2","received_at":1760000000000000,"chunks":{"dt":[100,5],"bytes":[1,2]}}]`)})
	require.Equal(t, 200, got.Status, got.Raw)
	require.Equal(t, 2, got.Answer.Accepted, "items, not records")
	require.Equal(t, []string{"fermata.gateway n-1", "fermata.gateway n-2", "fermata.stream n-2"}, events(sink))
}

// TestLiteLLM posts what a LiteLLM proxy's callback sent, to its own path and among native records.
func TestLiteLLM(t *testing.T) {
	file, err := os.ReadFile("../adapters/litellm/testdata/in/litellm_1_110.jsonl")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	sink := new(consumertest.LogsSink)
	url := ingesttest.Start(t, NewFactory(), serving(), sink)
	own := ingesttest.Do(t, url+"/v1/gateway/litellm", ingesttest.Request{ContentType: "application/x-ndjson", Body: file})
	require.Equal(t, 200, own.Status, own.Raw)
	require.NotZero(t, own.Answer.Accepted)
	want := events(sink)

	mixed := "[" + native1 + "," + strings.Join(lines, ",") + `,{"request_id":"bad"}]`
	got := ingesttest.Do(t, url+"/v1/gateway", ingesttest.Request{Body: []byte(mixed)})
	require.Equal(t, 400, got.Status)
	require.Equal(t, own.Answer.Accepted+1, got.Answer.Accepted)
	require.Equal(t, 1, got.Answer.Rejected)
	require.Equal(t, len(lines)+1, *got.Answer.Errors[0].Index, "indexes count all items")
	require.Equal(t, "bad", got.Answer.Errors[0].RequestID)
	require.Equal(t, append([]string{"fermata.gateway n-1"}, want...), events(sink))

	got = ingesttest.Do(t, url+"/v1/gateway/litellm", ingesttest.Request{Body: []byte("[" + native1 + "," + lines[0] + "]")})
	require.Equal(t, 400, got.Status)
	require.Equal(t, 1, got.Answer.Accepted)
	require.Equal(t, "startTime", got.Answer.Errors[0].Field)
	events(sink)

	got = ingesttest.Do(t, url+"/v1/gateway/litellm", ingesttest.Request{Body: []byte(`{"call_type":"aembedding","startTime":1760000000.5}`)})
	require.Equal(t, 200, got.Status, "other calls are no error")
	require.Empty(t, events(sink))
}

// Log records of other gateways are recognized on the common path and taken on a path of their own.
func TestOtherGatewaysLogs(t *testing.T) {
	for _, name := range []string{"kong", "higress", "apisix"} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob("../adapters/" + name + "/testdata/in/*.jsonl")
			require.NoError(t, err)
			require.NotEmpty(t, files)
			body, err := os.ReadFile(files[0])
			require.NoError(t, err)
			sink := new(consumertest.LogsSink)
			url := ingesttest.Start(t, NewFactory(), serving(), sink)
			for _, path := range []string{"/v1/gateway", "/v1/gateway/" + name} {
				before := sink.LogRecordCount()
				got := ingesttest.Do(t, url+path, ingesttest.Request{ContentType: "application/x-ndjson", Body: body})
				require.Positive(t, got.Answer.Accepted, "%s: %s", path, got.Raw) // some of the lines are wrong on purpose
				require.Greater(t, sink.LogRecordCount(), before, path)
			}
			got := ingesttest.Do(t, url+"/v1/gateway/"+name, ingesttest.Request{ContentType: "application/json", Body: []byte(`[{"foo":1},{}]`)})
			require.Equal(t, 2, got.Answer.Ignored, "who sends what is of no use is told: %s", got.Raw)
		})
	}
}
