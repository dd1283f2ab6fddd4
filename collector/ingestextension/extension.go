package ingestextension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/fermata-io/fermata/internal/ingest"
)

// retryAfter is what senders are asked to wait while the collector starts or stops.
const retryAfter = time.Second

// ErrServed is returned by Mount for a pattern that has a handler already.
var ErrServed = errors.New("is served already")

type route struct{ h http.Handler }

type ingestExtension struct {
	cfg *Config
	set component.TelemetrySettings
	srv *ingest.Server

	mu     sync.RWMutex
	routes map[string]*route // by pattern
	ready  bool              // all receivers were started and none was stopped
}

var (
	_ ingest.Mounter                        = (*ingestExtension)(nil)
	_ extensioncapabilities.PipelineWatcher = (*ingestExtension)(nil)
)

func newExtension(set component.TelemetrySettings, cfg *Config) *ingestExtension {
	return &ingestExtension{cfg: cfg, set: set, routes: map[string]*route{}}
}

// Start opens the listener.
func (e *ingestExtension) Start(ctx context.Context, host component.Host) error {
	srv, err := ingest.Serve(ctx, host, e.set, &e.cfg.ServerConfig, e)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.srv = srv
	return nil
}

// Shutdown closes the listener and waits for the requests in work.
func (e *ingestExtension) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	srv := e.srv
	e.srv, e.ready = nil, false
	e.mu.Unlock()
	if srv == nil {
		return nil
	}
	return srv.Shutdown(ctx)
}

// Ready is told when all receivers were started: what is not mounted now is not coming.
func (e *ingestExtension) Ready() error {
	e.setReady(true)
	return nil
}

// NotReady is told before receivers are stopped.
func (e *ingestExtension) NotReady() error {
	e.setReady(false)
	return nil
}

func (e *ingestExtension) setReady(v bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready = v
}

// Addr is the bound address; nil before Start and after Shutdown.
func (e *ingestExtension) Addr() net.Addr {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.srv == nil {
		return nil
	}
	return e.srv.Addr()
}

// Mount serves h for pattern.
func (e *ingestExtension) Mount(pattern string, h http.Handler) (unmount func(), err error) {
	clean := path.Clean(pattern)
	if strings.HasSuffix(pattern, "/") && clean != "/" {
		clean += "/"
	}
	if !strings.HasPrefix(pattern, "/") || clean != pattern {
		return nil, fmt.Errorf("%q: want an absolute path without . and .., for instance /v1/chunks", pattern)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.routes[pattern] != nil {
		return nil, fmt.Errorf("%s %w; give one of the receivers another path", pattern, ErrServed)
	}
	mine := &route{h: h}
	e.routes[pattern] = mine
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.routes[pattern] == mine {
			delete(e.routes, pattern)
		}
	}, nil
}

// ServeHTTP hands a request to the handler with the longest pattern.
func (e *ingestExtension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, ready := e.find(r.URL.Path)
	switch {
	case h != nil:
		h.ServeHTTP(w, r)
	case !ready:
		ingest.WriteError(w, http.StatusServiceUnavailable, "(path)", "is not served yet, or not any more; try again", retryAfter)
	default:
		ingest.NotFound(e.patterns)(w, r)
	}
}

func (e *ingestExtension) find(p string) (h http.Handler, ready bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if m := e.routes[p]; m != nil {
		return m.h, e.ready
	}
	for i := strings.LastIndexByte(p, '/'); i >= 0; i = strings.LastIndexByte(p[:i], '/') {
		if m := e.routes[p[:i+1]]; m != nil {
			return m.h, e.ready
		}
	}
	return nil, e.ready
}

func (e *ingestExtension) patterns() []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Sorted(maps.Keys(e.routes))
}
