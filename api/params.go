package api

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// Bounds of parameters, as openapi.yaml states them.
const (
	maxLimit   = 1000
	maxName    = 1024
	maxAlias   = 256
	maxCursor  = 512
	defaultAgo = time.Hour
	clockAhead = 5 * time.Minute // a sender's clock may be ahead by as much as receivers take
)

// maxQuery bounds the query string.
const maxQuery = 8 << 10

// parameters names the query parameters of each route; others are refused, since a misspelt filter would silently answer
// another question.
var parameters = map[string][]string{
	"/v1/requests/:request_id": {"tenant"},
	"/v1/findings":             {"tenant", "request_id", "kind", "since", "until", "limit", "cursor"},
	"/v1/requests": {
		"tenant", "since", "until", "model", "deployment", "provider", "app", "query_type", "state", "limit", "cursor",
	},
}

// known refuses query strings that the route has no use for.
func known(c *gin.Context) {
	names, ok := parameters[c.FullPath()]
	if !ok {
		return
	}
	raw := c.Request.URL.RawQuery
	if len(raw) > maxQuery {
		write(c, badRequest("query", fmt.Sprintf("has %d bytes, at most %d are allowed", len(raw), maxQuery)))
		return
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		write(c, badRequest("query", "is not well-formed"))
		return
	}
	for name, values := range q {
		switch {
		case !slices.Contains(names, name):
			write(c, badRequest(printable(name), "is no parameter of this path; want "+strings.Join(names, ", ")))
			return
		case len(values) > 1:
			write(c, badRequest(name, "is given more than once"))
			return
		}
	}
}

// printable cuts what a caller made up to what may stand in an answer.
func printable(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.Map(func(r rune) rune {
		if r > 126 || r < 33 {
			return '?'
		}
		return r
	}, s)
}

// instant reads since and until: RFC 3339, µs since 1970, or a duration before now.
func instant(parameter, s string, now time.Time) (time.Time, error) {
	const want = "want RFC 3339, microseconds since 1970, or a duration like 15m, 24h or 7d"
	if len(s) > 64 {
		return time.Time{}, bad(parameter, "is too long; "+want)
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	if us, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case us < 1e14:
			return time.Time{}, bad(parameter, "is before 1973; "+want)
		case us > 4e15:
			return time.Time{}, bad(parameter, "is after 2096, is it nanoseconds? "+want)
		}
		return time.UnixMicro(us), nil
	}
	d, err := duration(s)
	if err != nil || d < 0 {
		return time.Time{}, bad(parameter, "can't be read; "+want)
	}
	return now.Add(-d), nil
}

// duration reads Go's durations and whole or fractional days.
func duration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		f, err := strconv.ParseFloat(days, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > 36500 {
			return 0, fmt.Errorf("%q is no number of days", days)
		}
		return time.Duration(f * float64(24*time.Hour)), nil
	}
	return time.ParseDuration(s)
}

// idOf checks a request id or alias.
func idOf(id string) error {
	if id == "" || len(id) > maxAlias {
		return bad("request_id", fmt.Sprintf("has %d bytes; want 1 to %d", len(id), maxAlias))
	}
	if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return bad("request_id", "holds characters that no id or alias has")
	}
	return nil
}

func tenantOf(t *string) (string, error) {
	if t == nil || *t == "" {
		return wire.DefaultTenant, nil
	}
	if !wire.ValidID(*t) {
		return "", bad("tenant", "must have 1 to 128 letters, digits and . _ : -")
	}
	return *t, nil
}

// filter turns the parameters of a list into a filter.
func filter(p ListRequestsParams, now time.Time) (requests.Filter, error) {
	var f requests.Filter
	var err error
	if f.Tenant, err = tenantOf(p.Tenant); err != nil {
		return f, err
	}
	f.Until = now.Add(clockAhead)
	if p.Until != nil && *p.Until != "" {
		if f.Until, err = instant("until", *p.Until, now); err != nil {
			return f, err
		}
	}
	f.Since = now.Add(-defaultAgo)
	if f.Until.Before(now) {
		f.Since = f.Until.Add(-defaultAgo)
	}
	if p.Since != nil && *p.Since != "" {
		if f.Since, err = instant("since", *p.Since, now); err != nil {
			return f, err
		}
	}
	if !f.Since.Before(f.Until) {
		return f, bad("since", "is not before until")
	}
	for _, n := range []struct {
		name string
		from *string
		to   *string
		most int
	}{
		{"model", p.Model, &f.Model, maxName},
		{"deployment", p.Deployment, &f.Deployment, maxName},
		{"provider", p.Provider, &f.Provider, maxName},
		{"app", p.App, &f.App, maxName},
		{"cursor", p.Cursor, &f.Cursor, maxCursor},
	} {
		if n.from == nil {
			continue
		}
		if len(*n.from) > n.most {
			return f, bad(n.name, fmt.Sprintf("has %d bytes, at most %d are allowed", len(*n.from), n.most))
		}
		*n.to = *n.from
	}
	if p.QueryType != nil && *p.QueryType != "" {
		if !p.QueryType.Valid() {
			return f, bad("query_type", "is none of short_qa, long_form, code_completion, translate_summarize, other")
		}
		f.QueryType = string(*p.QueryType)
	}
	if p.State != nil && *p.State != "" {
		switch *p.State {
		case requests.StateRunning, requests.StateCompleted, requests.StateFailed, requests.StateAborted:
			f.State = *p.State
		default:
			return f, bad("state", "is none of running, completed, failed, aborted")
		}
	}
	f.Limit = 100
	if p.Limit != nil {
		if f.Limit = *p.Limit; f.Limit < 1 || f.Limit > maxLimit {
			return f, bad("limit", fmt.Sprintf("is %d; want 1 to %d", *p.Limit, maxLimit))
		}
	}
	return f, nil
}
