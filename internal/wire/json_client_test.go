package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

const fullBeacon = `{"session_id":"s-1","seq":7,"app":"shop","release":"1.2","page":"https://u:p@shop.example/chat?q=secret#x","browser":"Chrome 156",
"os":"Linux","device":"desktop","country":"DE","connection":{"rtt":49.6,"type":"4g","downlink":1.55},
"clock":{"time_origin":1760000000000000.25,"now":9000000.4,"wall_now":1760000009000000},"lost_beacons":1,
"streams":[
{"request_id":"r-1","attempt":1,"query_type":"short_qa","content_kind":"markdown","protocol":"sse","paint_source":"frame",
"submit_at":1000000,"first_feedback_at":1010000.6,"request_sent_at":1005000,"headers_at":1200000,
"recv":{"dt":[1250000.2,10000.5],"bytes":[5,6],"kind":["role","content"]},"dom":{"t":[1251000],"bytes":[6]},"paint":{"dt":[1260000],"bytes":[6]},
"first_meaningful_paint_at":1260000,"visibility":[[0,"visible"],[1300000.5,"hidden"]],"long_frames":[[1255000,60000]],
"retractions":[[1400000,3],{"t":1500000,"bytes":2}],"aborted_at":null,"done_at":1700000,"closed_at":1800000,
"error":"TypeError: Failed to fetch","finish_reason":"stop","reconnects":0,"bytes_total":11,"response_id":"chatcmpl-1",
"trace_id":"0af7651916cd43dd8448eb211c80319c","aliases":["x"]},
{"request_id":null,"seq":2,"page":"/other","final":false}]}`

func TestDecodeBeacon(t *testing.T) {
	items, errs := wire.DecodeClients([]byte(fullBeacon), options())
	require.Empty(t, problems(errs))
	some := wire.Some[int64]
	envelope := wire.Client{
		Tenant: "default", SessionID: "s-1", BeaconSeq: 7, App: "shop", Release: "1.2", Page: "/chat", Browser: "Chrome 156",
		OS: "Linux", Device: "desktop", Country: "DE", ConnRTTMS: some(50), ConnType: "4g", ConnDownlinkKb: some(1550),
		TimeOrigin: started, ClockNow: some(9_000_000), WallNow: started + 9_000_000, LostBeacons: some(1), ReceivedAt: now.UnixMicro(),
	}
	first := envelope
	first.RequestID, first.Final, first.Attempt, first.QueryType = "r-1", true, some(1), "short_qa"
	first.ContentKind, first.Protocol, first.PaintSource = "markdown", "sse", "frame"
	first.Submit, first.FirstFeedback, first.RequestSent, first.Headers = some(1_000_000), some(1_010_001), some(1_005_000), some(1_200_000)
	first.Recv = wire.Chunks{T: []int64{1_250_000, 1_260_001}, Bytes: []uint32{5, 6}, Kind: []wire.Kind{wire.KindRole, wire.KindContent}}
	first.DOM = wire.Chunks{T: []int64{1_251_000}, Bytes: []uint32{6}}
	first.Paint = wire.Chunks{T: []int64{1_260_000}, Bytes: []uint32{6}}
	first.FirstPaint, first.Done, first.Closed = some(1_260_000), some(1_700_000), some(1_800_000)
	first.Visibility = []wire.VisibilityChange{{T: 0}, {T: 1_300_001, Hidden: true}}
	first.LongFrames = []wire.LongFrame{{T: 1_255_000, Dur: 60_000}}
	first.Retractions = []wire.Retraction{{T: 1_400_000, Bytes: 3}, {T: 1_500_000, Bytes: 2}}
	first.ErrorType, first.FinishReason, first.Reconnects, first.BytesTotal = "network", "stop", some(0), some(11)
	first.ResponseID, first.TraceID, first.Aliases = "chatcmpl-1", "0af7651916cd43dd8448eb211c80319c", []string{"x"}
	second := envelope
	second.Seq, second.Page = 2, "/other"
	require.Equal(t, []wire.Client{first, second}, items)
}

