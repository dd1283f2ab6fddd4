package otlp

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
)

// The ways a request can fail; each has one gRPC code and one HTTP status (errors.go).
var (
	errOverload = errors.New("too many requests are in work (limits::max_in_flight_requests, limits::max_in_flight_bytes)")
	errAllBad   = errors.New("nothing in the request can be taken")
	errPipeline = errors.New("the pipeline can't take records now")
	errRefused  = errors.New("the pipeline refused the records")
	errStopping = errors.New("the receiver is stopping")
)

// outcome is what an answer tells of a request.
type outcome struct {
	rejected int
	message  string // empty: nothing to tell
}

// export takes one request of protobuf bytes through translation and the pipeline.
func (s *Server) export(ctx context.Context, p protocol, sig signal, body []byte) (outcome, error) {
	s.mu.Lock()
	st := s.starts
	s.mu.Unlock()
	if st == nil {
		return outcome{}, errStopping
	}
	now := s.set.Now()
	r, release, err := translate(s.tr, sig, body, now, st)
	defer release()
	if err != nil {
		return outcome{}, err
	}
	s.tel.count(ctx, sig, r)
	out := outcome{rejected: r.Rejected, message: describe(sig, r)}
	if r.Accepted == 0 {
		if r.Rejected > 0 && r.Ignored == 0 {
			return out, fmt.Errorf("%w: %s", errAllBad, out.message)
		}
		return out, nil
	}
	ld := logs(r, now)
	n := ld.LogRecordCount()
	ctx = s.tel.obs[p].StartLogsOp(ctx)
	err = s.set.Next.ConsumeLogs(ctx, ld)
	s.tel.obs[p].EndLogsOp(ctx, "otlp_"+sig.String(), n, err)
	switch {
	case err == nil:
		return out, nil
	case consumererror.IsPermanent(err):
		// The cause may quote data; senders get the fact, the collector's log has the rest.
		return out, errRefused
	default:
		return out, errPipeline
	}
}
