package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/requests"
)

// Options of a Server.
type Options struct {
	// Requests answers /v1/requests. Required.
	Requests requests.Reader
	// Findings answers /v1/findings and adds to requests what is stored of their streams. Default: a store without any.
	Findings FindingsReader
	// Ready are the checks behind /readyz, in the order in which they are shown.
	Ready []ReadyCheck
	// QueryTimeout bounds one query. Default 30 s.
	QueryTimeout time.Duration
	// CollectorMetrics is the URL of the Prometheus endpoint of the Collector around this API; its text is added to
	// /metrics. Empty: only this API's own metrics.
	CollectorMetrics string
	// UI serves every path the API doesn't. Default: a landing page at / and 404 elsewhere.
	UI http.Handler
	// RequestPages is what the path of a readable page of one request begins with; the landing page links there. Default: the
	// API's own answers.
	RequestPages string
	// Playground is the path of the chat page that the landing page offers; empty: none.
	Playground string
	// Version is shown on the landing page.
	Version string
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger gets faults; requests are counted, not logged. Default: none.
	Logger *zap.Logger
}

// ReadyCheck looks at one thing the API stands on. Detail is shown to everybody who can reach the port: no secrets.
type ReadyCheck struct {
	Name  string
	Check func(ctx context.Context) (detail string, err error)
}

// Server answers the read API. Use New.
type Server struct {
	opt     Options
	log     *zap.Logger
	now     func() time.Time
	engine  *gin.Engine
	metrics *metrics
}

var _ StrictServerInterface = (*Server)(nil)

// New returns a server that is ready to be served.
func New(opt Options) *Server {
	s := &Server{opt: opt, log: opt.Logger, now: opt.Now}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.opt.Findings == nil {
		s.opt.Findings = noFindings{}
	}
	if s.opt.RequestPages == "" {
		s.opt.RequestPages = "/v1/requests/"
	}
	if s.opt.QueryTimeout <= 0 {
		s.opt.QueryTimeout = 30 * time.Second
	}
	s.metrics = newMetrics(opt.CollectorMetrics)
	s.engine = s.router()
	return s
}

// ServeHTTP answers one HTTP request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }

// Close drops idle connections.
func (s *Server) Close() { s.metrics.close() }

func init() { gin.SetMode(gin.ReleaseMode) }

func (s *Server) router() *gin.Engine {
	e := gin.New()
	e.UseRawPath, e.UnescapePathValues = true, true
	e.HandleMethodNotAllowed = true
	e.ContextWithFallback = true // handlers get gin's context as context.Context
	e.RedirectTrailingSlash = false
	_ = e.SetTrustedProxies(nil) // no error is possible for none
	e.Use(s.metrics.observe, s.recover, headers, forTerminals, known, s.deadline)
	strict := NewStrictHandlerWithOptions(s, nil, StrictGinServerOptions{
		RequestErrorHandlerFunc:  func(c *gin.Context, err error) { write(c, badRequest("request", err.Error())) },
		HandlerErrorFunc:         s.failed,
		ResponseErrorHandlerFunc: func(c *gin.Context, err error) { _ = c.Error(err); c.Abort() },
	})
	RegisterHandlersWithOptions(e, strict, GinServerOptions{
		ErrorHandler: func(c *gin.Context, err error, _ int) {
			name, reason := "request", err.Error()
			if rest, ok := strings.CutPrefix(reason, "Invalid format for parameter "); ok {
				name, reason, _ = strings.Cut(rest, ": ")
				reason = "can't be read: " + reason
			}
			write(c, badRequest(name, reason))
		},
	})
	e.GET("/metrics", s.metrics.serve)
	e.NoMethod(func(c *gin.Context) {
		c.Header("Allow", http.MethodGet)
		write(c, problem(http.StatusMethodNotAllowed, "only GET is served here"))
	})
	if s.opt.UI != nil {
		e.NoRoute(gin.WrapH(s.opt.UI))
		return e
	}
	e.GET("/", s.landing)
	e.NoRoute(func(c *gin.Context) { write(c, problem(http.StatusNotFound, "no such path; / lists what there is")) })
	return e
}