func TestDecodeClientSingleObject(t *testing.T) {
	items, errs := wire.DecodeClients([]byte(`{"session_id":"s","seq":3,"beacon_seq":9,"submit_at":5}`+"\n"+`{"request_id":"r"}`), options())
	require.Empty(t, problems(errs))
	require.Len(t, items, 2)
	require.Equal(t, []uint32{3, 9}, []uint32{items[0].Seq, items[0].BeaconSeq})
	require.False(t, items[0].Final)
	require.True(t, items[1].Final)
	require.False(t, items[1].Submit.OK, "nothing leaks from the record before")
}

func TestDecodeRunsAndWeight(t *testing.T) {
	items, errs := wire.DecodeClients([]byte(`{"session_id":"s","sample_weight":4,"streams":[
		{"request_id":"a","recv":{"dt":[1,1,1,1],"kind_runs":[["role",1],["content",2],["done",1]]}},
		{"request_id":"b","sample_weight":1.25,"recv":{"kind_runs":[["keepalive",2]],"t":[1,2]}},
		{"request_id":"c","sample_weight":null,"recv":{"t":[1],"kind_runs":[]}}]}`), options())
	require.Empty(t, problems(errs))
	require.Equal(t, []wire.Kind{wire.KindRole, wire.KindContent, wire.KindContent, wire.KindDone}, items[0].Recv.Kind)
	require.Equal(t, []wire.Kind{wire.KindKeepalive, wire.KindKeepalive}, items[1].Recv.Kind)
	require.Empty(t, items[2].Recv.Kind)
	require.Equal(t, []float64{4, 1.25, 4}, []float64{items[0].SampleWeight, items[1].SampleWeight, items[2].SampleWeight})
}

func TestDecodeClientProblems(t *testing.T) {
	f := func(streams, kept string, want string) {
		t.Helper()
		items, errs := wire.DecodeClients([]byte(`{"session_id":"s","streams":`+streams+`}`), options())
		ids := ""
		for _, c := range items {
			ids += c.RequestID
		}
		require.Equal(t, kept, ids, streams)
		if want != "" {
			want += "\n"
		}
		require.Equal(t, want, problems(errs))
	}
	a, c := `{"request_id":"a"}`, `{"request_id":"c"}`
	bad := func(extra string) string { return `[` + a + `,{"request_id":"b",` + extra + `},` + c + `]` }
	f(`[]`, "", "")
	f(`{}`, "", "0  streams: is an object; want an array of streams")
	f(`[`+a+`,5,`+c+`]`, "ac", "1  streams[1]: is a number; want an object")
	f(bad(`"recv":{"t":["x"]}`), "ac", "1 b streams[1].recv.t[0]: is a string; want an integer number of µs")
	f(bad(`"recv":{"dt":[5,-1]}`), "ac", "1 b streams[1].recv.dt[1]: is negative (-1); times must ascend")
	f(bad(`"recv":{"t":[5,1]}`), "ac", "1 b streams[1].recv.t[1]: is 1, before the entry in front of it (5); times must ascend")
	f(bad(`"dom":{"t":[1],"bytes":[]}`), "abc", "")
	f(bad(`"paint":{"t":[1],"bytes":[1,2]}`), "ac", "1 b streams[1].paint.bytes: has 2 entries but paint.t has 1; arrays of one object have one length")
	f(bad(`"visibility":[[1,"maybe"]]`), "ac", `1 b streams[1].visibility[0][1]: is "maybe"; want visible or hidden`)
	f(bad(`"visibility":[[1]]`), "ac", `1 b streams[1].visibility[0]: has 1 entries; want [t, state]`)
	f(bad(`"visibility":["hidden"]`), "ac", `1 b streams[1].visibility[0]: is a string; want [t, state]`)
	f(bad(`"long_frames":[[1,-5]]`), "ac", `1 b streams[1].long_frames[0][1]: is negative (-5)`)
	f(bad(`"retractions":[[1,2,3]]`), "ac", `1 b streams[1].retractions[0]: has 3 entries; want [t, bytes] or an object with t and bytes`)
	f(bad(`"recv":{"t":[1,2],"kind_runs":[["content",3]]}`), "ac", "1 b streams[1].recv.kind_runs: has 3 entries but recv.t has 2; arrays of one object have one length")
	f(bad(`"recv":{"t":[1],"kind_runs":[["text",1]]}`), "ac", `1 b streams[1].recv.kind_runs[0][0]: is "text"; want `+strings.Join(wire.KindNames(), ", "))
	f(bad(`"recv":{"t":[1],"kind_runs":[["content",0]]}`), "ac", "1 b streams[1].recv.kind_runs[0][1]: is 0; want at least 1")
	f(bad(`"recv":{"t":[1],"kind_runs":[["content",1],["done",4000000000]]}`), "ac", "1 b streams[1].recv.kind_runs[1][1]: makes more than 200000 entries; send the stream in segments")
	f(bad(`"recv":{"t":[1],"kind_runs":[["content"]]}`), "ac", "1 b streams[1].recv.kind_runs[0]: has 1 entries; want [kind, how many]")
	f(bad(`"recv":{"t":[1],"kind_runs":["content"]}`), "ac", "1 b streams[1].recv.kind_runs[0]: is a string; want [kind, how many]")
	f(bad(`"recv":{"t":[1],"kind":["done"],"kind_runs":[["done",1]]}`), "ac", "1 b streams[1].recv.kind_runs: stands beside kind; give one of the two")
	f(bad(`"recv":{"t":[1],"kind_runs":[["done",1]],"kind":["done"]}`), "ac", "1 b streams[1].recv.kind: stands beside kind_runs; give one of the two")
	f(bad(`"sample_weight":0.5`), "ac", "1 b streams[1].sample_weight: is 0.5; want 1 to 10000, which is 1 divided by the share of answers that are sent")
	f(bad(`"sample_weight":"2"`), "ac", "1 b streams[1].sample_weight: is a string; want a number")
	f(bad(`"retractions":[7]`), "ac", `1 b streams[1].retractions[0]: is a number; want [t, bytes] or an object with t and bytes`)
	f(bad(`"connection":{"downlink":-1}`), "ac", `1 b streams[1].connection.downlink: is -1; want 0 to 1000000 Mbit/s`)
	f(bad(`"streams":[]`), "ac", "1 b streams[1].streams: can't stand inside a stream")
	f(bad(`"submit_at":1e18`), "ac", "1 b streams[1].submit_at: is out of range (1e18); want an integer number of µs")
	f(bad(`"clock":{"time_origin":1760000000000}`), "ac", "1 b streams[1].clock.time_origin: looks like milliseconds (1760000000000); want microseconds since 1970-01-01")
	f(bad(`"clock":{"time_origin":1760000000000000000}`), "ac", "1 b streams[1].clock.time_origin: is out of range (1760000000000000000); want microseconds since 1970-01-01")
	f(bad(`"request_id":7`), "ac", "1 b streams[1].request_id: is given twice")
}

