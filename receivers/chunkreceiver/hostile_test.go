package chunkreceiver

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/streamlog"
)

func requestID(lr plog.LogRecord) string {
	v, _ := lr.Attributes().Get(streamlog.KeyRequestID)
	return v.Str()
}

func TestHostile(t *testing.T) {
	cfg := serving()
	cfg.Limits.MaxBodyBytes = 3 << 20
	sink := new(consumertest.LogsSink)
	with := func(id, extra string) string {
		if extra != "" {
			extra = "," + extra
		}
		return `{"request_id":"` + id + `","started_at":1760000000000000` + extra + `}`
	}
	h := ingesttest.Hostile{
		URL:          ingesttest.Start(t, NewFactory(), cfg, sink) + DefaultPath,
		Sink:         sink,
		MaxBodyBytes: cfg.Limits.MaxBodyBytes,
		Good:         func(id string) string { return with(id, "") },
		ID:           requestID,
		Array:        "chunks.t",
		With:         func(id, numbers string) string { return with(id, `"chunks":{"t":[`+numbers+`]}`) },
		Items: []ingesttest.Bad{
			{Name: "no id", Item: `{"started_at":1760000000000000}`, Field: "request_id", Reason: "is missing"},
			{Name: "no start", Item: `{"request_id":"x"}`, Field: "started_at", Reason: "is missing"},
			{Name: "start in ns", Item: `{"request_id":"x","started_at":1760000000000000000}`, Field: "started_at", Reason: "looks like nanoseconds"},
			{Name: "start in ms", Item: `{"request_id":"x","started_at":1760000000000}`, Field: "started_at", Reason: "looks like milliseconds"},
			{Name: "start in s", Item: `{"request_id":"x","started_at":1760000000}`, Field: "started_at", Reason: "looks like seconds"},
			{Name: "start as text", Item: `{"request_id":"x","started_at":"2026-01-01T00:00:00Z"}`, Field: "started_at", Reason: "is a string"},
			{Name: "lengths", Item: with("x", `"chunks":{"t":[1,2,3],"bytes":[1,2]}`), Field: "chunks.bytes", Reason: "has 2 entries but chunks.t has 3"},
			{Name: "differences", Item: with("x", `"chunks":{"dt":[1,-2]}`), Field: "chunks.dt[1]", Reason: "is negative"},
			{Name: "differences in ns", Item: with("x", `"chunks":{"dt":[1,50000000000000]}`), Field: "chunks.dt[1]", Reason: "are these nanoseconds?"},
			{Name: "kind", Item: with("x", `"chunks":{"t":[1],"kind":["text"]}`), Field: "chunks.kind[0]", Reason: "want content, reasoning"},
			{Name: "twice", Item: with("x", `"model":"a","model":"b"`), Field: "model", Reason: "is given twice"},
		},
	}
	h.Run(t)
}

// TestTenMillionChunks posts ten million chunks, which the default limits on bodies let in, beside a good
// stream.
func TestTenMillionChunks(t *testing.T) {
	sink := new(consumertest.LogsSink)
	url := ingesttest.Start(t, NewFactory(), serving(), sink) + DefaultPath
	const head = `{"request_id":"x","started_at":1760000000000000`
	f := func(encoding, array, field, reason string) {
		t.Helper()
		body := []byte("[" + head + `,"chunks":{` + array + `}},` + strings.Replace(head, "x", "good", 1) + "}]")
		sent := body
		if encoding != "" {
			sent = ingesttest.Compress(t, encoding, body)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got := ingesttest.Do(t, url, ingesttest.Request{Encoding: encoding, Body: sent})
		runtime.ReadMemStats(&after)
		require.Equal(t, http.StatusBadRequest, got.Status, got.Raw)
		require.Equal(t, 1, got.Answer.Accepted)
		require.Equal(t, field, got.Answer.Errors[0].Field)
		require.Contains(t, got.Answer.Errors[0].Reason, reason)
		require.Equal(t, 1, sink.LogRecordCount())
		sink.Reset()
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*len(body)+16<<20), "the body while it grows, and no array")
	}
	many := strings.Repeat("1,", 10_000_000-1) + "1"
	f("", `"t":[`+many+`]`, "chunks.t", "has more than 200000 entries; send the stream in segments")
	f("gzip", `"t":[1],"bytes":[`+many+`]`, "chunks.bytes", "has more than 200000 entries")
	f("zstd", `"t":[1],"text":["a"`+strings.Repeat(`,"a"`, 5_000_000)+`]`, "chunks.text", "has more than 200000 entries")
}
