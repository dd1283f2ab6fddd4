package playground

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// maxHold is the longest an answer may be held back at a time.
const maxHold = 30 * time.Second

// maxBody bounds a question and a beacon.
const maxBody = 1 << 20

// proxy hands requests of the page on.
type proxy struct {
	opt     *Options
	hand    *httputil.ReverseProxy
	telling sync.WaitGroup
}

type holdKey struct{}

func newProxy(opt *Options) *proxy {
	p := &proxy{opt: opt}
	p.hand = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // the request is complete already
		Transport:     opt.Transport,
		FlushInterval: -1, // nothing is held back but on demand
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			fail(w, http.StatusBadGateway, "this process does not answer itself; its log says why")
		},
		ModifyResponse: func(r *http.Response) error {
			ctx := r.Request.Context()
			if p := passageOf(ctx); p != nil {
				p.status, p.requestID = r.StatusCode, r.Header.Get("X-Request-Id")
				r.Body = &watched{r.Body, p}
			}
			if d, _ := ctx.Value(holdKey{}).(time.Duration); d > 0 {
				r.Body = hold(r.Body, d)
			}
			return nil
		},
	}
	return p
}

// tap hands on to one upstream of the tap. The query parameter hold lets the answer through only every so often, as a
// proxy does that buffers.
func (p *proxy) tap(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("upstream")
	if !slices.Contains(p.opt.Upstreams, name) {
		fail(w, http.StatusNotFound, "no such upstream; want one of "+strings.Join(p.opt.Upstreams, ", "))
		return
	}
	var held time.Duration
	if v := r.URL.Query().Get("hold"); v != "" {
		var err error
		if held, err = time.ParseDuration(v); err != nil || held <= 0 || held > maxHold {
			fail(w, http.StatusBadRequest, fmt.Sprintf("hold: want a time up to %s, such as 1500ms", maxHold))
			return
		}
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/tap/"+name)
	prefix := "/" + name
	if name == tap.DefaultUpstream {
		prefix = ""
	}
	// An answer may take longer than what the listener allows other requests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	ctx := withHold(r.Context(), held)
	if r.Method != http.MethodPost {
		p.pass(w, r.WithContext(ctx), p.opt.Tap(), prefix+rest, "")
		return
	}
	pass := &passage{upstream: name, received: time.Now(), sent: time.Now()}
	// An answer that is held back may be over here long before its reader gives up.
	gone := make(chan time.Time, 1)
	stays := context.AfterFunc(r.Context(), func() { gone <- time.Now() })
	// A client that goes away makes the proxy panic with http.ErrAbortHandler.
	defer func() {
		if !stays() {
			pass.cancelled = <-gone
		}
		p.tell(ctx, pass)
	}()
	p.pass(w, r.WithContext(context.WithValue(ctx, passageKey{}, pass)), p.opt.Tap(), prefix+rest, "")
}

// rum hands on a beacon.
func (p *proxy) rum(w http.ResponseWriter, r *http.Request) {
	p.pass(w, r, p.opt.Ingest(), "/v1/rum", r.URL.RawQuery)
}

func (p *proxy) pass(w http.ResponseWriter, r *http.Request, host, path, query string) {
	if host == "" {
		fail(w, http.StatusServiceUnavailable, "the tap or the RUM receiver does not run in this process; `fermata up` runs both")
		return
	}
	// All of it first: an answer that begins before the request was passed to its end would break the connection.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes, or was cut off", maxBody))
		return
	}
	out := r.Clone(r.Context())
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	out.URL = &url.URL{Scheme: "http", Host: host, Path: path, RawQuery: query}
	out.Host = host
	for _, name := range []string{"Cookie", "Origin", "Referer"} {
		out.Header.Del(name)
	}
	p.hand.ServeHTTP(w, out)
}

func (p *proxy) transport() http.RoundTripper {
	if p.opt.Transport != nil {
		return p.opt.Transport
	}
	return http.DefaultTransport
}

func fail(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, why+"\n")
}
