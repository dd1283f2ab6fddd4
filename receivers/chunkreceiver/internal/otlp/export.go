package otlp

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/fermata-io/fermata/receivers/adapters/genai"
)

// The ways a request can fail; each has one gRPC code and one HTTP status (errors.go).
var (
	errOverload = errors.New("too many requests are in work (limits::max_in_flight_requests, limits::max_in_flight_bytes)")
	errAllBad   = errors.New("nothing in the request can be taken")
	errPipeline = errors.New("the pipeline can't take records now")
	errRefused  = errors.New("the pipeline refused the records")
	errStopping = errors.New("the receiver is stopping")
)

// export takes one request of protobuf bytes through translation and the pipeline. The result is also given
// with an error that comes after translation.
func (s *Server) export(ctx context.Context, p protocol, sig signal, body []byte) (*genai.Result, error) {
	s.mu.Lock()
	st := s.starts
	s.mu.Unlock()
	if st == nil {
		return nil, errStopping
	}
	now := s.set.Now()
	r, err := translate(s.tr, sig, body, now, st)
	if err != nil {
		return nil, err
	}
	s.tel.count(ctx, sig, r)
	if r.Accepted == 0 {
		if r.Rejected > 0 && r.Ignored == 0 {
			return r, fmt.Errorf("%w: %s", errAllBad, describe(sig, r))
		}
		return r, nil
	}
	ld := logs(r, now)
	n := ld.LogRecordCount()
	ctx = s.tel.obs[p].StartLogsOp(ctx)
	err = s.set.Next.ConsumeLogs(ctx, ld)
	s.tel.obs[p].EndLogsOp(ctx, "otlp_"+sig.String(), n, err)
	switch {
	case err == nil:
		return r, nil
	case consumererror.IsPermanent(err):
		// The cause may quote data; senders get the fact, the collector's log has the rest.
		return r, errRefused
	default:
		return r, errPipeline
	}
}
