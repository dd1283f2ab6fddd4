package clock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

// Whatever is known of two clocks against a third one is true of the two, for any delays, offsets and rates.
func TestThroughHoldsTheTruth(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	rapid.Check(t, func(t *rapid.T) {
		const start = int64(1_790_000_000_000_000)
		delay := rapid.Int64Range(0, 300_000)
		offset := rapid.Int64Range(-1e10, 1e10)
		page, gate := offset.Draw(t, "page"), offset.Draw(t, "gateway")
		rate := rapid.Float64Range(-190e-6, 190e-6).Draw(t, "rate of the gateway")
		gateway := func(x int64) int64 { return x + gate + int64(rate*float64(x-start)) }
		var client, relay clock.Bounds
		client.Sent(start-delay.Draw(t, "up")+page, start)
		relay.Sent(gateway(start-delay.Draw(t, "there"))-1, start)
		at := start
		for range rapid.IntRange(1, 5).Draw(t, "bytes") {
			at += delay.Draw(t, "pause")
			client.Received(at, at+delay.Draw(t, "down")+page)
			relay.Received(at, gateway(at+delay.Draw(t, "back"))+1)
		}
		b := cfg.Through(client, relay, cfg.MaxRate)
		require.True(t, b.Closed())
		truth := func(p clock.Point) int64 { // page − gateway when the gateway's clock shows p.At
			x := start + int64(float64(p.At-gate-start)/(1+rate))
			return x + page - p.At
		}
		for _, p := range b.Lower {
			require.LessOrEqual(t, p.Theta, truth(p)+3)
		}
		for _, p := range b.Upper {
			require.GreaterOrEqual(t, p.Theta, truth(p)-3)
		}
	})
}

func TestThroughSaysNothingOfAnOpenGateway(t *testing.T) {
	cfg := clock.NewDefaultConfig()
	var client, gateway clock.Bounds
	client.Sent(0, 10)
	client.Received(20, 30)
	gateway.Sent(5, 10)
	require.Zero(t, cfg.Through(client, gateway, 0))
}
