package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// Settings make a Server.
type Settings struct {
	Receiver receiver.Settings
	Config   *Config
	// Limits bound requests and records.
	Limits ingest.LimitsConfig
	// ForwardText lets the chunk texts of native records go into the pipeline.
	ForwardText bool
	Next        consumer.Logs
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Server serves OTLP as long as it runs.
type Server struct {
	set    Settings
	tr     *genai.Translator
	starts *starts
	adm    admission
	tel    *telemetry

	mu       sync.Mutex
	grpc     *grpc.Server
	http     *http.Server
	grpcAddr net.Addr
	httpAddr net.Addr
	serving  sync.WaitGroup
}

var _ component.Component = (*Server)(nil)

// New makes a Server. The error is about its instruments.
func New(set Settings) (*Server, error) {
	if set.Now == nil {
		set.Now = time.Now
	}
	tel, err := newTelemetry(set.Receiver)
	if err != nil {
		return nil, err
	}
	return &Server{
		set: set,
		tr: genai.New(genai.Options{
			ChunkEvents: set.Config.ChunkEvents, Limits: set.Limits.Wire(), MaxRecords: set.Limits.MaxItems, KeepText: set.ForwardText,
		}),
		adm: admission{maxRequests: set.Limits.MaxInFlightRequests, maxBytes: set.Limits.MaxInFlightBytes},
		tel: tel,
	}, nil
}

// Start opens the listeners that are configured, or none. The error names the setting.
func (s *Server) Start(ctx context.Context, host component.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = newStarts(s.set.Config.RememberStreams, s.set.Config.RememberFor)
	if err := s.startGRPC(ctx, host); err != nil {
		return errors.Join(fmt.Errorf("otlp::grpc: %w", err), s.stop(ctx))
	}
	if err := s.startHTTP(ctx, host); err != nil {
		return errors.Join(fmt.Errorf("otlp::http: %w", err), s.stop(ctx))
	}
	return nil
}

func (s *Server) startGRPC(ctx context.Context, host component.Host) error {
	if !s.set.Config.GRPC.HasValue() {
		return nil
	}
	cfg := s.set.Config.GRPC.Get()
	srv, err := s.newGRPC(ctx, host, cfg)
	if err != nil {
		return err
	}
	ln, err := cfg.NetAddr.Listen(ctx)
	if err != nil {
		return err
	}
	s.grpc, s.grpcAddr = srv, ln.Addr()
	s.set.Receiver.Logger.Info("serving OTLP over gRPC", zap.Stringer("address", ln.Addr()))
	s.serve(host, func() error { return srv.Serve(ln) }, grpc.ErrServerStopped)
	return nil
}

func (s *Server) startHTTP(ctx context.Context, host component.Host) error {
	if !s.set.Config.HTTP.HasValue() {
		return nil
	}
	cfg := s.set.Config.HTTP.Get()
	srv, err := s.newHTTP(ctx, host, cfg)
	if err != nil {
		return err
	}
	ln, err := cfg.ToListener(ctx)
	if err != nil {
		return err
	}
	s.http, s.httpAddr = srv, ln.Addr()
	s.set.Receiver.Logger.Info("serving OTLP over HTTP", zap.Stringer("address", ln.Addr()))
	s.serve(host, func() error { return srv.Serve(ln) }, http.ErrServerClosed)
	return nil
}

func (s *Server) serve(host component.Host, run func() error, stopped error) {
	s.serving.Add(1)
	go func() {
		defer s.serving.Done()
		if err := run(); err != nil && !errors.Is(err, stopped) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	}()
}

// Shutdown stops to listen and waits for the requests in work until ctx ends. It may be called more than
// once, and without Start.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	var err error
	if s.http != nil {
		if err = s.http.Shutdown(ctx); err != nil {
			err = errors.Join(err, s.http.Close())
		}
	}
	if s.grpc != nil {
		done := make(chan struct{})
		go func() {
			s.grpc.GracefulStop()
			close(done)
		}()
		select {
		case <-done:
		case <-ctx.Done():
			s.grpc.Stop()
			<-done
		}
	}
	s.serving.Wait()
	if s.starts != nil {
		s.starts.close()
	}
	s.grpc, s.http, s.grpcAddr, s.httpAddr, s.starts = nil, nil, nil, nil, nil
	return err
}

// Addrs tells the bound addresses under the names otlp_grpc and otlp_http; those not served are missing.
func (s *Server) Addrs() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	if s.grpcAddr != nil {
		out["otlp_grpc"] = s.grpcAddr.String()
	}
	if s.httpAddr != nil {
		out["otlp_http"] = s.httpAddr.String()
	}
	return out
}
