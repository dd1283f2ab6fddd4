// Package migrations brings a ClickHouse database to the schema this build needs.
//
// Migrations are numbered .sql files that only go forward. ClickHouse has no transactional DDL, so every
// statement can be run again after a run that stopped half-way. Each file's header says what it is for and
// its class: metadata-only, rewrites parts, or needs a backfill.
package migrations
