package findings

import (
	"encoding/json"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// Table is the findings table.
var Table = table.Of[Row]("findings")

// Row is one row of the findings table; its tags are the only list of the table's columns. Meanings are those
// of wire.Finding.
type Row struct {
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)"`
	RequestID string       `ch:"request_id"`
	ID        string       `ch:"id"`
	At        table.Micros `ch:"at"` // StartedAt + StartUS: when it began, on the emitter's clock
	Version   uint64       `ch:"version"`

	Origin    string       `ch:"origin" type:"LowCardinality(String)"`
	Kind      string       `ch:"kind" type:"LowCardinality(String)"`
	Grade     string       `ch:"grade" type:"LowCardinality(String)"`
	Tier      string       `ch:"tier" type:"LowCardinality(String)"`
	Attempt   uint16       `ch:"attempt"`
	Emitter   string       `ch:"emitter" type:"LowCardinality(String)"`
	StartedAt table.Micros `ch:"started_at"`
	Channel   string       `ch:"channel" type:"LowCardinality(String)"`

	Chunk       table.Opt[uint32] `ch:"chunk"`
	StartUS     int64             `ch:"start_us"`
	DurationUS  int64             `ch:"duration_us"`
	Open        bool              `ch:"open"`
	Withdrawn   bool              `ch:"withdrawn"`
	Severity    string            `ch:"severity" type:"LowCardinality(String)"`
	Attribution string            `ch:"attribution" type:"LowCardinality(String)"`
	Confidence  uint16            `ch:"confidence_permille"`
	Evidence    string            `ch:"evidence"`

	Provider     string `ch:"provider" type:"LowCardinality(String)"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version" type:"LowCardinality(String)"`
	QueryType    string `ch:"query_type" type:"LowCardinality(String)"`
}

// Origins of a finding: what had to be looked at to find it.
const (
	OriginStream = "stream" // one stream, while it runs
	OriginJoin   = "join"   // the tiers of one request
	OriginTarget = "target" // the requests of a target's versions
)

// FromWire makes the row of a finding.
func FromWire(f *wire.Finding, origin string) Row {
	r := Row{
		Tenant: f.Tenant, RequestID: f.RequestID, ID: f.ID, At: table.Micros(f.StartedAt + f.StartUS),
		Origin: origin, Version: uint64(max(0, f.Revision)),
		Kind: string(f.Kind), Grade: f.Grade, Tier: string(f.Tier), Attempt: uint16(min(f.Attempt, 65535)),
		Emitter: f.Emitter, StartedAt: table.Micros(f.StartedAt), Channel: f.Channel,
		StartUS: f.StartUS, DurationUS: f.DurationUS, Open: f.Open, Withdrawn: f.Withdrawn, Severity: f.Severity,
		Attribution: f.Attribution, Confidence: uint16(min(max(f.Confidence, 0), 1)*1000 + 0.5), Evidence: string(f.Evidence),
		Provider: f.Provider, Deployment: f.Deployment, Model: f.Model, ModelVersion: f.ModelVersion, QueryType: f.QueryType,
	}
	if f.Chunk.OK && f.Chunk.V >= 0 {
		r.Chunk = table.Some(uint32(min(f.Chunk.V, 1<<32-1)))
	}
	return r
}

// Finding is a finding as the API tells it.
type Finding struct {
	ID          string          `json:"id"`
	Kind        string          `json:"kind"`
	Grade       *string         `json:"grade"` // of a stall: hitch, stall, freeze
	Tenant      string          `json:"tenant"`
	RequestID   string          `json:"request_id"`
	Tier        string          `json:"tier"`
	Attempt     uint32          `json:"attempt"`
	Emitter     string          `json:"emitter"`
	Channel     string          `json:"channel"`
	Chunk       *int64          `json:"chunk"`    // counts content-bearing chunks from 0
	StartUS     int64           `json:"start_us"` // offset on the stream's own clock
	DurationUS  int64           `json:"duration_us"`
	Open        bool            `json:"open"` // still going on
	Severity    string          `json:"severity"`
	Attribution string          `json:"attribution"`
	Confidence  float64         `json:"confidence"`
	Evidence    json.RawMessage `json:"evidence"`
	StartedAt   int64           `json:"started_at"` // start of the stream, µs since the Unix epoch, on its emitter's clock
	Target      Target          `json:"target"`
	QueryType   string          `json:"query_type"`
}

// At is the instant the finding began, µs since the Unix epoch.
func (f *Finding) At() int64 { return f.StartedAt + f.StartUS }

// Target is who served the request; nil: not known.
type Target struct {
	Provider     *string `json:"provider"`
	Deployment   *string `json:"deployment"`
	Model        *string `json:"model"`
	ModelVersion *string `json:"model_version"`
}

// known returns s, or nil when it is empty.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Finding returns the row as the API tells it.
func (r *Row) Finding() Finding {
	f := Finding{
		ID: r.ID, Kind: r.Kind, Tenant: r.Tenant, RequestID: r.RequestID, Tier: r.Tier, Attempt: uint32(r.Attempt), Emitter: r.Emitter,
		Channel: r.Channel, StartUS: r.StartUS, DurationUS: r.DurationUS, Open: r.Open, Severity: r.Severity, Attribution: r.Attribution,
		Confidence: float64(r.Confidence) / 1000, Evidence: json.RawMessage(r.Evidence), StartedAt: int64(r.StartedAt),
		Target:    Target{known(r.Provider), known(r.Deployment), known(r.Model), known(r.ModelVersion)},
		QueryType: r.QueryType, Grade: known(r.Grade),
	}
	if r.Chunk.OK {
		n := int64(r.Chunk.V)
		f.Chunk = &n
	}
	if len(f.Evidence) == 0 {
		f.Evidence = json.RawMessage("{}")
	}
	if f.QueryType == "" {
		f.QueryType = "other"
	}
	return f
}

// ToWire returns the finding as it was when it was stored.
func (r *Row) ToWire() wire.Finding {
	f := wire.Finding{
		ID: r.ID, Kind: wire.FindingKind(r.Kind), Grade: r.Grade, Tenant: r.Tenant, RequestID: r.RequestID, Tier: wire.Tier(r.Tier),
		Attempt: uint32(r.Attempt), Emitter: r.Emitter, StartedAt: int64(r.StartedAt), Channel: r.Channel, StartUS: r.StartUS,
		DurationUS: r.DurationUS, Open: r.Open, Severity: r.Severity, Attribution: r.Attribution, Confidence: float64(r.Confidence) / 1000,
		Evidence: json.RawMessage(r.Evidence), Withdrawn: r.Withdrawn, Revision: int64(r.Version), //nolint:gosec // was int64
		Target:    wire.Target{Provider: r.Provider, Deployment: r.Deployment, Model: r.Model, ModelVersion: r.ModelVersion},
		QueryType: r.QueryType,
	}
	if r.Chunk.OK {
		f.Chunk = wire.Some(int64(r.Chunk.V))
	}
	return f
}
