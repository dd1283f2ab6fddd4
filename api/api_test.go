package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/storage/requests"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader answers with what a test says. The real reader is behind the API in package apiextension's tests.
type reader struct {
	request func(ctx context.Context, tenant, id string) (*requests.Request, error)
	list    func(ctx context.Context, f requests.Filter) (*requests.Page, error)
}

func (r *reader) Request(ctx context.Context, tenant, id string) (*requests.Request, error) {
	return r.request(ctx, tenant, id)
}

func (r *reader) List(ctx context.Context, f requests.Filter) (*requests.Page, error) {
	return r.list(ctx, f)
}

var now = time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) problem(t *testing.T) api.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	var p api.Problem
	require.NoError(t, json.Unmarshal(a.body, &p))
	require.Equal(t, a.status, p.Status)
	return p
}

// contract is openapi.yaml, as the router that finds the operation of a request.
var contract = sync.OnceValues(func() (routers.Router, error) {
	doc, err := document()
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation(), openapi3.AllowExtensionsWithRef()); err != nil {
		return nil, err
	}
	doc.Servers = nil
	openapi3filter.RegisterBodyDecoder("application/problem+json", openapi3filter.JSONBodyDecoder)
	return legacy.NewRouter(doc)
})

func document() (*openapi3.T, error) {
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(raw)
}

// get asks the server and holds the answer against openapi.yaml where it has the path.
func get(t *testing.T, s http.Handler, method, target string) answer {
	t.Helper()
	srv := httptest.NewServer(s)
	defer srv.Close()
	req, err := http.NewRequestWithContext(context.Background(), method, srv.URL+target, nil)
	require.NoError(t, err)
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{status: resp.StatusCode, header: resp.Header, body: body}
	require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))

	rt, err := contract()
	require.NoError(t, err)
	route, params, err := rt.FindRoute(req)
	var notInContract *routers.RouteError
	if errors.As(err, &notInContract) {
		return a
	}
	require.NoError(t, err)
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(string(body))),
		Options: &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true},
	})
	require.NoError(t, err, "the answer doesn't follow openapi.yaml:\n%s", body)
	return a
}

func server(r *reader, opts ...func(*api.Options)) *api.Server {
	o := api.Options{Requests: r, Now: func() time.Time { return now }, Version: "v-test"}
	for _, f := range opts {
		f(&o)
	}
	return api.New(o)
}

func TestRequest(t *testing.T) {
	s := server(&reader{request: func(_ context.Context, tenant, id string) (*requests.Request, error) {
		if tenant != "acme" || id != "a.b:c-1" {
			return nil, fmt.Errorf("look: %w", requests.ErrNotFound)
		}
		return full(), nil
	}})
	a := get(t, s, http.MethodGet, "/v1/requests/a.b:c-1?tenant=acme")
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	var answered requests.Request
	require.NoError(t, json.Unmarshal(a.body, &answered))
	wanted := full()
	wanted.Findings = answered.Findings // derived, see TestFindings
	want, err := json.Marshal(wanted)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(a.body), "the body is storage's struct")

	a = get(t, s, http.MethodGet, "/v1/requests/other")
	require.Equal(t, http.StatusNotFound, a.status)
	require.Contains(t, *a.problem(t).Detail, "no request with this id")
}

// TestRequestWithNothing holds the answer against the contract when every value that can be null is.
func TestRequestWithNothing(t *testing.T) {
	s := server(&reader{request: func(context.Context, string, string) (*requests.Request, error) { return bare(), nil }})
	require.Equal(t, http.StatusOK, get(t, s, http.MethodGet, "/v1/requests/x").status)
}

