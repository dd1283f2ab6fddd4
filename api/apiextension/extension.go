package apiextension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/migrations"
	"github.com/fermata-io/fermata/storage/requests"
)

// Extension is the read API's listener.
type Extension struct {
	cfg     *Config
	set     component.TelemetrySettings
	version string
	pages   *Pages
	more    []api.ReadyCheck
	beside  map[string]http.Handler // what pages made

	receiving atomic.Bool // all receivers were started and none was stopped

	mu     sync.Mutex
	server *ingest.Server
	api    *api.Server
	conn   driver.Conn
}

var (
	_ extension.Extension                   = (*Extension)(nil)
	_ extensioncapabilities.PipelineWatcher = (*Extension)(nil)
)

// Start opens the listener. ClickHouse may still be away: /readyz and the answers say so.
func (e *Extension) Start(ctx context.Context, host component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	conn, err := clickhouse.Open(e.cfg.ClickHouse)
	if err != nil {
		return err
	}
	limits := requests.NewDefaultReadLimits()
	limits.Time = e.cfg.QueryTimeout
	schema := schemaCheck{cfg: e.cfg.ClickHouse}
	opt := api.Options{
		Requests: requests.New(conn, limits),
		Findings: findings.NewReader(conn),
		Ready: append([]api.ReadyCheck{
			{Name: "clickhouse", Check: func(ctx context.Context) (string, error) { return "answers", clickhouse.Ping(ctx, conn) }},
			{Name: "schema", Check: schema.check},
			{Name: "receivers", Check: e.checkReceivers},
		}, e.more...),
		QueryTimeout:     e.cfg.QueryTimeout,
		CollectorMetrics: e.cfg.MetricsURL,
		Version:          e.version,
		Logger:           e.set.Logger,
	}
	if e.pages != nil {
		opt.RequestPages = e.pages.Requests
		if e.cfg.Playground.Enabled {
			opt.Playground = e.pages.Playground
		}
	}
	a := api.New(opt)
	handler, err := e.withPages(a)
	if err != nil {
		a.Close()
		return errors.Join(err, conn.Close())
	}
	srv, err := ingest.Serve(ctx, host, e.set, &e.cfg.ServerConfig, handler)
	if err != nil {
		a.Close()
		return errors.Join(err, conn.Close())
	}
	e.server, e.api, e.conn = srv, a, conn
	return nil
}

// Ready is told when all receivers were started: whoever reads 200 at /readyz can send.
func (e *Extension) Ready() error {
	e.receiving.Store(true)
	return nil
}

// NotReady is told before receivers are stopped.
func (e *Extension) NotReady() error {
	e.receiving.Store(false)
	return nil
}

func (e *Extension) checkReceivers(context.Context) (string, error) {
	if !e.receiving.Load() {
		return "", errors.New("the receivers of this process are starting or stopping; ask again")
	}
	return "listen", nil
}

// withPages puts the pages in front of the API. A path is looked at as it came: the API's ids may hold what a multiplexer
// would tidy up.
func (e *Extension) withPages(a *api.Server) (http.Handler, error) {
	if e.pages == nil {
		return a, nil
	}
	pages, err := e.pages.New(Source{Request: a.Joined, Playground: e.cfg.Playground, Logger: e.set.Logger})
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	e.beside = pages
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for prefix, h := range pages {
			if strings.HasPrefix(r.URL.Path, prefix) {
				h.ServeHTTP(w, r)
				return
			}
		}
		a.ServeHTTP(w, r)
	}), nil
}

// Shutdown stops listening, waits for the answers in work until ctx ends and closes the database's pool. It may be called
// more than once, and without Start.
func (e *Extension) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	err := e.server.Shutdown(ctx)
	for _, h := range e.beside {
		if c, ok := h.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	e.api.Close()
	err = errors.Join(err, e.conn.Close())
	e.server, e.api, e.conn = nil, nil, nil
	return err
}

// Addr is the bound address; nil before Start and after Shutdown.
func (e *Extension) Addr() net.Addr {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil
	}
	return e.server.Addr()
}

// Addrs names the bound address as the ready file does.
func (e *Extension) Addrs() map[string]string {
	a := e.Addr()
	if a == nil {
		return map[string]string{}
	}
	return map[string]string{"api": a.String()}
}

// schemaEvery is how long a schema once found good is believed: it only changes by a migration.
const schemaEvery = 30 * time.Second

// schemaCheck asks for the schema's version, not at every probe.
type schemaCheck struct {
	cfg clickhouse.Config

	mu   sync.Mutex
	good time.Time
}

func (s *schemaCheck) check(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	detail := fmt.Sprintf("version %d", migrations.Latest())
	if time.Since(s.good) < schemaEvery {
		return detail, nil
	}
	opts, err := s.cfg.Options()
	if err != nil {
		return "", err
	}
	if err := migrations.Check(ctx, opts); err != nil {
		return "", err
	}
	s.good = time.Now()
	return detail, nil
}
