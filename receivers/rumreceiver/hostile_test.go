package rumreceiver

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
)

func TestHostile(t *testing.T) {
	cfg := serving()
	sink := new(consumertest.LogsSink)
	with := func(id, extra string) string {
		if extra != "" {
			extra = "," + extra
		}
		return `{"request_id":"` + id + `","session_id":"s"` + extra + `}`
	}
	bad := func(name, extra, field, reason string) ingesttest.Bad {
		return ingesttest.Bad{Name: name, Item: with("x", extra), Field: field, Reason: reason}
	}
	cfg.Limits.MaxBodyBytes = 3 << 20
	cfg.RememberBeacons = 0 // the same item is sent in many ways
	h := ingesttest.Hostile{
		URL:          ingesttest.Start(t, NewFactory(), cfg, sink) + DefaultPath,
		Sink:         sink,
		MaxBodyBytes: cfg.Limits.MaxBodyBytes,
		Good:         func(id string) string { return with(id, "") },
		ID:           requestID,
		Array:        "recv.t",
		With:         func(id, numbers string) string { return with(id, `"recv":{"t":[`+numbers+`]}`) },
		Items: []ingesttest.Bad{
			{Name: "nobody", Item: `{"submit_at":5}`, Field: "session_id", Reason: "a record needs a session_id or a request_id"},
			bad("origin in ns", `"clock":{"time_origin":1760000000000000000}`, "clock.time_origin", "is out of range"),
			bad("origin in ms", `"clock":{"time_origin":1760000000000.5}`, "clock.time_origin", "looks like milliseconds"),
			bad("negative submit", `"submit_at":-1`, "submit_at", "is negative"),
			bad("submit in ns", `"submit_at":100000000000000000`, "submit_at", "are these nanoseconds?"),
			bad("submit as text", `"submit_at":"now"`, "submit_at", "is a string"),
			bad("lengths", `"recv":{"t":[1,2,3],"bytes":[1,2]}`, "recv.bytes", "has 2 entries but recv.t has 3"),
			bad("negative difference", `"paint":{"dt":[1,-2]}`, "paint.dt[1]", "is negative"),
			bad("visibility", `"visibility":[[1,"maybe"]]`, "visibility[0][1]", "want visible or hidden"),
			bad("many long frames", `"long_frames":[[1,2]`+repeat(",[1,2]", 5000)+`]`, "long_frames", "has more than 4096"),
		},
	}
	h.Run(t)
}

func repeat(s string, n int) string {
	b := make([]byte, 0, n*len(s))
	for range n {
		b = append(b, s...)
	}
	return string(b)
}

// TestHostileEnvelope checks that a bad stream of a beacon costs only itself.
func TestHostileEnvelope(t *testing.T) {
	sink := new(consumertest.LogsSink)
	url := ingesttest.Start(t, NewFactory(), serving(), sink)
	body := `{"session_id":"s","streams":[{"request_id":"a"},{"request_id":"b","recv":{"dt":[1,"x"]}},null,{"request_id":"c d"},{"request_id":"e"}]}`
	got := ingesttest.Do(t, url+"/v1/rum", ingesttest.Request{ContentType: "text/plain", Body: []byte(body)})
	require.Equal(t, http.StatusBadRequest, got.Status)
	require.Equal(t, 2, got.Answer.Accepted)
	require.Equal(t, 3, got.Answer.Rejected)
	ids := []string{}
	for _, c := range clients(t, sink) {
		ids = append(ids, c.RequestID)
	}
	require.Equal(t, []string{"a", "e"}, ids)
	require.Equal(t, "streams[1].recv.dt[1]", got.Answer.Errors[0].Field)
	require.Equal(t, "b", got.Answer.Errors[0].RequestID)
	require.Equal(t, 2, *got.Answer.Errors[1].Index)
	require.Equal(t, "streams[2]", got.Answer.Errors[1].Field)
	require.Equal(t, "streams[3].request_id", got.Answer.Errors[2].Field)
	require.Empty(t, got.Answer.Errors[2].RequestID, "what is no id is not repeated")
}