// A problem of what a stream inherits has the path of the envelope's field.
func TestProblemsOfTheEnvelope(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		_, errs := wire.DecodeClients([]byte(body), options())
		require.Equal(t, want+"\n", problems(errs), body)
	}
	f(`{"session_id":"a\u0000b","streams":[{"request_id":"r"}]}`, "0 r session_id: holds a NUL byte at 1")
	f(`{"session_id":"s","streams":[{"request_id":"r","session_id":"a\u0000b"}]}`, "0 r streams[0].session_id: holds a NUL byte at 1")
	f(`{"session_id":"a\u0000b","streams":[{"request_id":"r","session_id":null}]}`, "0 r session_id: holds a NUL byte at 1")
	f(`{"session_id":"s","clock":{"time_origin":1760000000000},"streams":[{"request_id":"r","clock":{"now":5}}]}`,
		"0 r clock.time_origin: looks like milliseconds (1760000000000); want microseconds since 1970-01-01")
	f(`{"session_id":"s","tenant":"a b","streams":[{"request_id":"r"}]}`, "0 r tenant: may hold only letters, digits and . _ : -")
	f(`{"streams":[{"app":"a"}]}`, "0  streams[0].session_id: is missing; a record needs a session_id or a request_id")
	f(`{"session_id":"s","streams":[{"request_id":"r","recv":{"dt":[5],"bytes":[1,2]}}]}`,
		"0 r streams[0].recv.bytes: has 2 entries but recv.t has 1; arrays of one object have one length")
	f(`[{"session_id":"s","streams":[]},{"session_id":"a\u0000b"}]`, "0  session_id: holds a NUL byte at 1")
}