func TestRequestRefused(t *testing.T) {
	s := server(&reader{request: func(context.Context, string, string) (*requests.Request, error) {
		t.Error("storage was asked")
		return nil, requests.ErrNotFound
	}})
	for target, param := range map[string]string{
		"/v1/requests/" + strings.Repeat("x", 257):          "request_id",
		"/v1/requests/x?tenant=" + "a%20b":                  "tenant",
		"/v1/requests/x?tenant=" + strings.Repeat("x", 200): "tenant",
	} {
		a := get(t, s, http.MethodGet, target)
		require.Equal(t, http.StatusBadRequest, a.status, target)
		require.Equal(t, param, (*a.problem(t).Errors)[0].Parameter)
	}
}

func TestList(t *testing.T) {
	var got requests.Filter
	s := server(&reader{list: func(_ context.Context, f requests.Filter) (*requests.Page, error) {
		got = f
		return &requests.Page{Requests: []requests.Summary{summary()}, NextCursor: "next"}, nil
	}})
	a := get(t, s, http.MethodGet, "/v1/requests")
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.Equal(t, requests.Filter{Tenant: "default", Since: now.Add(-time.Hour), Until: now.Add(5 * time.Minute), Limit: 100}, got)

	get(t, s, http.MethodGet, "/v1/requests?tenant=t&since=15m&until=2026-11-29T14:59:00Z&model=m&deployment=d&provider=p&app=a&query_type=short_qa&state=failed&limit=7&cursor=c")
	require.Equal(t, requests.Filter{
		Tenant: "t", Since: now.Add(-15 * time.Minute), Until: now.Add(-time.Minute), Model: "m", Deployment: "d", Provider: "p", App: "a",
		QueryType: "short_qa", State: requests.StateFailed, Limit: 7, Cursor: "c",
	}, got)

	get(t, s, http.MethodGet, "/v1/requests?until=30m")
	require.Equal(t, now.Add(-30*time.Minute), got.Until)
	require.Equal(t, now.Add(-90*time.Minute), got.Since)
	get(t, s, http.MethodGet, "/v1/requests?since=2d")
	require.Equal(t, now.Add(-48*time.Hour), got.Since)
	get(t, s, http.MethodGet, fmt.Sprintf("/v1/requests?since=%d", now.Add(-time.Second).UnixMicro()))
	require.Equal(t, now.Add(-time.Second).UnixMicro(), got.Since.UnixMicro())

	s = server(&reader{list: func(context.Context, requests.Filter) (*requests.Page, error) { return &requests.Page{}, nil }})
	require.JSONEq(t, `{"requests":[],"next_cursor":""}`, string(get(t, s, http.MethodGet, "/v1/requests").body), "an empty page is a list")
}

func TestListRefused(t *testing.T) {
	s := server(&reader{list: func(context.Context, requests.Filter) (*requests.Page, error) {
		t.Error("storage was asked")
		return &requests.Page{}, nil
	}})
	for query, param := range map[string]string{
		"since=yesterday":                    "since",
		"since=-5m":                          "since",
		"since=1700000000":                   "since",
		"since=1700000000000000000":          "since",
		"until=NaNd":                         "until",
		"since=1m&until=2m":                  "since",
		"limit=0":                            "limit",
		"limit=1001":                         "limit",
		"limit=many":                         "limit",
		"state=done":                         "state",
		"query_type=long":                    "query_type",
		"model=" + strings.Repeat("m", 1025): "model",
		"cursor=" + strings.Repeat("c", 513): "cursor",
		"since=" + strings.Repeat("1", 65):   "since",
		"sate=failed":                        "sate",
		"state=failed&state=running":         "state",
		"x=%zz":                              "query",
		"model=" + strings.Repeat("m", 9000): "query",
		"%3Cscript%3E%0A=1":                  "<script>?",
		"tenant=%00":                         "tenant",
	} {
		a := get(t, s, http.MethodGet, "/v1/requests?"+query)
		require.Equal(t, http.StatusBadRequest, a.status, query)
		e := (*a.problem(t).Errors)[0]
		require.Equal(t, param, e.Parameter, query)
		require.NotEmpty(t, e.Reason)
	}
}

