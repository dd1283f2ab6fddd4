package apiextension_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/api/apiextension"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clickhouseexporter"
	"github.com/fermata-io/fermata/storage/enginetest"
	"github.com/fermata-io/fermata/storage/migrations"
	"github.com/fermata-io/fermata/storage/requests"
)

func TestConfig(t *testing.T) {
	load := func(name string) (*apiextension.Config, error) {
		conf, err := confmaptest.LoadConf("testdata/config.yaml")
		require.NoError(t, err)
		sub, err := conf.Sub(name)
		require.NoError(t, err)
		cfg := apiextension.NewFactory(nil).CreateDefaultConfig().(*apiextension.Config)
		require.NoError(t, sub.Unmarshal(cfg))
		return cfg, confmap.Validate(cfg)
	}
	cfg, err := load("fermata_api")
	require.NoError(t, err)
	require.Equal(t, "localhost:4380", cfg.NetAddr.Endpoint)
	require.Equal(t, 30*time.Second, cfg.QueryTimeout)

	cfg, err = load("fermata_api/all")
	require.NoError(t, err)
	require.Equal(t, "0.0.0.0:8080", cfg.NetAddr.Endpoint)
	require.Equal(t, 5*time.Second, cfg.QueryTimeout)
	require.Equal(t, 2, cfg.ClickHouse.MaxOpenConns)

	_, err = load("fermata_api/nothing")
	require.ErrorContains(t, err, "clickhouse")
	require.ErrorContains(t, err, "dsn: must be set")

	_, err = load("fermata_api/wrong")
	for _, want := range []string{"endpoint: is empty", "query_timeout: 0s is not positive", "metrics_url: is not an http or https URL", `scheme "mysql"`} {
		require.ErrorContains(t, err, want)
	}
}

// start runs the extension as the Collector does once all receivers listen.
func start(t *testing.T, dsn string) string {
	t.Helper()
	ext, url := startEarly(t, dsn)
	require.NoError(t, ext.Ready())
	return url
}

// startEarly runs the extension before any receiver listens, with a check of the program around it.
func startEarly(t *testing.T, dsn string, more ...api.ReadyCheck) (*apiextension.Extension, string) {
	t.Helper()
	cfg := apiextension.NewDefaultConfig()
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.ClickHouse.DSN = configopaque.String(dsn)
	cfg.ClickHouse.DialTimeout = time.Second
	ext, err := apiextension.NewFactory(nil, more...).Create(context.Background(), extensiontest.NewNopSettings(apiextension.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		require.NoError(t, ext.Shutdown(context.Background()))
		require.NoError(t, ext.Shutdown(context.Background()), "twice")
		require.Nil(t, ext.(*apiextension.Extension).Addr())
	})
	addrs := ext.(*apiextension.Extension).Addrs()
	require.Equal(t, ext.(*apiextension.Extension).Addr().String(), addrs["api"])
	return ext.(*apiextension.Extension), "http://" + addrs["api"]
}

func get(t *testing.T, url string) (int, http.Header, []byte) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, body
}

// ready asks /readyz until just these checks fail: a machine that does other things may keep one from its answer in time.
func ready(t *testing.T, url string, failing ...string) (http.Header, api.Health) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		status, header, body := get(t, url+"/readyz")
		var h api.Health
		require.NoError(t, json.Unmarshal(body, &h))
		var got []string
		for _, c := range h.Checks {
			if !c.Ok {
				got = append(got, c.Name)
			}
		}
		want := http.StatusOK
		if got != nil {
			want = http.StatusServiceUnavailable
		}
		require.Equal(t, want, status, "%s", body)
		if slices.Equal(failing, got) || time.Now().After(end) {
			require.Equal(t, failing, got, "%s", body)
			return header, h
		}
	}
}

func TestShutdownWithoutStart(t *testing.T) {
	ext, err := apiextension.NewFactory(nil).Create(context.Background(), extensiontest.NewNopSettings(apiextension.Type), apiextension.NewDefaultConfig())
	require.NoError(t, err)
	require.NoError(t, ext.Shutdown(context.Background()))
}

