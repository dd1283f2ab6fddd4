package tap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/demo"
	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// Sink takes segments. The records and their arrays are valid until it returns. An error that
// consumererror.IsPermanent knows is not tried again. Calls never overlap.
type Sink func(ctx context.Context, segments []wire.Stream) error

// Settings are what a tap needs from its surroundings. Nil fields are allowed.
type Settings struct {
	Logger        *zap.Logger
	MeterProvider metric.MeterProvider
}

// Tap is a running reverse proxy. Make it with New.
type Tap struct {
	cfg  Config
	log  *zap.Logger
	sink Sink

	upstreams map[string]*upstream
	parsers   sync.Pool
	retries   retries
	unmeter   func()

	server   *http.Server
	listener net.Listener
	demo     *demo.Server
	ctx      context.Context // ends all requests
	cancel   context.CancelFunc
	stopping atomic.Bool
	served   chan struct{}
	serveErr error

	stop    chan struct{} // tells the sender to end
	sent    chan struct{} // closed when it has
	wake    chan struct{}
	sinkCtx context.Context
	sinkEnd context.CancelFunc
	failing bool // the sink's last call failed; the sender's
	looked  time.Time
	batch   []wire.Stream
	owners  []*stream
	columns columns // arrays of the batch

	mu       sync.Mutex
	running  *stream // list of requests that are not finished
	active   int     // how many
	draining bool
	idle     chan struct{} // closed when draining and none is left
	ended    []*stream     // recorded streams whose last segment is not cut

	stats Stats
}

// New makes a tap; Start starts it. The configuration must be valid.
func New(cfg Config, set Settings, sink Sink) (*Tap, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if sink == nil {
		return nil, errors.New("tap: no sink")
	}
	if set.Logger == nil {
		set.Logger = zap.NewNop()
	}
	if u, ok := cfg.Upstreams[""]; ok {
		cfg.Upstreams = maps.Clone(cfg.Upstreams)
		delete(cfg.Upstreams, "")
		cfg.Upstreams[DefaultUpstream] = u
	}
	t := &Tap{
		cfg: cfg, log: set.Logger, sink: sink, upstreams: map[string]*upstream{},
		served: make(chan struct{}), stop: make(chan struct{}), sent: make(chan struct{}), wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	t.parsers.New = func() any { return new(llmstream.Parser) }
	var err error
	if t.unmeter, err = t.meter(set.MeterProvider); err != nil {
		return nil, fmt.Errorf("tap metrics: %w", err)
	}
	return t, nil
}

// Stats returns the tap's counters.
func (t *Tap) Stats() *Stats { return &t.stats }

// Addr returns the address the tap listens on, once Start has returned.
func (t *Tap) Addr() net.Addr { return t.listener.Addr() }

// Names lists the upstreams by name, the default one first.
func (t *Tap) Names() []string {
	names := make([]string, 0, len(t.cfg.Upstreams))
	for name := range t.cfg.Upstreams {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if (names[i] == DefaultUpstream) != (names[j] == DefaultUpstream) {
			return names[i] == DefaultUpstream
		}
		return names[i] < names[j]
	})
	return names
}

// Start listens and serves until Shutdown.
func (t *Tap) Start(ctx context.Context) error {
	if err := t.openUpstreams(ctx); err != nil {
		t.closeUpstreams()
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", t.cfg.Endpoint)
	if err != nil {
		t.closeUpstreams()
		return fmt.Errorf("tap: can't listen on %s: %w; set another address with endpoint (--listen-tap)", t.cfg.Endpoint, err)
	}
	t.listener = l
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.sinkCtx, t.sinkEnd = context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	t.server = &http.Server{
		Handler:           t,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       3 * time.Minute,
		Protocols:         protocols,
		BaseContext:       func(net.Listener) context.Context { return t.ctx },
		ErrorLog:          zap.NewStdLog(t.log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))),
	}
	if t.cfg.TLS.HasValue() {
		if t.server.TLSConfig, err = t.cfg.TLS.Get().LoadTLSConfig(ctx); err != nil {
			_ = l.Close()
			t.closeUpstreams()
			return fmt.Errorf("tap: tls: %w", err)
		}
	}
	go t.send(t.stop)
	go func() {
		defer close(t.served)
		serve := t.server.Serve
		if t.server.TLSConfig != nil {
			serve = func(l net.Listener) error { return t.server.ServeTLS(l, "", "") }
		}
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.serveErr = err
			t.log.Error("The tap stopped serving", zap.Error(err))
		}
	}()
	t.log.Info("Tap listens", zap.String("address", l.Addr().String()), zap.Strings("upstreams", t.Names()))
	return nil
}

