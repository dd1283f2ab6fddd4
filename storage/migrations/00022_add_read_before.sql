-- Purpose: up to which second of arrival the records of a minute were there when it was computed. The time of computing does
-- not tell: an insert that ran then shows its rows afterwards, stamped with the time at which it began.
-- Class: metadata-only (new column). Minutes computed before have 0, and are computed anew when the next record comes, or at
-- the next start if one came within its catch_up.

-- +goose Up
ALTER TABLE icl_minute ADD COLUMN IF NOT EXISTS read_before Int64 COMMENT 'All records stamped before this second are in it, seconds since the Unix epoch on the database''s clock' CODEC(Delta, ZSTD(1)) AFTER generation;
