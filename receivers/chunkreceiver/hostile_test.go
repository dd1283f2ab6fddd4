package chunkreceiver

import (
	"testing"

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
