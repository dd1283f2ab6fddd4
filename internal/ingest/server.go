package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.uber.org/zap"
)

// Server is a running HTTP server with one owner.
type Server struct {
	srv  *http.Server
	addr net.Addr
	done chan struct{}
}

// Serve listens and serves h until Shutdown. A server that dies is reported to the host as a fatal error.
func Serve(ctx context.Context, host component.Host, set component.TelemetrySettings, cfg *confighttp.ServerConfig, h http.Handler) (*Server, error) {
	ln, err := cfg.ToListener(ctx)
	if err != nil {
		return nil, fmt.Errorf("endpoint: listen on %s: %w", cfg.NetAddr.Endpoint, err)
	}
	srv, err := cfg.ToServer(ctx, host.GetExtensions(), set, h, confighttp.WithErrorHandler(ErrorHandler))
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	srv.Handler = drain(srv.Handler)
	s := &Server{srv: srv, addr: ln.Addr(), done: make(chan struct{})}
	set.Logger.Info("HTTP server started", zap.Stringer("address", s.addr))
	go func() {
		defer close(s.done)
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(fmt.Errorf("HTTP server: %w", err)))
		}
	}()
	return s, nil
}

// Addr is the bound address.
func (s *Server) Addr() net.Addr { return s.addr }

// Shutdown stops listening and waits for the requests in work until ctx ends; then it cuts them off.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.srv.Close())
	}
	<-s.done
	return err
}
