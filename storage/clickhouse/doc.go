// Package clickhouse opens the database: the user's own ClickHouse server or cluster, or the embedded engine, by one DSN.
//
// [Open] gives clickhouse-go's native connection pool, for everything that reads or runs single statements.
// [OpenInserter] gives pooled ch-go connections that send whole columns, for the hot write path. [Classify] says, in one
// place for all callers, whether an error may pass, means too much load, or will never go away. [ApplyRetention] turns
// the retention settings into the tables' TTLs.
package clickhouse
