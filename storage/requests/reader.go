package requests

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrNotFound is returned when no record has the id, or, as an *AmbiguousError, when it names several requests.
var ErrNotFound = errors.New("request not found")

// AmbiguousError says that an id is no request's own but another name of several: a trace, for instance. It is an ErrNotFound.
type AmbiguousError struct {
	Requests []string // ids in order, at most maxOwners
	More     bool     // there are others
}

// Error lists the requests.
func (e *AmbiguousError) Error() string {
	list := strings.Join(e.Requests, ", ")
	if e.More {
		list += ", …"
	}
	return "it is another name of several requests: " + list
}

// Unwrap returns ErrNotFound.
func (e *AmbiguousError) Unwrap() error { return ErrNotFound }

func ambiguous(owners []owner) *AmbiguousError {
	e := &AmbiguousError{More: len(owners) > maxOwners}
	for _, o := range owners[:min(len(owners), maxOwners)] {
		e.Requests = append(e.Requests, o.id)
	}
	return e
}

// ErrBadFilter is returned for a filter that can't be answered; its text says which field.
var ErrBadFilter = errors.New("bad filter")

// Reader reads joined requests.
type Reader interface {
	// Request returns one request by its id, or by an alias that belongs to exactly one request.
	Request(ctx context.Context, tenant, id string) (*Request, error)
	// List returns requests without their chunks, newest first.
	List(ctx context.Context, f Filter) (*Page, error)
}

// Filter selects requests. Zero values don't filter, but for Tenant (default tenant), Since (one hour before
// Until), Until (now) and Limit (100, at most 1000).
type Filter struct {
	Tenant     string
	Since      time.Time // requests started at or after
	Until      time.Time // and before
	Model      string
	Deployment string
	Provider   string
	App        string
	QueryType  string
	State      State
	Limit      int
	Cursor     string // Page.NextCursor of the page before
}

// Page is one page of a list.
type Page struct {
	Requests   []Summary `json:"requests"`
	NextCursor string    `json:"next_cursor"` // empty: no more
}

// Summary is one request in a list: the scalars of Request. A null value is not known.
type Summary struct {
	RequestID       string  `json:"request_id"`
	Tenant          string  `json:"tenant"`
	StartedAt       int64   `json:"started_at"` // µs since the Unix epoch: server's clock, else gateway's, else the arrival of the client's record
	State           State   `json:"state"`
	Target          Target  `json:"target"`
	App             *string `json:"app"`
	QueryType       string  `json:"query_type"`
	ServedAttempt   *uint32 `json:"served_attempt"`
	Attempts        int     `json:"attempts"`
	FinishReason    *string `json:"finish_reason"`
	Error           *string `json:"error"`
	TTFTUS          *int64  `json:"ttft_us"` // served attempt's server
	TTFAUS          *int64  `json:"ttfa_us"`
	EndUS           *int64  `json:"end_us"`
	NChunks         *int64  `json:"n_chunks"`
	Tokens          *int64  `json:"tokens"`
	MaxGapUS        *int64  `json:"max_gap_us"`
	QueueWaitUS     *int64  `json:"queue_wait_us"` // gateway's
	PerceivedTTFTUS *int64  `json:"perceived_ttft_us"`
	GapUS           *int64  `json:"gap_us"`
	HasServer       bool    `json:"has_server"`
	HasGateway      bool    `json:"has_gateway"`
	HasClient       bool    `json:"has_client"`
}