func (t *Tap) openUpstreams(ctx context.Context) error {
	for name, cfg := range t.cfg.Upstreams {
		base, err := parseUpstream(cfg.URL)
		if err != nil {
			return fmt.Errorf("tap: upstreams::%s::url: %w", name, err)
		}
		u := &upstream{name: name, cfg: cfg, deployment: cfg.Deployment}
		if cfg.URL == BuiltinDemo {
			if base.Host, err = t.openDemo(ctx); err != nil {
				return err
			}
			if u.deployment == "" {
				u.deployment = demo.Name
			}
		}
		if u.deployment == "" {
			u.deployment = name
			if name == DefaultUpstream {
				u.deployment = base.Host
			}
		}
		u.base = base
		u.transport = newTransport(base)
		u.proxy = t.newProxy(u)
		t.upstreams[name] = u
	}
	return nil
}

// openDemo starts the scripted model and returns its address.
func (t *Tap) openDemo(ctx context.Context) (addr string, err error) {
	if t.demo == nil {
		if t.demo, err = demo.Listen(ctx, demo.NewDefaultConfig()); err != nil {
			return "", fmt.Errorf("tap: scripted model: %w", err)
		}
	}
	return t.demo.Addr(), nil
}

func (t *Tap) closeUpstreams() {
	for _, u := range t.upstreams {
		u.transport.CloseIdleConnections()
	}
	if t.demo != nil {
		t.demo.Close()
	}
	t.unmeter()
}

// Shutdown stops taking requests, gives running ones DrainTimeout (and no longer than ctx), ends the rest, and
// hands on what was recorded. It may be called again, and before Start.
func (t *Tap) Shutdown(ctx context.Context) error {
	if t.server == nil || t.stopping.Swap(true) {
		return nil
	}
	drain, cancel := context.WithTimeout(ctx, t.cfg.DrainTimeout)
	err := t.server.Shutdown(drain)
	t.mu.Lock()
	t.draining = true
	if t.active == 0 {
		close(t.idle)
	}
	t.mu.Unlock()
	select {
	case <-t.idle: // upgraded connections too, which the server doesn't know of
	case <-drain.Done():
	}
	cancel()
	t.cancel()
	if err != nil {
		_ = t.server.Close()
	}
	<-t.served
	<-t.idle
	close(t.stop)
	select {
	case <-t.sent:
		err = nil
	case <-ctx.Done():
		t.sinkEnd()
		<-t.sent
		err = fmt.Errorf("tap: recorded streams were not handed on: %w", ctx.Err())
	}
	t.sinkEnd()
	t.closeUpstreams()
	return err
}

// route finds the upstream of a path and what is left of the path there.
func (t *Tap) route(path, rawPath string) (u *upstream, rest, rawRest string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if u = t.upstreams[name]; u != nil && name != DefaultUpstream {
		rest = path[1+len(name):]
		if rawPath != "" {
			rawRest = strings.TrimPrefix(rawPath, "/"+name)
			if len(rawRest) == len(rawPath) { // the name itself was escaped
				rawRest = ""
			}
		}
		if rest == "" {
			rest = "/"
		}
		return u, rest, rawRest
	}
	return t.upstreams[DefaultUpstream], path, rawPath
}
