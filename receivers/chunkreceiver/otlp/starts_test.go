package otlp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStarts(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newStarts(2, time.Minute)
	s.now = func() time.Time { return now }
	require.EqualValues(t, 50, s.StartOf("a", 50))
	require.EqualValues(t, 50, s.StartOf("a", 70), "a later part agrees with the first")
	require.EqualValues(t, 40, s.StartOf("a", 40), "an earlier one begins anew")
	require.EqualValues(t, 40, s.StartOf("a", 60))
	now = now.Add(time.Minute + time.Second)
	require.EqualValues(t, 90, s.StartOf("a", 90), "forgotten after its time")
	s.StartOf("b", 1)
	s.StartOf("c", 1)
	require.EqualValues(t, 95, s.StartOf("a", 95), "the oldest goes when it is full")
}
