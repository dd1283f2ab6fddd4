package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/api"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// found answers with what a test says. The real reader is behind the API in package apiextension's tests.
type found struct {
	list func(f findings.Filter) (*findings.Page, error)
	rows func(tenant string, ids []string) ([]findings.Row, error)
}

func (f *found) List(_ context.Context, q findings.Filter) (*findings.Page, error) { return f.list(q) }

func (f *found) Rows(_ context.Context, tenant string, ids []string) ([]findings.Row, error) {
	return f.rows(tenant, ids)
}

func withFindings(f *found) func(*api.Options) { return func(o *api.Options) { o.Findings = f } }

func stallRow(at int64, withdrawn bool) findings.Row {
	f := wire.Finding{
		ID: fmt.Sprintf("f%d", at), Kind: wire.FindingStall, Grade: "freeze", Tenant: "default", RequestID: "x", Tier: wire.TierServer, Attempt: 1,
		Emitter: "engine", StartedAt: at, Channel: "content", Chunk: wire.Some[int64](3), DurationUS: 7, Severity: "critical", Attribution: "engine",
		Confidence: 0.9, Evidence: json.RawMessage(`{"gaps":1}`), Withdrawn: withdrawn,
	}
	return findings.FromWire(&f, findings.OriginStream)
}

func TestFindings(t *testing.T) {
	var asked findings.Filter
	row := stallRow(5, false)
	s := server(&reader{}, withFindings(&found{list: func(f findings.Filter) (*findings.Page, error) {
		asked = f
		return &findings.Page{Findings: []findings.Finding{row.Finding()}, NextCursor: "next"}, nil
	}}))
	a := get(t, s, http.MethodGet, "/v1/findings?kind=stall&since=2h&until=1h&limit=7&cursor=MS5h&tenant=acme")
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.Contains(t, string(a.body), `"target":{"provider":null,"deployment":null,"model":null,"model_version":null}`)
	require.Equal(t, findings.Filter{Tenant: "acme", Kind: "stall", Since: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour), Limit: 7, Cursor: "MS5h"}, asked)
	get(t, s, http.MethodGet, "/v1/findings")
	require.Equal(t, findings.Filter{Tenant: "default", Limit: 100}, asked, "no window unless asked for")
	a = get(t, server(&reader{}), http.MethodGet, "/v1/findings")
	require.JSONEq(t, `{"findings":[],"next_cursor":""}`, string(a.body))
}

// Of one request, what is stored and what its tiers show together are one answer, the same on both paths.
func TestFindingsOfARequest(t *testing.T) {
	page := func() *requests.Request {
		r := bare()
		at := int64(1_780_000_000_000_000)
		r.Client = &requests.Client{
			State: requests.StateCompleted, StartedAt: &at, Retractions: []requests.Retraction{{TUS: 2_000_000, Bytes: 4}},
			Visibility: []requests.Visibility{}, LongFrames: []requests.LongFrame{},
		}
		return r
	}
	s := server(&reader{request: func(_ context.Context, _, id string) (*requests.Request, error) {
		if id != "x" {
			return nil, requests.ErrNotFound
		}
		return page(), nil
	}}, withFindings(&found{
		rows: func(tenant string, ids []string) ([]findings.Row, error) {
			require.Equal(t, "default", tenant)
			require.Equal(t, []string{"x"}, ids)
			joined := stallRow(6, false)
			joined.Origin = findings.OriginJoin
			return []findings.Row{stallRow(5, false), stallRow(7, true), joined}, nil
		},
		list: func(f findings.Filter) (*findings.Page, error) {
			return &findings.Page{Findings: []findings.Finding{}}, nil
		},
	}))
	var r struct{ Findings []findings.Finding }
	a := get(t, s, http.MethodGet, "/v1/requests/x")
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	require.NoError(t, json.Unmarshal(a.body, &r))
	require.Len(t, r.Findings, 2, "not what was withdrawn, nor what an earlier join stored")
	require.Equal(t, "stall", r.Findings[0].Kind)
	require.Equal(t, "retraction", r.Findings[1].Kind)

	var p findings.Page
	a = get(t, s, http.MethodGet, "/v1/findings?request_id=x")
	require.NoError(t, json.Unmarshal(a.body, &p))
	require.Equal(t, []findings.Finding{r.Findings[1], r.Findings[0]}, p.Findings, "latest first")
	a = get(t, s, http.MethodGet, "/v1/findings?request_id=x&kind=retraction")
	require.NoError(t, json.Unmarshal(a.body, &p))
	require.Len(t, p.Findings, 1)
	a = get(t, s, http.MethodGet, "/v1/findings?request_id=gone")
	require.Equal(t, http.StatusOK, a.status)
}

func TestFindingsRefused(t *testing.T) {
	s := server(&reader{}, withFindings(&found{list: func(findings.Filter) (*findings.Page, error) {
		return nil, fmt.Errorf("%w: cursor is not one that a page gave", findings.ErrBadFilter)
	}}))
	for query, param := range map[string]string{
		"kind=nothing": "kind", "limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "since=yesterday": "since", "until=soon": "until",
		"since=1h&until=2h": "since", "tenant=a%20b": "tenant", "request_id=" + strings.Repeat("x", 257): "request_id", "request=x": "request",
		"cursor=" + strings.Repeat("x", 513): "cursor", "cursor=x": "cursor",
	} {
		a := get(t, s, http.MethodGet, "/v1/findings?"+query)
		require.Equal(t, http.StatusBadRequest, a.status, query)
		require.Equal(t, param, (*a.problem(t).Errors)[0].Parameter, query)
	}
}
