package requestpage

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// Path is what the pages' paths begin with; the request id follows.
const Path = "/requests/"

const (
	maxID = 256
	// again is how many seconds a page of a running or unknown request waits before it asks again.
	again = 2
	// settleTime is how long after a server's end the page's own account may still come.
	settleTime = 10 * time.Second
)

//go:embed page.html.tmpl
var source string

//go:embed page.css
var style string

var page = template.Must(template.New("request").Funcs(template.FuncMap{"span": span, "words": words}).Parse(source))

// policy allows the page its own style and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// Options of the pages. Request and Draw are required.
type Options struct {
	// Request returns a joined request with its findings; the error is requests.ErrNotFound when none is known.
	Request func(ctx context.Context, tenant, id string) (*requests.Request, error)
	// Draw writes the timeline as text, for a screen of so many columns.
	Draw func(w io.Writer, r *requests.Request, columns int) error
	// Explain says in words what the evidence of a kind of finding shows. Default: nothing.
	Explain func(kind string, evidence json.RawMessage) string
	// Playground is the path of the chat page; empty: no link to it.
	Playground string
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger gets faults. Default: none.
	Logger *zap.Logger
}

// view is what the template shows.
type view struct {
	Style      template.CSS
	ID, Tenant string
	JSON       string // path of the API's answer
	Playground string
	Refresh    int
	Problem    string
	State      string
	Wide       string
	Narrow     string
	Felt       []figure
	Findings   []found
}

// figure is one number of what the user felt.
type figure struct {
	field string
	Name  string
	Value string
}

// found is a finding in words.
type found struct {
	findings.Finding
	At, For  string
	Sure     string
	Words    string // what the evidence shows
	Evidence []figure
}

// New returns the handler of everything below Path.
func New(opt Options) http.Handler {
	if opt.Logger == nil {
		opt.Logger = zap.NewNop()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
			return
		}
		status, v := opt.look(r)
		var out bytes.Buffer
		if err := page.Execute(&out, v); err != nil {
			opt.Logger.Error("the request's page can't be written", zap.Error(err))
			http.Error(w, "the page can't be written", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(out.Bytes())
	})
}

// look finds the request and says what to show.
func (o *Options) look(r *http.Request) (int, *view) {
	v := &view{Style: template.CSS(style), Tenant: wire.DefaultTenant, Playground: o.Playground} //nolint:gosec // our own file
	v.ID = strings.TrimPrefix(r.URL.Path, Path)
	if t := r.URL.Query().Get("tenant"); t != "" {
		v.Tenant = t
	}
	if v.ID == "" || len(v.ID) > maxID || !wire.ValidID(v.Tenant) {
		v.ID, v.Problem = "", "The address names no request: want /requests/ID, and a tenant of letters, digits and . _ : - if any."
		return http.StatusBadRequest, v
	}
	v.JSON = "/v1/requests/" + url.PathEscape(v.ID)
	if v.Tenant != wire.DefaultTenant {
		v.JSON += "?tenant=" + url.QueryEscape(v.Tenant)
	}
	var several *requests.AmbiguousError
	req, err := o.Request(r.Context(), v.Tenant, v.ID)
	switch {
	case errors.As(err, &several):
		v.Problem = "No request has this id; " + several.Error() + "."
		return http.StatusNotFound, v
	case errors.Is(err, requests.ErrNotFound):
		v.Refresh, v.Problem = again, "No request with this id is known yet. One just sent appears within seconds; this page asks again."
		return http.StatusNotFound, v
	case err != nil:
		o.Logger.Warn("query failed", zap.String("route", Path), zap.Error(err))
		v.Refresh, v.Problem = again, "ClickHouse can't be reached or did not answer; /readyz says more. This page asks again."
		return http.StatusServiceUnavailable, v
	}
	if err := o.fill(v, req); err != nil {
		o.Logger.Error("the request can't be drawn", zap.Error(err))
		v.Problem = "The request can't be drawn; the log of this process says why."
		return http.StatusInternalServerError, v
	}
	return http.StatusOK, v
}

// The widths of the drawing for large and small screens.
const wideColumns, narrowColumns = 116, 60

func (o *Options) fill(v *view, r *requests.Request) error {
	v.State = string(r.State)
	if r.State == requests.StateRunning || o.settling(r) {
		v.Refresh = again
	}
	for _, d := range []struct {
		columns int
		into    *string
	}{{wideColumns, &v.Wide}, {narrowColumns, &v.Narrow}} {
		var b strings.Builder
		if err := o.Draw(&b, r, d.columns); err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		*d.into = b.String()
	}
	felt, err := feltOf(&r.Perceived)
	if err != nil {
		return err
	}
	v.Felt = felt
	for _, raw := range r.Findings {
		f := found{}
		if err := json.Unmarshal(raw, &f.Finding); err != nil {
			return fmt.Errorf("finding: %w", err)
		}
		f.At, f.For, f.Sure = span(f.StartUS), span(f.DurationUS), fmt.Sprintf("%.0f %%", f.Confidence*100)
		if f.Open {
			f.For = "at least " + f.For
		}
		if f.Grade != nil && *f.Grade == f.Kind {
			f.Grade = nil // a stall of the grade stall
		}
		if o.Explain != nil {
			f.Words = o.Explain(f.Kind, f.Finding.Evidence)
		}
		f.Evidence = evidenceOf(f.Finding.Evidence)
		v.Findings = append(v.Findings, f)
	}
	return nil
}

// settling reports that more is to be expected of a request that has ended: the page's own account comes by beacons.
func (o *Options) settling(r *requests.Request) bool {
	if r.Client != nil && r.Client.State == requests.StateRunning {
		return true
	}
	for i := range r.Attempts {
		if s := r.Attempts[i].Server; s != nil && s.EndUS != nil && o.Now().Sub(time.UnixMicro(s.StartedAt+*s.EndUS)) < settleTime {
			return true
		}
	}
	return false
}
