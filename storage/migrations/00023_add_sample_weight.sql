-- Purpose: how many answers a page's record stands for, where pages send only a share of the good ones.
-- Class: metadata-only (a computed column). Rows written before were told no weight.

-- +goose Up
ALTER TABLE clients ADD COLUMN IF NOT EXISTS sample_weight_milli Nullable(UInt32) ALIAS if(JSONExtractUInt(labels, 'at', 'sample_weight_milli') = 0, JSONExtract(detail, 'sample_weight_milli', 'Nullable(UInt32)'), numbers[JSONExtractUInt(labels, 'at', 'sample_weight_milli')]) COMMENT 'Answers it stands for where the page samples, × 1000; the last segment counts' AFTER bytes_total;
