// Package table turns one row struct into everything that must agree about a ClickHouse table's columns:
// the column list of inserts and selects, the columnar insert buffers and the scan targets.
//
// A row struct's `ch` tags are the only list of a table's columns. The ClickHouse type follows from the Go
// type; a `type` tag overrides it where several fit:
//
//	type Row struct {
//		Tenant    string           `ch:"tenant" type:"LowCardinality(String)"`
//		StartedAt table.Micros     `ch:"started_at"`            // DateTime64(6, 'UTC')
//		QueueUS   table.Opt[uint64] `ch:"queue_us"`             // Nullable(UInt64)
//		GapsUS    []uint32         `ch:"gaps_us"`               // Array(UInt32)
//	}
//
// Inserts go through ch-go, the codec beneath clickhouse-go, since clickhouse-go boxes every array element
// on Append; reads go through clickhouse-go.
package table
