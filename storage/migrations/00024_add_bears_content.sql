-- Purpose: gaps of streams that have other chunks than content without a copy of a row's arrays for each of its chunks: a lambda
-- gets the arrays side by side. Twenty thousand streams of 200 chunks took gigabytes.
-- Class: metadata-only (computed columns).

-- +goose Up
ALTER TABLE streams ADD COLUMN IF NOT EXISTS bears_content Array(UInt8) ALIAS
    arrayMap(
        (k, b, n) -> k <= 3 AND (b > 0 OR n > 0),
        arrayResize(kinds, length(gaps_us) + 1),
        if(empty(bytes), arrayWithConstant(length(gaps_us) + 1, toUInt32(1)), arrayResize(bytes, length(gaps_us) + 1)),
        arrayResize(tokens, length(gaps_us) + 1))
    COMMENT 'Whether each chunk of a row that has chunks bears content' AFTER kinds;
ALTER TABLE streams MODIFY COLUMN icl_us Array(UInt32) ALIAS
    if(n_content = n_chunks, gaps_us,
        CAST(arrayPopFront(arrayDifference(arrayFilter((t, b) -> b, arrayCumSum(arrayPushFront(gaps_us, 0)), bears_content))), 'Array(UInt32)'))
    COMMENT 'ICL: gaps between consecutive content-bearing chunks of the row, µs; empty once the gaps are no longer kept';
ALTER TABLE streams MODIFY COLUMN content_bytes UInt64 ALIAS
    if(n_content = n_chunks, arraySum(bytes), arraySum((b, k) -> if(k <= 3, b, 0), bytes, arrayResize(kinds, length(bytes))))
    COMMENT 'Bytes of generated text in the row';
