package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/storage/requests"
)

// full returns a request in which every field is set, found by reflection, so that a new field of storage's struct must
// enter openapi.yaml too.
func full() *requests.Request {
	r := &requests.Request{}
	fill(reflect.ValueOf(r).Elem())
	r.Findings = []json.RawMessage{json.RawMessage(`{"kind":"stall"}`)} // replaced by what is stored and derived
	return r
}

func summary() requests.Summary {
	var s requests.Summary
	fill(reflect.ValueOf(&s).Elem())
	return s
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("running") // a word that is also a state
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(7)
	}
}

// bare returns a request in which every value that may be unknown is, but every tier is there.
func bare() *requests.Request {
	s := requests.Stream{Tier: "server", State: requests.StateRunning, Chunks: &requests.Chunks{TUS: []int64{}}}
	return &requests.Request{
		RequestID: "x", Tenant: "default", Aliases: []string{}, QueryType: "other", State: requests.StateRunning,
		Attempts: []requests.Attempt{
			{Attempt: 1, State: requests.StateRunning, Server: &s, Gateway: &requests.GatewayAttempt{}, OtherStreams: []requests.Stream{}},
			{Attempt: 2, State: requests.StateRunning, OtherStreams: []requests.Stream{}},
		},
		Gateway: &requests.Gateway{RouteDecision: &requests.RouteDecision{Candidates: []string{}}},
		Client: &requests.Client{
			State: requests.StateRunning, Visibility: []requests.Visibility{}, LongFrames: []requests.LongFrame{}, Retractions: []requests.Retraction{},
		},
		Perceived: requests.Perceived{Parts: []requests.GapPart{}},
		Conflicts: []requests.Conflict{}, Findings: []json.RawMessage{},
	}
}

// TestContractKnowsEveryField fails when openapi.yaml describes a field that storage's struct doesn't have.
func TestContractKnowsEveryField(t *testing.T) {
	var got map[string]any
	body, err := json.Marshal(full())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &got))
	doc := schemas(t)
	for name, v := range map[string]any{
		"Request": got, "StreamTier": at(got, "attempts", 0, "server"), "GatewayAttempt": at(got, "attempts", 0, "gateway"),
		"GatewayTier": got["gateway"], "ClientTier": got["client"], "Chunks": at(got, "client", "chunks"), "Conflict": at(got, "conflicts", 0),
	} {
		for key := range doc[name].Value.Properties {
			require.Contains(t, v, key, "openapi.yaml: %s.%s", name, key)
		}
	}
}

func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

func schemas(t *testing.T) openapi3.Schemas {
	t.Helper()
	doc, err := document()
	require.NoError(t, err)
	return doc.Components.Schemas
}

// TestParametersAreTheContracts holds the list of accepted parameters to openapi.yaml, by asking with each.
func TestParametersAreTheContracts(t *testing.T) {
	doc, err := document()
	require.NoError(t, err)
	s := server(&reader{
		list:    func(context.Context, requests.Filter) (*requests.Page, error) { return &requests.Page{}, nil },
		request: func(context.Context, string, string) (*requests.Request, error) { return bare(), nil },
	})
	values := map[string]string{"since": "2h", "until": "1h", "limit": "5", "state": "failed", "query_type": "other", "kind": "stall", "cursor": "MS5h"}
	for path, target := range map[string]string{
		"/v1/requests": "/v1/requests", "/v1/requests/{request_id}": "/v1/requests/x", "/v1/findings": "/v1/findings",
	} {
		for _, p := range doc.Paths.Value(path).Get.Parameters {
			if p.Value.In != "query" {
				continue
			}
			v := values[p.Value.Name]
			if v == "" {
				v = "a"
			}
			query := "?" + p.Value.Name + "=" + v
			if p.Value.Name == "until" {
				query += "&since=3h"
			}
			require.Equal(t, http.StatusOK, get(t, s, http.MethodGet, target+query).status, query)
		}
	}
}
