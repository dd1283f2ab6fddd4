package otlp

import (
	"bytes"
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that all but our messages go through
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// rawRequest is a message as it came. It is valid until freed, which is always to be called.
type rawRequest struct{ body *bytes.Buffer }

func (r *rawRequest) free() {
	if r.body != nil {
		freeBody(r.body)
	}
}

// rawResponse is an encoded message.
type rawResponse []byte

// rawCodec hands OTLP messages over as bytes and leaves all others to the usual codec.
type rawCodec struct{ encoding.CodecV2 }

func newRawCodec() encoding.CodecV2 { return rawCodec{encoding.GetCodecV2("proto")} }

// Marshal implements encoding.CodecV2.
func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(rawResponse); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*rawRequest); ok {
		// Not MaterializeToBuffer: its pool clears a megabyte for each message of more than 32 kB.
		r.body = newBody(data.Len())
		for _, b := range data {
			r.body.Write(b.ReadOnlyData())
		}
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// exporter is what the services call; grpc checks it by reflection.
type exporter interface {
	exportRaw(ctx context.Context, sig signal, req *rawRequest) (rawResponse, error)
}

func (s *Server) newGRPC(ctx context.Context, host component.Host, cfg *configgrpc.ServerConfig) (*grpc.Server, error) {
	srv, err := cfg.ToServer(ctx, host.GetExtensions(), s.set.Receiver.TelemetrySettings,
		configgrpc.WithGrpcServerOption(grpc.ForceServerCodecV2(newRawCodec())))
	if err != nil {
		return nil, err
	}
	srv.RegisterService(service("opentelemetry.proto.collector.trace.v1.TraceService", signalTraces), s)
	srv.RegisterService(service("opentelemetry.proto.collector.logs.v1.LogsService", signalLogs), s)
	srv.RegisterService(metricsService(), s)
	return srv, nil
}

// service describes a service with the one method Export, whose messages stay bytes.
func service(name string, sig signal) *grpc.ServiceDesc {
	method := "/" + name + "/Export"
	return &grpc.ServiceDesc{
		ServiceName: name,
		HandlerType: (*exporter)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(srv any, ctx context.Context, dec func(any) error, mw grpc.UnaryServerInterceptor) (any, error) {
				req := new(rawRequest)
				if err := dec(req); err != nil {
					return nil, err
				}
				defer req.free()
				run := func(ctx context.Context, req any) (any, error) {
					return srv.(exporter).exportRaw(ctx, sig, req.(*rawRequest))
				}
				if mw == nil {
					return run(ctx, req)
				}
				return mw(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, run)
			},
		}},
		Metadata: "opentelemetry/proto/collector",
	}
}

// metricsService answers metrics with a reason: the collector's own OTLP receiver takes them.
func metricsService() *grpc.ServiceDesc {
	d := service("opentelemetry.proto.collector.metrics.v1.MetricsService", signalLogs)
	d.Methods[0].Handler = func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		req := new(rawRequest)
		if err := dec(req); err != nil {
			return nil, err
		}
		req.free()
		return nil, status.Error(codes.Unimplemented, noMetrics)
	}
	return d
}

const noMetrics = "this receiver takes logs and traces, not metrics: set OTEL_METRICS_EXPORTER=none, or send metrics to an otlp receiver"

// exportRaw implements exporter.
func (s *Server) exportRaw(ctx context.Context, sig signal, req *rawRequest) (rawResponse, error) {
	body := req.body.Bytes()
	size := int64(len(body))
	if !s.adm.enter(size) {
		return nil, s.grpcError(ctx, sig, errOverload)
	}
	defer s.adm.leave(size)
	r, err := s.export(ctx, protocolGRPC, sig, body)
	if err != nil {
		return nil, s.grpcError(ctx, sig, err)
	}
	resp, err := response(sig, r, false)
	if err != nil {
		return nil, s.grpcError(ctx, sig, fmt.Errorf("encode response: %w", err))
	}
	s.tel.answered(ctx, protocolGRPC, sig, codes.OK.String())
	return resp, nil
}

func (s *Server) grpcError(ctx context.Context, sig signal, err error) error {
	st, _ := statusOf(err, s.set.Limits.RetryAfter)
	s.tel.answered(ctx, protocolGRPC, sig, st.Code().String())
	return st.Err()
}
