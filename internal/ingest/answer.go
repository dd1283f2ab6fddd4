package ingest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/fermata-io/fermata/internal/wire"
)

// Answer is the body of every answer of an ingest endpoint.
type Answer struct {
	// Accepted items are on their way: the pipeline took them.
	Accepted int `json:"accepted"`
	// Rejected items are wrong and will be refused again.
	Rejected int `json:"rejected"`
	// Ignored items are well formed but of no use here: a gateway's log of a call that answers without text.
	Ignored int `json:"ignored,omitempty"`
	// Errors has one entry for each problem, at most MaxErrors.
	Errors []AnswerError `json:"errors,omitempty"`
}

// MaxErrors bounds the problems listed in one answer.
const MaxErrors = 100

// AnswerError is one problem of an item, or of the request as a whole.
type AnswerError struct {
	// Index is the item's place in the body, from 0; absent when the request as a whole was refused.
	Index *int `json:"index,omitempty"`
	// RequestID is the item's, where it could be read.
	RequestID string `json:"request_id,omitempty"`
	// Field is the path to the value, a header's name, or a word in brackets: (body), (item), (pipeline).
	Field string `json:"field"`
	// Reason completes the sentence that Field begins.
	Reason string `json:"reason"`
}

// reject adds an item's problems.
func (a *Answer) reject(e *wire.ItemError) {
	a.Rejected++
	for _, f := range wire.FieldErrors(e.Err) {
		if len(a.Errors) >= MaxErrors {
			return
		}
		index := e.Index
		a.Errors = append(a.Errors, AnswerError{Index: &index, RequestID: e.RequestID, Field: f.Field, Reason: f.Reason})
	}
}

// write sends the answer.
func (a *Answer) write(w http.ResponseWriter, status int, retryAfter time.Duration) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if retryAfter > 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		h.Set("Retry-After", strconv.FormatInt(int64((retryAfter+time.Second-1)/time.Second), 10))
	}
	b, err := json.Marshal(a)
	if err != nil { // counts and strings: can't fail
		status, b = http.StatusInternalServerError, []byte(`{"accepted":0,"rejected":0}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// WriteError answers a request that was refused as a whole, in the form of every ingest answer. With
// retryAfter, statuses 429 and 503 carry it.
func WriteError(w http.ResponseWriter, status int, field, reason string, retryAfter time.Duration) {
	a := Answer{Errors: []AnswerError{{Field: field, Reason: reason}}}
	a.write(w, status, retryAfter)
}

// ErrorHandler gives the refusals of confighttp (authentication, decompression) the form of all others. It
// is for confighttp.WithErrorHandler.
func ErrorHandler(w http.ResponseWriter, _ *http.Request, message string, status int) {
	field := fieldBody
	if status == http.StatusUnauthorized {
		field, message = "Authorization", "is missing or wrong" // the authenticator's message may quote it
	}
	WriteError(w, status, field, message, time.Second)
}

// StatusFor maps what the pipeline said to a status: 503 to try again, also when it is full; 400 when it
// refused for ever; 429 when it asks to slow down.
func StatusFor(err error) int {
	var e *consumererror.Error
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &e) && consumererror.ToHTTPStatus(err) == http.StatusTooManyRequests:
		return http.StatusTooManyRequests
	case consumererror.IsPermanent(err):
		return http.StatusBadRequest
	default:
		return http.StatusServiceUnavailable
	}
}
