package gatewayreceiver

import (
	"testing"

	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

func TestHostile(t *testing.T) {
	cfg := serving()
	cfg.Limits.MaxBodyBytes = 3 << 20
	sink := new(consumertest.LogsSink)
	with := func(id, extra string) string {
		if extra != "" {
			extra = "," + extra
		}
		return `{"request_id":"` + id + `","received_at":1760000000000000` + extra + `}`
	}
	bad := func(name, extra, field, reason string) ingesttest.Bad {
		return ingesttest.Bad{Name: name, Item: with("x", extra), Field: field, Reason: reason}
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
			{Name: "no id", Item: `{"received_at":1760000000000000}`, Field: "request_id", Reason: "is missing"},
			{Name: "no time", Item: `{"request_id":"x"}`, Field: "received_at", Reason: "is missing"},
			{Name: "time in ns", Item: `{"request_id":"x","received_at":1760000000000000000}`, Field: "received_at", Reason: "looks like nanoseconds"},
			bad("sent in ms", `"upstream_sent_at":1760000000000`, "upstream_sent_at", "looks like milliseconds"),
			bad("negative wait", `"queue_wait_us":-1`, "queue_wait_us", "is negative"),
			bad("wait in ns", `"queue_wait_us":90000000000000`, "queue_wait_us", "are these nanoseconds?"),
			bad("attempts", `"attempts":{"attempt":1}`, "attempts", "want an array of objects"),
			bad("attempt", `"attempts":[{"attempt":1,"start":"soon"}]`, "attempts[0].start", "is a string"),
			bad("same attempt", `"attempts":[{"attempt":1},{"attempt":1}]`, "attempts[1].attempt", "a second time"),
			bad("ends before", `"attempts":[{"start":1760000000000005,"end":1760000000000000}]`, "attempts[0].end", "5 µs before start"),
			bad("last before first", `"first_byte_at":1760000000900000,"last_byte_at":1760000000800000`, "last_byte_at", "100000 µs before first_byte_at"),
			bad("no status", `"status":99999`, "status", "want an HTTP status"),
			bad("two served", `"attempts":[{"served":true},{"served":true}]`, "attempts[1].served", "the user got one attempt"),
			bad("lengths", `"chunks":{"t":[1,2,3],"bytes":[1,2]}`, "chunks.bytes", "has 2 entries but chunks.t has 3"),
			bad("candidates", `"route_decision":{"candidates":[1]}`, "route_decision.candidates[0]", "want a string"),
			bad("cut litellm", `"call_type":"completion","startTime":{}`, "startTime", ""),
		},
	}
	h.Run(t)
}
