package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
)

func TestUserAbort(t *testing.T) {
	for _, class := range append(wire.UserAborts(), "AbortError", "CANCELLED") {
		require.True(t, wire.UserAbort(class), class)
	}
	for _, class := range []string{"", "stop", "error", "timeout", "length"} {
		require.False(t, wire.UserAbort(class), class)
	}
	wire.UserAborts()[0] = "stop"
	require.False(t, wire.UserAbort("stop"), "the list is a copy")
}

func TestFailedReason(t *testing.T) {
	for _, reason := range append(wire.FailedReasons(), "FAILED", "FINISH_REASON_ERROR", "FinishReason.Timeout") {
		require.True(t, wire.FailedReason(reason), reason)
	}
	for _, reason := range []string{"", "stop", "abort", "length", "FinishReason.", "errors"} {
		require.False(t, wire.FailedReason(reason), reason)
	}
}

func TestLoopStopped(t *testing.T) {
	for _, reason := range []string{"repetition", "repetition_detected", "REPETITION_DETECTED", "FinishReason.REPETITION"} {
		require.True(t, wire.LoopStopped(reason), reason)
	}
	for _, reason := range []string{"", "stop", "repetition_penalty", "length"} {
		require.False(t, wire.LoopStopped(reason), reason)
	}
}
