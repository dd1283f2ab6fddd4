package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

func TestAPageThatWasClosedIsTold(t *testing.T) {
	const told = "page closed at 5.30 s, while the answer came"
	r := clientOnly()
	require.NotContains(t, render(t, r, timeline.Options{Width: 120}), told, "the user aborted")
	r.Client.AbortedUS, r.Client.ClosedUS = nil, r.Client.AbortedUS
	require.Contains(t, render(t, r, timeline.Options{Width: 120}), told)
	r.Client.State = requests.StateCompleted
	require.NotContains(t, render(t, r, timeline.Options{Width: 120}), told)
}