func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		status int
	}{
		"away":       {errors.New("dial tcp 127.0.0.1:9000: connect: connection refused"), http.StatusServiceUnavailable},
		"overloaded": {&clickhouse.Exception{Code: 202, Message: "too many queries"}, http.StatusServiceUnavailable},
		"permanent":  {&clickhouse.Exception{Code: 62, Message: "syntax: secret SQL"}, http.StatusInternalServerError},
		"slow":       {fmt.Errorf("query: %w", context.DeadlineExceeded), http.StatusServiceUnavailable},
		"filter":     {fmt.Errorf("list: %w: cursor is damaged", requests.ErrBadFilter), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(&reader{
				request: func(context.Context, string, string) (*requests.Request, error) { return nil, tc.err },
				list:    func(context.Context, requests.Filter) (*requests.Page, error) { return nil, tc.err },
			})
			targets := []string{"/v1/requests/x", "/v1/requests"}
			if name == "filter" {
				targets = targets[1:]
			}
			for _, target := range targets {
				a := get(t, s, http.MethodGet, target)
				require.Equal(t, tc.status, a.status)
				p := a.problem(t)
				if name == "filter" {
					require.Equal(t, "cursor", (*p.Errors)[0].Parameter)
					require.Equal(t, "is damaged", (*p.Errors)[0].Reason)
				}
				require.NotContains(t, string(a.body), "secret")
				require.NotContains(t, string(a.body), "127.0.0.1")
				if tc.status == http.StatusServiceUnavailable {
					require.NotEmpty(t, a.header.Get("Retry-After"))
				}
			}
		})
	}
}

func TestPanicIsAProblem(t *testing.T) {
	s := server(&reader{request: func(context.Context, string, string) (*requests.Request, error) { panic("boom") }})
	a := get(t, s, http.MethodGet, "/v1/requests/x")
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.NotContains(t, string(a.body), "boom")
	require.Equal(t, "Internal Server Error", a.problem(t).Title)
}