func TestClickHouseAway(t *testing.T) {
	url := start(t, "clickhouse://x:y@127.0.0.1:1/fermata")
	status, _, _ := get(t, url+"/healthz")
	require.Equal(t, http.StatusOK, status, "the process is alive")
	header, h := ready(t, url, "clickhouse", "schema")
	require.NotEmpty(t, header.Get("Retry-After"))
	require.Len(t, h.Checks, 3)
	for _, path := range []string{"/v1/requests", "/v1/requests/x"} {
		status, header, body := get(t, url+path)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.NotEmpty(t, header.Get("Retry-After"))
		require.Equal(t, "application/problem+json", header.Get("Content-Type"))
		require.NotContains(t, string(body), "127.0.0.1")
	}
	status, _, body := get(t, url+"/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), "/readyz")
}

// database returns the DSN of a fresh database on the real engine, and its options.
func database(t *testing.T) (string, clickhouse.Config) {
	t.Helper()
	eng := enginetest.Start(t)
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(eng.DSN(eng.NewDatabase(t)))
	return string(cfg.DSN), cfg
}

func migrate(t *testing.T, cfg clickhouse.Config) {
	t.Helper()
	opts, err := cfg.Options()
	require.NoError(t, err)
	_, err = migrations.Up(context.Background(), opts, nil)
	require.NoError(t, err)
}

// store writes records the way they really come: through the exporter.
func store(t *testing.T, cfg clickhouse.Config, streams ...*wire.Stream) {
	t.Helper()
	f := clickhouseexporter.NewFactory()
	ec := f.CreateDefaultConfig().(*clickhouseexporter.Config)
	ec.ClickHouse = cfg
	ec.Queue = configoptional.None[exporterhelper.QueueBatchConfig]()
	exp, err := f.CreateLogs(context.Background(), exportertest.NewNopSettings(f.Type()), ec)
	require.NoError(t, err)
	require.NoError(t, exp.Start(context.Background(), componenttest.NewNopHost()))
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, s := range streams {
		streamlog.PutStream(records.AppendEmpty(), s)
	}
	require.NoError(t, exp.ConsumeLogs(context.Background(), ld))
	require.NoError(t, exp.Shutdown(context.Background()))
}

func keep(t *testing.T, cfg clickhouse.Config, r *requests.Request) {
	t.Helper()
	ins, err := clickhouse.OpenInserter(cfg)
	require.NoError(t, err)
	b, row := requests.Table.NewBatch(), r.Row()
	b.Append(&row)
	require.NoError(t, ins.Insert(t.Context(), clickhouse.Block{SQL: b.InsertSQL(), Input: b.Input()}))
	require.NoError(t, ins.Close())
}

func TestSchemaTooOld(t *testing.T) {
	dsn, cfg := database(t)
	url := start(t, dsn)
	_, h := ready(t, url, "schema")
	require.Contains(t, *h.Checks[1].Detail, "run `fermata migrate`")
	migrate(t, cfg)
	ready(t, url)
}

// Whoever waits for /readyz can send: it says 503 until the receivers listen, and again when they are stopped.
func TestNotReadyWithoutReceivers(t *testing.T) {
	dsn, cfg := database(t)
	migrate(t, cfg)
	var open atomic.Bool
	ext, url := startEarly(t, dsn, api.ReadyCheck{Name: "around", Check: func(context.Context) (string, error) {
		if !open.Load() {
			return "", errors.New("not yet")
		}
		return "", nil
	}})
	ready(t, url, "receivers", "around")
	require.NoError(t, ext.Ready())
	ready(t, url, "around")
	open.Store(true)
	ready(t, url)
	require.NoError(t, ext.NotReady())
	ready(t, url, "receivers")
}

func TestRequestFromTheEngine(t *testing.T) {
	dsn, cfg := database(t)
	migrate(t, cfg)
	began := time.Now().Add(-time.Minute)
	store(t, cfg, &wire.Stream{
		RequestID: "req-1", Tenant: "acme", Tier: wire.TierServer, Attempt: 1, Emitter: "test", Final: true, StartedAt: began.UnixMicro(),
		Target: wire.Target{Provider: "p", Model: "m"}, ResponseID: "chatcmpl-1", FinishReason: "stop", EndUS: wire.Some(int64(1_600_000)),
		Chunks: wire.Chunks{T: []int64{100_000, 120_000, 1_500_000}, Bytes: []uint32{3, 4, 5}, Tokens: []uint32{1, 1, 2}},
	})
	url := start(t, dsn)

	status, header, body := get(t, url+"/v1/requests/req-1?tenant=acme")
	require.Equal(t, http.StatusOK, status, "%s", body)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	conn, err := clickhouse.Open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	r, err := requests.New(conn, requests.NewDefaultReadLimits()).Request(context.Background(), "acme", "req-1")
	require.NoError(t, err)
	want, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(body), "the answer is what storage joined")
	require.Equal(t, []int64{100_000, 120_000, 1_500_000}, r.Attempts[0].Server.Chunks.TUS)
	require.Equal(t, int64(100_000), *r.Attempts[0].Server.TTFTUS)

	status, _, body = get(t, url+"/v1/requests/chatcmpl-1?tenant=acme")
	require.Equal(t, http.StatusOK, status, "by its response id")
	require.Contains(t, string(body), `"request_id":"req-1"`)
	status, _, _ = get(t, url+"/v1/requests/req-1")
	require.Equal(t, http.StatusNotFound, status, "tenants are apart")

	keep(t, cfg, r) // as the joiner does
	status, _, body = get(t, url+"/v1/requests?tenant=acme&since=1h")
	require.Equal(t, http.StatusOK, status, "%s", body)
	var page requests.Page
	require.NoError(t, json.Unmarshal(body, &page))
	require.Len(t, page.Requests, 1)
	require.Equal(t, "req-1", page.Requests[0].RequestID)
	require.Equal(t, int64(100_000), *page.Requests[0].TTFTUS)

	status, _, body = get(t, url+"/?tenant=acme")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(body), ">req-1</a>")
}
