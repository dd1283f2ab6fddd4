package apiextension_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/fermata-io/fermata/api/apiextension"
)

func TestPlaygroundNeedsUpstreams(t *testing.T) {
	cfg := apiextension.NewDefaultConfig()
	cfg.Playground.Enabled = true
	require.ErrorContains(t, cfg.Validate(), "playground::upstreams: is empty")
	cfg.Playground.Upstreams = []string{"demo"}
	require.NotContains(t, errorText(cfg.Validate()), "playground")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// page answers for everything below its path and notes that it was closed.
type page struct {
	source apiextension.Source
	closed int
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := p.source.Request(r.Context(), "default", "x")
	w.Header().Set("X-Failed", errorText(err))
	w.WriteHeader(http.StatusTeapot)
}

func (p *page) Close() error { p.closed++; return nil }

func TestPagesStandBesideTheAPI(t *testing.T) {
	p := &page{}
	factory := apiextension.NewFactory(&apiextension.Pages{
		Requests: "/look/", Playground: "/play/",
		New: func(s apiextension.Source) (map[string]http.Handler, error) {
			p.source = s
			return map[string]http.Handler{"/look/": p, "/play": p}, nil
		},
	})
	cfg := apiextension.NewDefaultConfig()
	cfg.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.ClickHouse.DSN = configopaque.String("clickhouse://x:y@127.0.0.1:1/fermata")
	cfg.ClickHouse.DialTimeout = time.Second
	cfg.Playground = apiextension.PlaygroundConfig{Enabled: true, Upstreams: []string{"demo"}}
	ext, err := factory.Create(context.Background(), extensiontest.NewNopSettings(apiextension.Type), cfg)
	require.NoError(t, err)
	require.NoError(t, ext.Start(context.Background(), componenttest.NewNopHost()))
	url := "http://" + ext.(*apiextension.Extension).Addr().String()

	for path, want := range map[string]int{
		"/look/a%2Fb": http.StatusTeapot, "/play": http.StatusTeapot, "/play/x": http.StatusTeapot, "/healthz": http.StatusOK, "/loo": http.StatusNotFound,
	} {
		status, header, _ := get(t, url+path)
		require.Equal(t, want, status, path)
		if want == http.StatusTeapot {
			require.NotEmpty(t, header.Get("X-Failed"), "no database answers")
		}
	}
	_, _, body := get(t, url+"/")
	require.Contains(t, string(body), `href="/play/"`)
	require.Equal(t, []string{"demo"}, p.source.Playground.Upstreams)
	require.NoError(t, ext.Shutdown(context.Background()))
	require.Equal(t, 2, p.closed, "once for each path")
}
