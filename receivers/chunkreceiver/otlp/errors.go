package otlp

import (
	"errors"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// statusOf maps an error to the answer of both protocols. Of the OTLP specification's retryable codes,
// Unavailable is used for the pipeline and ResourceExhausted, with RetryInfo, for this receiver's own limits.
func statusOf(err error, retryAfter time.Duration) (*status.Status, int) {
	code, answer := codes.Internal, http.StatusInternalServerError
	switch {
	case errors.Is(err, errUnparsable), errors.Is(err, errAllBad):
		code, answer = codes.InvalidArgument, http.StatusBadRequest
	case errors.Is(err, errOverload):
		code, answer = codes.ResourceExhausted, http.StatusTooManyRequests
	case errors.Is(err, errPipeline), errors.Is(err, errStopping):
		code, answer = codes.Unavailable, http.StatusServiceUnavailable
	}
	st := status.New(code, err.Error())
	if answer == http.StatusTooManyRequests || answer == http.StatusServiceUnavailable {
		if d, e := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); e == nil {
			st = d
		}
	}
	return st, answer
}
