package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// OTLP's two methods.
const (
	exportLogs   = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	exportTraces = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
)

// errBusy is an answer that asks to come again.
var errBusy = errors.New("busy")

// sender sends one body.
type sender interface {
	send(ctx context.Context, body []byte) error
	close() error
}

// bytesCodec sends messages that are encoded already.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(b)
	return nil
}

func (bytesCodec) Name() string { return "proto" }

type grpcSender struct {
	conn   *grpc.ClientConn
	method string
}

func newGRPCSender(addr, method string) (sender, error) {
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	return &grpcSender{c, method}, err
}

func (s *grpcSender) send(ctx context.Context, body []byte) error {
	var resp []byte
	err := s.conn.Invoke(ctx, s.method, body, &resp)
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted:
		return errBusy
	}
	const empty = 2 // bytes of a partial success that says nothing
	if err == nil && len(resp) > empty {
		return fmt.Errorf("%s: not all was taken: %q", s.method, resp)
	}
	return err
}

func (s *grpcSender) close() error { return s.conn.Close() }

type httpSender struct {
	client *http.Client
	url    string
	header http.Header
}

func newHTTPSender(url, contentType, userAgent string, conns int) sender {
	h := http.Header{"Content-Type": {contentType}}
	if userAgent != "" {
		h.Set("User-Agent", userAgent)
	}
	return &httpSender{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, DisableCompression: true}},
		url:    url, header: h,
	}
}

func (s *httpSender) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = s.header
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		return errBusy
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %d: %.300s", s.url, resp.StatusCode, answer)
	}
	return nil
}

func (s *httpSender) close() error {
	s.client.CloseIdleConnections()
	return nil
}

// sendAll sends every body once over conns callers, and busy ones again after a moment. It returns how often that was.
func sendAll(ctx context.Context, s sender, bodies [][]byte, conns int) (busy int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, again atomic.Int64
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(bodies) {
					return
				}
				for {
					err := s.send(ctx, bodies[i])
					if err == nil {
						break
					}
					if !errors.Is(err, errBusy) {
						cancel(err)
						return
					}
					again.Add(1)
					select {
					case <-time.After(50 * time.Millisecond):
					case <-ctx.Done():
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return again.Load(), context.Cause(ctx)
}
