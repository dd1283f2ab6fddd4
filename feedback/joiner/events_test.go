package joiner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/findings"
)

// Streams of one emitter that were silent together are one event, told in the evidence of each.
func TestSilenceOfSeveralStreams(t *testing.T) {
	r := newRig(t)
	began := time.Now().Add(-time.Hour).UnixMicro()
	put := func(id, kind string, at, us int64) {
		f := wire.Finding{
			ID: id, Kind: wire.FindingKind(kind), Tenant: "default", RequestID: "r-" + id, Tier: wire.TierServer, Attempt: 1, Emitter: "vllm",
			StartedAt: began, StartUS: at, DurationUS: us, Evidence: json.RawMessage(`{"gaps":1}`), Revision: 1024, Target: wire.Target{Model: "m"},
		}
		row := findings.FromWire(&f, findings.OriginStream)
		require.NoError(t, r.w.write(t.Context(), []findings.Row{row}))
	}
	put("a", "stall", 4_000_000, 7_400_000)
	r.look(t)
	require.Len(t, r.list(t), 1)
	require.JSONEq(t, `{"gaps":1}`, string(r.list(t)[0].Evidence), "one stream is no event")
	put("b", "stall", 4_010_000, 7_395_000)
	put("new", "slow_start", 4_003_000, 7_397_000)
	put("other", "stall", 30_000_000, 7_400_000)
	r.look(t)
	r.look(t)
	marked := 0
	for _, f := range r.list(t) {
		var ev struct {
			Gaps  int    `json:"gaps"`
			Event *event `json:"event"`
		}
		require.NoError(t, json.Unmarshal(f.Evidence, &ev))
		require.Equal(t, 1, ev.Gaps)
		if ev.Event == nil {
			continue
		}
		marked++
		require.Equal(t, []string{"r-a", "r-b"}, ev.Event.Requests)
		require.Equal(t, []string{"r-new"}, ev.Event.Waiting)
		require.Equal(t, 2, ev.Event.Streams)
		require.Contains(t, []string{"r-a", "r-b"}, f.RequestID)
	}
	require.Equal(t, 2, marked)
	stored := r.rows(t)
	r.look(t)
	require.Equal(t, stored, r.rows(t))
}

// However many sources and stalls there are, none is left out: what one answer can't hold the next does.
func TestEventsOfManySources(t *testing.T) {
	r := newRig(t)
	began := time.Now().Add(-time.Hour).UnixMicro()
	var rows []findings.Row
	for source := range 7 {
		for k := range 9 { // pairs, three minutes apart
			f := wire.Finding{
				ID: fmt.Sprintf("f-%d-%d", source, k), Kind: wire.FindingStall, Tenant: "default", RequestID: fmt.Sprintf("r-%d-%d", source, k), Tier: wire.TierServer,
				Attempt: 1, Emitter: fmt.Sprintf("e%d", source), StartedAt: began + int64(k/2)*180e6, StartUS: 4_000_000, DurationUS: 7_400_000,
				Evidence: json.RawMessage(`{"gaps":1}`), Revision: 1024, Target: wire.Target{Model: "m"},
			}
			rows = append(rows, findings.FromWire(&f, findings.OriginStream))
		}
	}
	require.NoError(t, r.w.write(t.Context(), rows))
	r.w.sourceRows, r.w.stallRows = 2, 3
	r.look(t)
	marked := 0
	for _, f := range r.list(t) {
		if strings.Contains(string(f.Evidence), `"event"`) {
			marked++
		}
	}
	require.Equal(t, 7*8, marked, "all but the last of each source, which is alone")
}

// Sources are asked for together where they were silent at about one time; a long silence widens nobody else's reading.
func TestSourcesSilentAtOnce(t *testing.T) {
	at := func(model string, from, until int64) silence {
		return silence{source{tenant: "t", model: model}, from * 1_000_000, until * 1_000_000}
	}
	all := []silence{at("a", 1000, 1010), at("b", 1200, 1290), at("old", 10, 15), at("long", 1000, 9000), at("c", 995, 1294), at("d", 994, 1296)}
	var got [][]string
	for len(all) > 0 {
		var group []silence
		group, all = atOnce(all)
		var models []string
		for _, s := range group {
			models = append(models, s.model)
		}
		got = append(got, models)
	}
	require.Equal(t, [][]string{{"a", "b", "c"}, {"old"}, {"long"}, {"d"}}, got)
}

// Stalls at one instant, more than one answer holds, are read to their end, however many sources wait after them.
func TestEventOfManyStalls(t *testing.T) {
	r := newRig(t)
	began := time.Now().Add(-time.Hour).UnixMicro()
	var rows []findings.Row
	for emitter, n := range map[string]int{"a": 5, "b": 11, "c": 2} {
		for k := range n {
			f := wire.Finding{
				ID: fmt.Sprintf("f-%s-%02d", emitter, k), Kind: wire.FindingStall, Tenant: "default", RequestID: fmt.Sprintf("r-%s-%02d", emitter, k), Tier: wire.TierServer,
				Attempt: 1, Emitter: emitter, StartedAt: began, StartUS: 4_000_000, DurationUS: 7_400_000, Evidence: json.RawMessage(`{"gaps":1}`), Revision: 1024,
			}
			rows = append(rows, findings.FromWire(&f, findings.OriginStream))
		}
	}
	require.NoError(t, r.w.write(t.Context(), rows))
	r.w.stallRows = 3
	r.look(t)
	streams := map[string][]int{}
	for _, f := range r.list(t) {
		var ev struct{ Event event }
		require.NoError(t, json.Unmarshal(f.Evidence, &ev))
		streams[f.Emitter] = append(streams[f.Emitter], ev.Event.Streams)
	}
	require.Equal(t, []int{5, 5, 5, 5, 5}, streams["a"], "an event over two pages is one")
	require.Equal(t, []int{2, 2}, streams["c"])
	require.Len(t, streams["b"], 11)
	require.NotContains(t, streams["b"], 0, "an event over more pages is several; no stall is without")
}
