package timeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

// What each finding between tiers says to a person.
func TestFindingsInWords(t *testing.T) {
	for _, c := range []struct{ kind, evidence, want string }{
		{
			"render_lag", `{"pattern":"freeze","waiting_chunks":430,"waited_us":8690000,"long_frames_us":3200000}`,
			"430 received chunks waited 8.69 s for their paint while the page was visible, long frames took 3.20 s of it",
		},
		{
			"render_lag", `{"pattern":"typing","lag_us":57000000,"shown_chunks":60,"received_chunks":400}`,
			"text went on appearing for 57.00 s after the last byte had come, 60 of 400 chunks were shown",
		},
		{
			"perceived_gap", `{"perceived_ttft_us":9000000,"server_ttft_us":600000,"gateway_us":0,"way_us":200000,"render_us":8100000}`,
			"the user waited 9.00 s, the server took 600 ms, way 200 ms, render 8.10 s",
		},
		{
			"buffering", `{"driver":"size","releases":4,"bytes_per_release":1320,"upstream_ttft_us":400000,"downstream_ttft_us":13400000}`,
			"text came in 4 bursts, each when a buffer was full, about 1320 bytes of text a burst, first text sent at 400 ms, received at 13.40 s",
		},
		{
			"buffering", `{"driver":"time","releases":9,"interval_us":2000000,"upstream_ttft_us":400000,"downstream_ttft_us":2000000}`,
			"text came in 9 bursts, by a timer, every 2.00 s, first text sent at 400 ms, received at 2.00 s",
		},
		{
			"buffering", `{"driver":"end","releases":1,"upstream_ttft_us":610000,"downstream_ttft_us":8400000}`,
			"the answer was held back and came at once at the end, first text sent at 610 ms, received at 8.40 s",
		},
		{
			"loop", `{"start_char":410,"period_chars":57,"repeats":41,"to_end":true,"hit_limit":true,"match":"exact"}`,
			"the same 57 characters 41 times over, from character 410 on, up to the length limit",
		},
		{
			"loop", `{"start_char":0,"period_chars":9,"repeats":12,"to_end":true,"hit_limit":false,"match":"masked"}`,
			"but for digits and spaces the same 9 characters 12 times over, from character 0 on, to the end",
		},
		{"retraction", `{"retractions":3,"bytes":1204}`, "shown text was taken back 3 times, 1204 bytes in all"},
		{"semantic_gap", `{"jitter_us":31000,"deviation_us":612000}`, "delays change by 31.0 ms from chunk to chunk, gaps deviate by 612 ms"},
		{"cancel_waste", `{"waste_chunks":1735}`, "1735 chunks were made after the user had gone"},
		{
			"clock_conflict", `{"rule":"impossible_order","server_ttft_us":12400000,"user_first_text_us":2900000}`,
			"the server's first text at 12.40 s is later than the user's at 2.90 s: one of the two is measured wrong",
		},
		{
			"clock_conflict", `{"rule":"the clocks stepped","numbers":[-5000000,40000,0,1,2,3]}`,
			"the clocks stepped; a step of -5.00 s ± 40.0 ms",
		},
		{
			"clock_conflict", `{"rule":"page_clock_and_wall_clock_differ","cause":"slept","behind_us":300000000}`,
			"the page's clock is 5 m 00 s behind its wall clock: its machine slept, the wall clock agrees with the server's",
		},
		{"id_conflict", `{"rule":"different streams have this request id"}`, "different streams have this request id"},
		{"retraction", `{"retractions":"a lot"}`, ""},
		{"retraction", `7`, ""},
	} {
		raw, err := json.Marshal(map[string]any{"kind": c.kind, "tier": "client", "evidence": json.RawMessage(c.evidence)})
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, timeline.Render(&b, &requests.Request{RequestID: "r", Findings: []json.RawMessage{raw}}, timeline.Options{Width: 400}))
		require.Contains(t, b.String(), strings.TrimSuffix("finding    "+c.kind+" · client · "+c.want, " · "), "%s %s", c.kind, c.evidence)
	}
}