// deadline bounds the queries of one request.
func (s *Server) deadline(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.opt.QueryTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}

// recover answers a panic of a handler as a problem; the process lives on.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint // the sentinel itself
			panic(v)
		}
		s.log.Error("handler panicked", zap.String("route", c.FullPath()), zap.String("panic", fmt.Sprint(v)), zap.ByteString("stack", debug.Stack()))
		if c.Writer.Written() {
			c.Abort()
			return
		}
		write(c, problem(http.StatusInternalServerError, "a fault of this server; its log has it"))
	}()
	c.Next()
}

func headers(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

// GetRequest answers GET /v1/requests/{request_id}.
func (s *Server) GetRequest(ctx context.Context, r GetRequestRequestObject) (GetRequestResponseObject, error) {
	tenant, err := tenantOf(r.Params.Tenant)
	if err != nil {
		return nil, err
	}
	if err := idOf(r.RequestId); err != nil {
		return nil, err
	}
	req, err := s.Joined(ctx, tenant, r.RequestId)
	if err != nil {
		return nil, err
	}
	return GetRequest200JSONResponse(*req), nil
}

// Joined returns one request with its findings, as GET /v1/requests/{request_id} tells it. The error is
// requests.ErrNotFound when the tenant has none with that id or alias.
func (s *Server) Joined(ctx context.Context, tenant, id string) (*requests.Request, error) {
	req, err := s.opt.Requests.Request(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if err := s.addFindings(ctx, req); err != nil {
		return nil, err
	}
	return req, nil
}

// ListRequests answers GET /v1/requests.
func (s *Server) ListRequests(ctx context.Context, r ListRequestsRequestObject) (ListRequestsResponseObject, error) {
	f, err := filter(r.Params, s.now())
	if err != nil {
		return nil, err
	}
	page, err := s.opt.Requests.List(ctx, f)
	if err != nil {
		return nil, err
	}
	if page.Requests == nil {
		page.Requests = []requests.Summary{}
	}
	return ListRequests200JSONResponse(*page), nil
}

// GetHealth answers GET /healthz: whoever can answer is alive.
func (s *Server) GetHealth(context.Context, GetHealthRequestObject) (GetHealthResponseObject, error) {
	return GetHealth200JSONResponse{Status: HealthStatusOk, Checks: []Check{}}, nil
}

// readyTimeout bounds each check of /readyz.
const readyTimeout = time.Second

// GetReady answers GET /readyz.
func (s *Server) GetReady(ctx context.Context, _ GetReadyRequestObject) (GetReadyResponseObject, error) {
	h := Health{Status: HealthStatusOk, Checks: []Check{}}
	checks := make([]chan Check, len(s.opt.Ready))
	for i, rc := range s.opt.Ready {
		checks[i] = make(chan Check, 1)
		go func() { checks[i] <- check(ctx, rc) }()
	}
	late := time.NewTimer(readyTimeout + readyTimeout/10)
	defer late.Stop()
	for i, rc := range s.opt.Ready {
		c := Check{Name: rc.Name}
		select {
		case c = <-checks[i]:
		case <-late.C: // a check that does not mind its context: a prober must not hang with it
			late.Reset(0)
			select {
			case c = <-checks[i]:
			default:
				detail := "did not answer within " + readyTimeout.String()
				c.Detail = &detail
			}
		}
		if !c.Ok {
			h.Status = HealthStatusUnavailable
		}
		h.Checks = append(h.Checks, c)
	}
	if h.Status == HealthStatusOk {
		return GetReady200JSONResponse(h), nil
	}
	after := retryAfter
	return GetReady503JSONResponse{Body: h, Headers: GetReady503ResponseHeaders{RetryAfter: &after}}, nil
}

func check(ctx context.Context, rc ReadyCheck) Check {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	began := time.Now()
	detail, err := rc.Check(ctx)
	took := time.Since(began).Microseconds()
	c := Check{Name: rc.Name, Ok: err == nil, TookUs: &took}
	if err != nil {
		detail = err.Error()
	}
	if detail != "" {
		c.Detail = &detail
	}
	return c
}

// itoa is for metric labels.
func itoa(n int) string { return strconv.Itoa(n) }
