package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
)

// maxBody bounds an answer of the API: a request of 5 tiers with 200 000 chunks each stays below it.
const maxBody = 256 << 20

// Where holds the flags that say which Fermata a command talks to.
type Where struct {
	API  string // base URL; wins over Data
	Data string // data folder with the ready file; empty: DefaultDataDir
}

// AddFlags adds --api and --data to cmd.
func (w *Where) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.API, "api", "", "URL of Fermata's API (default: the running 'fermata up' of the data folder)")
	cmd.Flags().StringVar(&w.Data, "data", "", "data folder of the running 'fermata up' (default: $FERMATA_DATA or ~/.local/share/fermata)")
}

// Ready returns the ready file of the data folder.
func (w *Where) Ready() (Ready, error) {
	dir := w.Data
	if dir == "" {
		dir = DefaultDataDir()
	}
	return ReadReady(dir)
}

// Open returns a client for the API that the flags name.
func (w *Where) Open() (*API, error) {
	addr := w.API
	if addr == "" {
		r, err := w.Ready()
		if err != nil {
			return nil, err
		}
		addr = r.API
		if addr == "" {
			return nil, errors.New("the running `fermata up` has no API listener; start it with --listen-api")
		}
	}
	base, err := BaseURL(addr)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--api: %w", err))
	}
	return &API{base: base, http: newHTTPClient()}, nil
}

func newHTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 8
	return &http.Client{Transport: t, Timeout: 60 * time.Second}
}

// API talks to Fermata's read API.
type API struct {
	base string
	http *http.Client
}

// Close drops idle connections.
func (a *API) Close() { a.http.CloseIdleConnections() }

// Request returns the body of GET /v1/requests/{id}, byte for byte. An unknown id is an error with exit code 3.
func (a *API) Request(ctx context.Context, tenant, id string) ([]byte, error) {
	q := url.Values{}
	if tenant != "" {
		q.Set("tenant", tenant)
	}
	body, err := a.get(ctx, "/v1/requests/"+url.PathEscape(id), q)
	if cli.ExitCode(err) == cli.CodeNotFound {
		err = cli.NotFound(fmt.Errorf("request %s: %w", id, err))
	}
	return body, err
}

// Requests returns the body of GET /v1/requests; empty values of q are left out.
func (a *API) Requests(ctx context.Context, q url.Values) ([]byte, error) {
	return a.get(ctx, "/v1/requests", given(q))
}

// Findings returns the body of GET /v1/findings; empty values of q are left out.
func (a *API) Findings(ctx context.Context, q url.Values) ([]byte, error) {
	return a.get(ctx, "/v1/findings", given(q))
}

// given takes empty values out of q.
func given(q url.Values) url.Values {
	for k, v := range q {
		if len(v) == 0 || v[0] == "" {
			q.Del(k)
		}
	}
	return q
}

func (a *API) get(ctx context.Context, path string, q url.Values) ([]byte, error) {
	u := a.base + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", a.base, err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w; is `fermata up` running there?", a.base, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", a.base, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("answer of %s is larger than %d MB", a.base, maxBody>>20)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusNotFound:
		return nil, cli.NotFound(problem(resp, body))
	case http.StatusBadRequest:
		return nil, cli.Usage(problem(resp, body))
	default:
		return nil, problem(resp, body)
	}
}

// problem reads an RFC 9457 answer into an error for people.
func problem(resp *http.Response, body []byte) error {
	var p struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Errors []struct {
			Parameter string `json:"parameter"`
			Reason    string `json:"reason"`
		} `json:"errors"`
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") || json.Unmarshal(body, &p) != nil || p.Title == "" {
		return fmt.Errorf("%s answered %s", resp.Request.URL.Host, resp.Status)
	}
	var parts []string
	if p.Detail != "" {
		parts = append(parts, p.Detail)
	} else {
		parts = append(parts, p.Title)
	}
	for _, e := range p.Errors {
		parts = append(parts, e.Parameter+" "+e.Reason)
	}
	return errors.New(strings.Join(parts, "; "))
}
