package demo

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Server is the model on a loopback port of its own.
type Server struct {
	http *http.Server
	l    net.Listener
	done chan struct{}
}

// Listen starts the model. Close ends it.
func Listen(ctx context.Context, c Config) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{l: l, done: make(chan struct{}), http: &http.Server{Handler: NewHandler(c), ReadHeaderTimeout: 10 * time.Second}}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with Close; a broken loopback listener shows in its answers
	}()
	return s, nil
}

// Addr returns host:port.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Close ends running answers and stops.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.done
}
