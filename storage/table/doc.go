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
//		Route     string           `ch:"route,label"`           // packed, see below
//	}
//
// A column costs the server much the same whatever it holds, at each insert and each merge. Fields that no key, join or
// hot filter needs are packed:
//
//   - label, for words that many rows share: a JSON object in labels, a LowCardinality(String). Under "at" it also says which
//     numbers the row has and where: {"route":"/v1/chat","status":200,"at":{"ttfb_us":1,"end_us":2}}.
//   - number: numbers, an Array(UInt32) that holds the row's numbers and nothing for those it has not. A number equal to the one
//     before it shares its place, so a value that follows from another costs nothing. What does not fit 32 bits goes to detail.
//   - anything else names a String column that holds a JSON object, for ids and rare lists: detail, chunk_detail.
//
// SQL finds all of them by name as ALIAS columns (Table.Aliases). Words cost SQL little: the server evaluates a function of a
// LowCardinality column once for each value of its dictionary. JSON with names, not positions: a row tells what it holds, and
// readers pass over what they don't know.
//
// Inserts go through ch-go, the codec beneath clickhouse-go, since clickhouse-go boxes every array element
// on Append; reads go through clickhouse-go.
package table
