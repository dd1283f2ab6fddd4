-- Purpose: the day a row arrived, so that retention counts from arrival where that is later than the record's own time:
-- a replayed recording of last year is kept as long as what happens today. Filled by the server, not by the writers.
-- Class: metadata-only (new columns with a default).

-- +goose Up
ALTER TABLE streams ADD COLUMN IF NOT EXISTS arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1));
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1));
ALTER TABLE clients ADD COLUMN IF NOT EXISTS arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1));
ALTER TABLE aliases ADD COLUMN IF NOT EXISTS arrived_on Date DEFAULT today() COMMENT 'Day of arrival, for retention' CODEC(ZSTD(1));
