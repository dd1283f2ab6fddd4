package ingest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Attachment is where a receiver's endpoints are served.
type Attachment struct {
	addr   net.Addr
	once   sync.Once
	detach func(context.Context) error
}

// Attach serves routes as the configuration says: on the extension's listener, or on one of its own. The
// configuration must be Enabled.
func (c *Config) Attach(ctx context.Context, host component.Host, set component.TelemetrySettings, routes map[string]http.Handler) (*Attachment, error) {
	if c.Ingest == nil {
		mux := http.NewServeMux()
		for pattern, h := range routes {
			mux.Handle(pattern, h)
		}
		mux.HandleFunc("/", NotFound(func() []string { return slices.Sorted(maps.Keys(routes)) }))
		srv, err := Serve(ctx, host, set, c.HTTP.Get(), mux)
		if err != nil {
			return nil, fmt.Errorf("http: %w", err)
		}
		return &Attachment{addr: srv.Addr(), detach: srv.Shutdown}, nil
	}
	g := &gate{idle: make(chan struct{})}
	m, err := FindMounter(host, *c.Ingest)
	if err != nil {
		return nil, err
	}
	var undo []func()
	unmount := func() {
		for _, f := range undo {
			f()
		}
	}
	for pattern, h := range routes {
		f, err := m.Mount(pattern, g.handler(h, c.Limits.RetryAfter))
		if err != nil {
			unmount()
			return nil, fmt.Errorf("ingest: mount %s: %w", pattern, err)
		}
		undo = append(undo, f)
	}
	return &Attachment{addr: m.Addr(), detach: func(ctx context.Context) error {
		unmount()
		return g.close(ctx)
	}}, nil
}

// Addr is the bound address.
func (a *Attachment) Addr() net.Addr { return a.addr }

// Detach takes the routes away and waits for the requests in work until ctx ends. Only the first call
// does something; a nil Attachment has nothing to do.
func (a *Attachment) Detach(ctx context.Context) (err error) {
	if a != nil {
		a.once.Do(func() { err = a.detach(ctx) })
	}
	return err
}

// gate lets a receiver wait for the requests that it handles on a listener that others go on using.
type gate struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when closed and nothing is in work
}

func (g *gate) handler(h http.Handler, retryAfter time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.enter() {
			WriteError(w, http.StatusServiceUnavailable, "(path)", "is shutting down", retryAfter)
			return
		}
		defer g.leave()
		h.ServeHTTP(w, r)
	})
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.n++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.closed && g.n == 0 {
		close(g.idle)
	}
}

func (g *gate) close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		if g.closed = true; g.n == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("requests are still in work: %w", ctx.Err())
	}
}

// NotFound answers 404 and lists the paths that there are.
func NotFound(known func() []string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusNotFound, "(path)", "is not served here; there are "+strings.Join(known(), ", "), 0)
	}
}
