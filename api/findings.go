package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fermata-io/fermata/feedback/joined"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// FindingsReader reads stored findings; storage/findings has it.
type FindingsReader interface {
	// List returns a page of findings, the latest first.
	List(ctx context.Context, f findings.Filter) (*findings.Page, error)
	// Rows returns the last state of every finding of requests.
	Rows(ctx context.Context, tenant string, ids []string) ([]findings.Row, error)
}

// noFindings is a store without any.
type noFindings struct{}

func (noFindings) List(context.Context, findings.Filter) (*findings.Page, error) {
	return &findings.Page{Findings: []findings.Finding{}}, nil
}

func (noFindings) Rows(context.Context, string, []string) ([]findings.Row, error) { return nil, nil }

// findingsOf returns the findings of a joined request: what is stored of its streams, and what the tiers together show
// by now.
func (s *Server) findingsOf(ctx context.Context, r *requests.Request) ([]findings.Finding, error) {
	rows, err := s.opt.Findings.Rows(ctx, r.Tenant, joined.Names(r))
	if err != nil {
		return nil, err
	}
	cfg := crosstier.NewDefaultConfig()
	return joined.Findings(r, rows, &cfg), nil
}

// addFindings fills in the findings of a request.
func (s *Server) addFindings(ctx context.Context, r *requests.Request) error {
	found, err := s.findingsOf(ctx, r)
	if err != nil {
		return err
	}
	r.Findings = make([]json.RawMessage, 0, len(found))
	for i := range found {
		b, err := json.Marshal(&found[i])
		if err != nil {
			return fmt.Errorf("finding %s: %w", found[i].ID, err)
		}
		r.Findings = append(r.Findings, b)
	}
	return nil
}

// ListFindings answers GET /v1/findings.
func (s *Server) ListFindings(ctx context.Context, r ListFindingsRequestObject) (ListFindingsResponseObject, error) {
	f, err := findingsFilter(r.Params, s)
	if err != nil {
		return nil, err
	}
	page, err := s.findingsPage(ctx, f)
	if err != nil {
		return nil, err
	}
	if page.Findings == nil {
		page.Findings = []findings.Finding{}
	}
	return ListFindings200JSONResponse(*page), nil
}

// findingsPage asks the store; of one request it asks for the request, so that what its tiers show is there at once.
func (s *Server) findingsPage(ctx context.Context, f findings.Filter) (*findings.Page, error) {
	if f.RequestID == "" {
		return s.opt.Findings.List(ctx, f)
	}
	req, err := s.opt.Requests.Request(ctx, f.Tenant, f.RequestID)
	if errors.Is(err, requests.ErrNotFound) {
		return s.opt.Findings.List(ctx, f) // findings are kept longer than requests
	}
	if err != nil {
		return nil, err
	}
	all, err := s.findingsOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return findings.Select(all, f)
}

// kinds lists the kinds of finding, for people.
func kinds() string {
	names := make([]string, len(wire.FindingKinds))
	for i, k := range wire.FindingKinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

func findingsFilter(p ListFindingsParams, s *Server) (findings.Filter, error) {
	var f findings.Filter
	var err error
	if f.Tenant, err = tenantOf(p.Tenant); err != nil {
		return f, err
	}
	if p.RequestId != nil && *p.RequestId != "" {
		if err := idOf(*p.RequestId); err != nil {
			return f, err
		}
		f.RequestID = *p.RequestId
	}
	if p.Kind != nil && *p.Kind != "" {
		if !p.Kind.Valid() {
			return f, bad("kind", "is no kind of finding; want one of "+kinds())
		}
		f.Kind = string(*p.Kind)
	}
	now := s.now()
	if p.Since != nil && *p.Since != "" {
		if f.Since, err = instant("since", *p.Since, now); err != nil {
			return f, err
		}
	}
	if p.Until != nil && *p.Until != "" {
		if f.Until, err = instant("until", *p.Until, now); err != nil {
			return f, err
		}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, bad("since", "is not before until")
	}
	f.Limit = 100
	if p.Limit != nil {
		if f.Limit = *p.Limit; f.Limit < 1 || f.Limit > maxLimit {
			return f, bad("limit", fmt.Sprintf("is %d; want 1 to %d", *p.Limit, maxLimit))
		}
	}
	if p.Cursor != nil {
		if len(*p.Cursor) > maxCursor {
			return f, bad("cursor", fmt.Sprintf("has %d bytes, at most %d are allowed", len(*p.Cursor), maxCursor))
		}
		f.Cursor = *p.Cursor
	}
	return f, nil
}
