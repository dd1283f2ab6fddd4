package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// retryAfter is how many seconds a caller is asked to wait when the database is away.
const retryAfter = 2

// paramError names a parameter and what is wrong with it.
type paramError struct {
	parameter, reason string
}

func (e *paramError) Error() string { return e.parameter + " " + e.reason }

func bad(parameter, reason string) error { return &paramError{parameter, reason} }

// problemOf maps an error to the answer and whether it is this server's own fault.
func problemOf(err error) (p Problem, fault bool) {
	var pe *paramError
	var several *requests.AmbiguousError
	switch {
	case errors.As(err, &pe):
		return badRequest(pe.parameter, pe.reason), false
	case errors.Is(err, requests.ErrBadFilter):
		return badFilter(err, requests.ErrBadFilter), false
	case errors.Is(err, findings.ErrBadFilter):
		return badFilter(err, findings.ErrBadFilter), false
	case errors.As(err, &several):
		return problem(http.StatusNotFound, "no request has this id; "+several.Error()), false
	case errors.Is(err, requests.ErrNotFound):
		return problem(http.StatusNotFound, "no request with this id is known in this tenant; one just sent appears within seconds"), false
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, "ClickHouse took too long to answer; ask for a shorter window or again later"), true
	case errors.Is(err, context.Canceled):
		return problem(http.StatusServiceUnavailable, "the request was cancelled"), false
	}
	if clickhouse.Classify(err) == clickhouse.Permanent {
		return problem(http.StatusInternalServerError, "this query failed; the server's log says why"), true
	}
	return problem(http.StatusServiceUnavailable, "ClickHouse can't be reached or is overloaded; GET /readyz says more"), true
}

func problem(status int, detail string) Problem {
	return Problem{Title: http.StatusText(status), Status: status, Detail: &detail}
}

func badRequest(parameter, reason string) Problem {
	p := problem(http.StatusBadRequest, "a parameter is wrong")
	p.Errors = &[]struct {
		Parameter string `json:"parameter"`
		Reason    string `json:"reason"`
	}{{parameter, reason}}
	return p
}

// badFilter names the parameter with which storage's reason begins.
func badFilter(err, sentinel error) Problem {
	_, text, _ := strings.Cut(err.Error(), sentinel.Error()+": ")
	name, reason, _ := strings.Cut(text, " ")
	if !slices.Contains(parameters["/v1/requests"], name) {
		return badRequest("query", "can't be answered")
	}
	return badRequest(name, reason)
}

// write sends a problem for paths and errors that the generated code doesn't know.
func write(c *gin.Context, p Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		c.AbortWithStatus(http.StatusInternalServerError)
		return
	}
	if p.Status == http.StatusServiceUnavailable {
		c.Header("Retry-After", strconv.Itoa(retryAfter))
	}
	c.Data(p.Status, problemType, append(body, '\n'))
	c.Abort()
}

// failed answers err and logs it when it is a fault of this server or of what it stands on.
func (s *Server) failed(c *gin.Context, err error) {
	p, fault := problemOf(err)
	if fault {
		s.log.Warn("query failed", zap.String("route", c.FullPath()), zap.Int("status", p.Status), zap.Error(err))
	}
	write(c, p)
}
