-- Purpose: when a row arrived, so that the joiner finds the requests that got something new since it last looked. Filled by
-- the server, not by the writers.
-- Class: metadata-only (new columns with a default, new indexes; parts written before have none and are read).

-- +goose Up
ALTER TABLE streams ADD COLUMN IF NOT EXISTS inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table' CODEC(Delta, ZSTD(1));
ALTER TABLE streams ADD INDEX IF NOT EXISTS inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1;
ALTER TABLE gateways ADD COLUMN IF NOT EXISTS inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table' CODEC(Delta, ZSTD(1));
ALTER TABLE gateways ADD INDEX IF NOT EXISTS inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1;
ALTER TABLE clients ADD COLUMN IF NOT EXISTS inserted_at DateTime DEFAULT now() COMMENT 'Arrival in the table' CODEC(Delta, ZSTD(1));
ALTER TABLE clients ADD INDEX IF NOT EXISTS inserted_at_minmax inserted_at TYPE minmax GRANULARITY 1;