func TestQueryTimeout(t *testing.T) {
	s := server(&reader{request: func(ctx context.Context, _, _ string) (*requests.Request, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, func(o *api.Options) { o.QueryTimeout = 20 * time.Millisecond })
	require.Equal(t, http.StatusServiceUnavailable, get(t, s, http.MethodGet, "/v1/requests/x").status)
}

func TestHealth(t *testing.T) {
	fail := errors.New("no answer")
	var clickhouseErr error
	s := server(&reader{}, func(o *api.Options) {
		o.Ready = []api.ReadyCheck{
			{Name: "clickhouse", Check: func(context.Context) (string, error) { return "answers", clickhouseErr }},
			{Name: "schema", Check: func(context.Context) (string, error) { return "version 4", nil }},
		}
	})
	require.Equal(t, http.StatusOK, get(t, s, http.MethodGet, "/healthz").status)
	require.Equal(t, http.StatusOK, get(t, s, http.MethodGet, "/readyz").status)
	clickhouseErr = fail
	require.Equal(t, http.StatusOK, get(t, s, http.MethodGet, "/healthz").status, "alive though not ready")
	a := get(t, s, http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "2", a.header.Get("Retry-After"))
	var h api.Health
	require.NoError(t, json.Unmarshal(a.body, &h))
	require.Equal(t, api.HealthStatusUnavailable, h.Status)
	require.Equal(t, "no answer", *h.Checks[0].Detail)
	require.False(t, h.Checks[0].Ok)
	require.True(t, h.Checks[1].Ok)
}

// A prober is told in about a second even when a check does not mind its deadline.
func TestReadyDoesNotHang(t *testing.T) {
	release := make(chan struct{})
	done := make(chan struct{})
	s := server(&reader{}, func(o *api.Options) {
		o.Ready = []api.ReadyCheck{
			{Name: "clickhouse", Check: func(context.Context) (string, error) { defer close(done); <-release; return "", nil }},
			{Name: "schema", Check: func(context.Context) (string, error) { return "version 4", nil }},
		}
	})
	a := get(t, s, http.MethodGet, "/readyz")
	close(release)
	<-done
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	var h api.Health
	require.NoError(t, json.Unmarshal(a.body, &h))
	require.Equal(t, "did not answer within 1s", *h.Checks[0].Detail)
	require.True(t, h.Checks[1].Ok)
}

// A name of several requests is told as that, with their ids.
func TestAmbiguousName(t *testing.T) {
	s := server(&reader{request: func(context.Context, string, string) (*requests.Request, error) {
		return nil, fmt.Errorf("look: %w", &requests.AmbiguousError{Requests: []string{"r-a", "r-b"}, More: true})
	}})
	a := get(t, s, http.MethodGet, "/v1/requests/0af7651916cd43dd8448eb211c80319c")
	require.Equal(t, http.StatusNotFound, a.status)
	require.Equal(t, "no request has this id; it is another name of several requests: r-a, r-b, …", *a.problem(t).Detail)
}

func TestMetrics(t *testing.T) {
	text := "# TYPE otelcol_x counter\notelcol_x 7\n"
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	s := server(&reader{request: func(context.Context, string, string) (*requests.Request, error) { return nil, requests.ErrNotFound }},
		func(o *api.Options) { o.CollectorMetrics = collector.URL })
	defer s.Close()
	get(t, s, http.MethodGet, "/v1/requests/some-id-that-must-not-become-a-label")
	get(t, s, http.MethodGet, "/nowhere")
	a := get(t, s, http.MethodGet, "/metrics")
	require.Equal(t, http.StatusOK, a.status)
	require.True(t, strings.HasPrefix(a.header.Get("Content-Type"), "text/plain"))
	body := string(a.body)
	require.Contains(t, body, `fermata_api_requests_total{route="/v1/requests/:request_id",status="404"} 1`)
	require.Contains(t, body, `fermata_api_requests_total{route="other",status="404"} 1`)
	require.Contains(t, body, "fermata_api_collector_metrics_up 1")
	require.Contains(t, body, "otelcol_x 7")
	require.NotContains(t, body, "some-id")
	collector.Close()
	body = string(get(t, s, http.MethodGet, "/metrics").body)
	require.Contains(t, body, "fermata_api_collector_metrics_up 0")
	require.NotContains(t, body, "otelcol_x")
}

func TestOtherPaths(t *testing.T) {
	s := server(&reader{})
	a := get(t, s, http.MethodPost, "/v1/requests")
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.Equal(t, "GET", a.header.Get("Allow"))
	a.problem(t)
	a = get(t, s, http.MethodGet, "/v2")
	require.Equal(t, http.StatusNotFound, a.status)
	a.problem(t)

	s = server(&reader{}, func(o *api.Options) {
		o.UI = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the UI") })
	})
	require.Equal(t, "the UI", string(get(t, s, http.MethodGet, "/anything").body))
}

func TestLanding(t *testing.T) {
	var err error
	s := server(&reader{list: func(_ context.Context, f requests.Filter) (*requests.Page, error) {
		if err != nil {
			return nil, err
		}
		x := summary()
		x.RequestID = `<script>alert("x")</script>`
		return &requests.Page{Requests: []requests.Summary{x}}, nil
	}})
	a := get(t, s, http.MethodGet, "/")
	require.Equal(t, http.StatusOK, a.status)
	require.NotContains(t, string(a.body), "<script>")
	require.Contains(t, string(a.body), "&lt;script&gt;")
	require.Contains(t, string(a.body), "/v1/requests?since=24h")
	require.Contains(t, a.header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
	err = errors.New("connection refused")
	require.Contains(t, string(get(t, s, http.MethodGet, "/").body), "ClickHouse can&#39;t be reached")
}
