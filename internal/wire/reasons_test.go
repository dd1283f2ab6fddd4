package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

func TestFinishReasons(t *testing.T) {
	for _, r := range []string{"length", "LENGTH", "max_tokens", "MAX_TOKENS", "FINISH_REASON_MAX_TOKENS", "FinishReason.MAX_TOKENS", "max_output_tokens", "model_length", "incomplete"} {
		require.True(t, wire.AtLimit(r), r)
	}
	for _, r := range []string{"error", "ERROR", "FINISH_REASON_ERROR", "timeout"} {
		require.True(t, wire.FailedReason(r), r)
	}
	for _, r := range []string{"", "stop", "end_turn", "tool_calls", "repetition", "content_filter", "abort"} {
		require.False(t, wire.AtLimit(r) || wire.FailedReason(r), r)
	}
	require.True(t, wire.UserAbort("Disconnect"))
}
