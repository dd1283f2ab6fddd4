package clock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

// Whatever the offset, the delays and the way a proxy cuts the chunks anew, the true offset lies inside.
func TestBoundsHoldTheTrueOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		theta := rapid.Int64Range(-1e12, 1e12).Draw(t, "theta")
		up := rapid.Int64Range(0, 1e6).Draw(t, "uplink")
		start := rapid.Int64Range(1e15, 2e15).Draw(t, "start") // server receives
		var server, client clock.Curve
		now, cum, arrival := start, int64(0), int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "chunks") {
			now += rapid.Int64Range(0, 200_000).Draw(t, "gap")
			cum += rapid.Int64Range(0, 20).Draw(t, "bytes")
			server.T, server.Cum = append(server.T, now), append(server.Cum, cum)
			arrival = max(arrival, now+rapid.Int64Range(0, 1e6).Draw(t, "delay"))
			if rapid.Bool().Draw(t, "held back") {
				continue
			}
			client.T, client.Cum = append(client.T, arrival+theta), append(client.Cum, cum)
		}
		b := clock.Unbounded().Sent(start-up+theta, start).Positions(server, client)
		require.False(t, b.Empty())
		if !b.Bounded() {
			return
		}
		require.GreaterOrEqual(t, theta, b.Lo)
		require.LessOrEqual(t, theta, b.Hi)
		offset, uncertainty := b.Estimate()
		require.LessOrEqual(t, offset-uncertainty, theta)
		require.GreaterOrEqual(t, offset+uncertainty, theta)
	})
}

func TestEmptyWhenABytesArrivesBeforeItWasSent(t *testing.T) {
	b := clock.Unbounded().Sent(100, 50).Positions(
		clock.Curve{T: []int64{1000}, Cum: []int64{5}}, clock.Curve{T: []int64{1010}, Cum: []int64{5}})
	require.True(t, b.Bounded())
	require.True(t, b.Empty())
}

func TestOneSidedIsNotBounded(t *testing.T) {
	require.False(t, clock.Unbounded().Sent(1, 2).Bounded())
	require.False(t, clock.Unbounded().Received(1, 2).Bounded())
}
