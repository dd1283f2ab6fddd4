package ingestextension

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

// start runs the extension on a free port.
func start(t *testing.T) (*ingestExtension, string) {
	t.Helper()
	f := NewFactory()
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	ext, err := f.Create(context.Background(), extensiontest.NewNopSettings(f.Type()), cfg)
	require.NoError(t, err)
	e := ext.(*ingestExtension)
	require.Nil(t, e.Addr())
	require.NoError(t, e.Start(context.Background(), ingesttest.Host{}))
	t.Cleanup(func() {
		require.NoError(t, e.Shutdown(context.Background()))
		require.NoError(t, e.Shutdown(context.Background()), "a second time changes nothing")
		require.Nil(t, e.Addr())
		http.DefaultClient.CloseIdleConnections()
	})
	return e, "http://" + e.Addr().String()
}

func says(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, what) })
}

func TestRoutes(t *testing.T) {
	e, url := start(t)
	mount := func(pattern, what string) func() {
		t.Helper()
		unmount, err := e.Mount(pattern, says(what))
		require.NoError(t, err)
		return unmount
	}
	get := func(path string, status int, text string) ingesttest.Response {
		t.Helper()
		got := ingesttest.Do(t, url+path, ingesttest.Request{})
		require.Equal(t, status, got.Status)
		require.Contains(t, got.Raw, text)
		return got
	}
	got := get("/v1/chunks", http.StatusServiceUnavailable, "is not served yet")
	require.Equal(t, "1", got.Header.Get("Retry-After"))

	chunks := mount("/v1/chunks", "chunks")
	mount("/v1/gateway", "gateway")
	mount("/v1/gateway/", "below")
	get("/v1/chunks", http.StatusOK, "chunks")
	get("/v1/chunks?x=1", http.StatusOK, "chunks")
	get("/v1/rum", http.StatusServiceUnavailable, "is not served yet")

	require.NoError(t, e.Ready())
	get("/v1/gateway", http.StatusOK, "gateway")
	get("/v1/gateway/litellm", http.StatusOK, "below")
	got = get("/v1/rum", http.StatusNotFound, "there are /v1/chunks, /v1/gateway, /v1/gateway/")
	require.Equal(t, "(path)", got.Answer.Errors[0].Field)
	get("/v1/chunks/more", http.StatusNotFound, "")
	get("/", http.StatusNotFound, "")

	_, err := e.Mount("/v1/chunks", says("other"))
	require.ErrorIs(t, err, ErrServed)
	require.ErrorContains(t, err, "give one of the receivers another path")

	require.NoError(t, e.NotReady())
	chunks()
	get("/v1/chunks", http.StatusServiceUnavailable, "")
	again := mount("/v1/chunks", "again")
	chunks() // of the handler before: takes away nothing
	get("/v1/chunks", http.StatusOK, "again")
	again()
}

func TestMountRefuses(t *testing.T) {
	e, _ := start(t)
	for _, pattern := range []string{"", "v1", "/v1/../x", "/v1//x", "//", "POST /v1/x"} {
		_, err := e.Mount(pattern, says(""))
		require.ErrorContains(t, err, "want an absolute path", pattern)
	}
	for _, pattern := range []string{"/", "/v1", "/v1/"} {
		_, err := e.Mount(pattern, says(""))
		require.NoError(t, err, pattern)
	}
}

func TestAddressTaken(t *testing.T) {
	e, _ := start(t)
	cfg := NewDefaultConfig()
	cfg.NetAddr.Endpoint = e.Addr().String()
	second := newExtension(e.set, cfg)
	require.ErrorContains(t, second.Start(context.Background(), ingesttest.Host{}), e.Addr().String())
	require.NoError(t, second.Shutdown(context.Background()))
}

func TestFindMounter(t *testing.T) {
	e, _ := start(t)
	id := component.NewID(Type)
	m, err := ingest.FindMounter(ingesttest.Host{id: e}, id)
	require.NoError(t, err)
	require.Same(t, e, m)
	_, err = ingest.FindMounter(ingesttest.Host{}, id)
	require.ErrorIs(t, err, ingest.ErrNoMounter)
	require.ErrorContains(t, err, "list it under service::extensions")
	_, err = ingest.FindMounter(ingesttest.Host{id: nil}, id)
	require.ErrorContains(t, err, "name a fermata_ingest extension")
}

// TestDetachWaits checks that a receiver that is stopped waits for its requests, and for nobody else's.
func TestDetachWaits(t *testing.T) {
	e, url := start(t)
	id := component.NewID(Type)
	cfg := ingest.NewDefaultConfig("")
	cfg.Ingest = &id
	entered, release := make(chan struct{}), make(chan struct{})
	att, err := cfg.Attach(context.Background(), ingesttest.Host{id: e}, e.set, map[string]http.Handler{
		"/slow": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-release
			w.WriteHeader(http.StatusNoContent)
		}),
	})
	require.NoError(t, err)
	require.Equal(t, e.Addr(), att.Addr())
	answer := make(chan int)
	go func() {
		resp, err := http.Post(url+"/slow", "text/plain", strings.NewReader(""))
		if err != nil {
			answer <- 0
			return
		}
		_ = resp.Body.Close()
		answer <- resp.StatusCode
	}()
	<-entered
	detached := make(chan error, 1)
	go func() { detached <- att.Detach(context.Background()) }()
	require.Eventually(t, func() bool {
		return ingesttest.Do(t, url+"/slow", ingesttest.Request{}).Status == http.StatusServiceUnavailable
	}, time.Minute, time.Millisecond, "no new requests")
	require.Empty(t, detached, "it waits")
	close(release)
	require.Equal(t, http.StatusNoContent, <-answer)
	require.NoError(t, <-detached)
	require.NoError(t, att.Detach(context.Background()))
}
