package timeline_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

func TestRenderList(t *testing.T) {
	page := &requests.Page{
		Requests: []requests.Summary{
			{
				RequestID: "chat-7f3a", StartedAt: at, State: requests.StateCompleted, Target: requests.Target{Model: ptr("gpt-4o")},
				TTFTUS: ptr(int64(412_000)), MaxGapUS: ptr(int64(1_868_900)), EndUS: ptr(int64(7_230_000)), Tokens: ptr(int64(230)),
				PerceivedTTFTUS: ptr(int64(676_000)), HasServer: true, HasGateway: true, HasClient: true,
			},
			{RequestID: "still-going", StartedAt: at - 3_000_000, State: requests.StateRunning, TTFTUS: ptr(int64(300_000)), HasServer: true},
			{RequestID: "b984f840-5113-4302-b37b-b6df8b7bc50c-and-longer", StartedAt: at - 9_000_000, State: requests.StateFailed, Target: requests.Target{Model: ptr("模型-七十亿")}, HasServer: true},
		},
		NextCursor: "b3BhcXVl",
	}
	for _, width := range []int{60, 80, 120} {
		var b bytes.Buffer
		require.NoError(t, timeline.RenderList(&b, page, timeline.Options{Width: width}))
		golden(t, fmt.Sprintf("list_%d.txt", width), b.String())
	}
	var b bytes.Buffer
	require.NoError(t, timeline.RenderList(&b, &requests.Page{}, timeline.Options{}))
	require.Contains(t, b.String(), "no requests")
}
