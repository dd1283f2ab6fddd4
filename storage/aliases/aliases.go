// Package aliases is the table of other names of a request: response ids, trace ids, call ids of gateways.
// A name may belong to many requests (a trace with several model calls), so it finds a request only when it
// belongs to exactly one.
package aliases

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// Table is the aliases table.
var Table = table.Of[Row]("aliases")

// Kinds of alias.
const (
	KindResponse = "response_id"
	KindTrace    = "trace_id"
	KindOther    = "alias"
)

// Row says that a record of RequestID also carried the name Alias.
type Row struct {
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)"`
	Alias     string       `ch:"alias"`
	RequestID string       `ch:"request_id"`
	Kind      string       `ch:"kind" type:"LowCardinality(String)"`
	SeenAt    table.Micros `ch:"seen_at"` // the record's own time, for retention
}

// AppendStream appends the names that s carries besides its request id.
func AppendStream(rows []Row, s *wire.Stream) []Row {
	return appendNames(rows, s.Tenant, s.RequestID, s.StartedAt, s.ResponseID, s.TraceID, s.Aliases)
}

// AppendGateway appends the names that g carries besides its request id.
func AppendGateway(rows []Row, g *wire.Gateway) []Row {
	return appendNames(rows, g.Tenant, g.RequestID, g.ReceivedAt, g.ResponseID, g.TraceID, g.Aliases)
}

// AppendClient appends the names that c carries besides its request id. A record without a request id has none.
func AppendClient(rows []Row, c *wire.Client) []Row {
	if c.RequestID == "" {
		return rows
	}
	return appendNames(rows, c.Tenant, c.RequestID, c.ReceivedAt, c.ResponseID, c.TraceID, c.Aliases)
}

func appendNames(rows []Row, tenant, id string, seen int64, response, trace string, others []string) []Row {
	add := func(name, kind string) {
		if name != "" && name != id {
			rows = append(rows, Row{Tenant: tenant, Alias: name, RequestID: id, Kind: kind, SeenAt: table.Micros(seen)})
		}
	}
	add(response, KindResponse)
	add(trace, KindTrace)
	for _, o := range others {
		if o != response && o != trace {
			add(o, KindOther)
		}
	}
	return rows
}
