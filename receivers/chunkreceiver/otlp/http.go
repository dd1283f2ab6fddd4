package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

func (s *Server) newHTTP(ctx context.Context, host component.Host, cfg *confighttp.ServerConfig) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("/v1/traces", s.handler(signalTraces))
	mux.Handle("/v1/logs", s.handler(signalLogs))
	mux.HandleFunc("/v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, isJSON(r), status.New(codes.Unimplemented, noMetrics), http.StatusNotFound)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, isJSON(r), status.New(codes.NotFound, "no such path; OTLP is taken at /v1/traces and /v1/logs"), http.StatusNotFound)
	})
	return cfg.ToServer(ctx, host.GetExtensions(), s.set.Receiver.TelemetrySettings, mux,
		confighttp.WithErrorHandler(func(w http.ResponseWriter, r *http.Request, msg string, code int) {
			if strings.HasPrefix(msg, "unsupported Content-Encoding") {
				code = http.StatusUnsupportedMediaType
				w.Header().Set("Accept-Encoding", "gzip, zstd, deflate, snappy, lz4")
			}
			writeError(w, isJSON(r), status.New(codes.InvalidArgument, msg), code)
		}))
}

// isJSON reports whether errors are to be JSON: unless the request is protobuf.
func isJSON(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err != nil || t != typeProtobuf
}

// bodies keeps the buffers that requests were read into.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKeptBody bounds the buffers that are kept.
const maxKeptBody = 4 << 20

// newBody returns an empty buffer with room for so many bytes.
func newBody(size int) *bytes.Buffer {
	b := bodies.Get().(*bytes.Buffer)
	b.Grow(size)
	return b
}

func freeBody(b *bytes.Buffer) {
	if b.Cap() <= maxKeptBody {
		b.Reset()
		bodies.Put(b)
	}
}

func (s *Server) handler(sig signal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			s.httpError(w, r, sig, status.New(codes.InvalidArgument, "is not POST"), http.StatusMethodNotAllowed)
			return
		}
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != typeProtobuf && media != typeJSON {
			w.Header().Set("Accept-Post", typeProtobuf+", "+typeJSON)
			s.httpError(w, r, sig, status.New(codes.InvalidArgument, "Content-Type must be "+typeProtobuf+" or "+typeJSON), http.StatusUnsupportedMediaType)
			return
		}
		if !s.adm.enter(0) {
			s.fail(w, r, sig, errOverload)
			return
		}
		defer s.adm.leave(0)
		size := 0
		if n := r.ContentLength; n > 0 && n <= maxKeptBody {
			size = int(n) + bytes.MinRead
		}
		buf := newBody(size)
		defer freeBody(buf)
		if _, err := buf.ReadFrom(r.Body); err != nil {
			s.readError(w, r, sig, err)
			return
		}
		n := int64(buf.Len())
		if s.adm.bytes.Add(n) > s.adm.maxBytes {
			s.adm.bytes.Add(-n)
			s.fail(w, r, sig, errOverload)
			return
		}
		defer s.adm.bytes.Add(-n)
		s.take(w, r, sig, buf.Bytes(), media == typeJSON)
	})
}

// take translates a body and answers.
func (s *Server) take(w http.ResponseWriter, r *http.Request, sig signal, body []byte, asJSON bool) {
	if asJSON {
		var err error
		if body, err = fromJSON(sig, body); err != nil {
			s.fail(w, r, sig, err)
			return
		}
	}
	res, err := s.export(r.Context(), protocolHTTP, sig, body)
	if err != nil {
		s.fail(w, r, sig, err)
		return
	}
	out, err := response(sig, res, asJSON)
	if err != nil {
		s.fail(w, r, sig, fmt.Errorf("encode response: %w", err))
		return
	}
	s.tel.answered(r.Context(), protocolHTTP, sig, "200")
	write(w, http.StatusOK, asJSON, out)
}

// readError answers a body that could not be read to its end.
func (s *Server) readError(w http.ResponseWriter, r *http.Request, sig signal, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		s.httpError(w, r, sig, status.New(codes.InvalidArgument,
			fmt.Sprintf("the body has more than %d bytes (otlp::http::max_request_body_size); send smaller batches", large.Limit)), http.StatusRequestEntityTooLarge)
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.httpError(w, r, sig, status.New(codes.InvalidArgument, "the body is cut short"), http.StatusBadRequest)
	default:
		s.httpError(w, r, sig, status.New(codes.InvalidArgument, "the body can't be read, or is not what Content-Encoding says"), http.StatusBadRequest)
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, sig signal, err error) {
	st, code := statusOf(err, s.set.Limits.RetryAfter)
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(s.set.Limits.RetryAfter.Seconds()))))
	}
	s.httpError(w, r, sig, st, code)
}

func (s *Server) httpError(w http.ResponseWriter, r *http.Request, sig signal, st *status.Status, code int) {
	s.tel.answered(r.Context(), protocolHTTP, sig, strconv.Itoa(code))
	writeError(w, isJSON(r), st, code)
}

// writeError answers with a google.rpc.Status in the request's encoding, as OTLP asks.
func writeError(w http.ResponseWriter, asJSON bool, st *status.Status, code int) {
	msg := st.Proto()
	var out []byte
	var err error
	if asJSON {
		out, err = protojson.Marshal(msg)
	} else {
		out, err = proto.Marshal(msg)
	}
	if err != nil {
		http.Error(w, st.Message(), code)
		return
	}
	write(w, code, asJSON, out)
}

func write(w http.ResponseWriter, code int, asJSON bool, body []byte) {
	w.Header().Set("Content-Type", typeProtobuf)
	if asJSON {
		w.Header().Set("Content-Type", typeJSON)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
