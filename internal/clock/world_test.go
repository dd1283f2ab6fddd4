package clock_test

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/clock"
)

// world is a simulated session: two clocks that run evenly, delays of any size, and a proxy that cuts the chunks anew.
type world struct {
	theta        int64 // θ when the server's clock shows start
	rate         float64
	start        int64
	observations []clock.Observation
	bestRTT      int64 // the least width of what one request says at its start, in µs
	grain        int64 // by how much what is measured of a round trip may change with the rate
}

// sent and received are what the client's clock shows when the server's shows x, in whole µs that keep the truth inside.
func (w *world) sent(x int64) int64     { return x + w.theta + int64(math.Floor(w.apart(x))) }
func (w *world) received(x int64) int64 { return x + w.theta + int64(math.Ceil(w.apart(x))) }

// apart is θ less theta, which floating point would not hold.
func (w *world) apart(x int64) float64 { return w.rate * float64(x-w.start) }

func drawWorld(t *rapid.T) *world {
	w := &world{
		theta: rapid.Int64Range(-1e12, 1e12).Draw(t, "theta"),
		rate:  rapid.Float64Range(-190e-6, 190e-6).Draw(t, "rate"),
		start: rapid.Int64Range(1e15, 2e15).Draw(t, "start"),
	}
	maxDelay := rapid.SampledFrom([]int64{0, 100, 20_000, 1_000_000}).Draw(t, "longest delay")
	now := w.start
	w.bestRTT = math.MaxInt64
	for k := range rapid.IntRange(1, 12).Draw(t, "requests") {
		now += rapid.Int64Range(0, 600_000_000).Draw(t, "pause")
		o := clock.Observation{ID: fmt.Sprint(k), Start: now}
		if rapid.IntRange(0, 9).Draw(t, "sent known") > 0 {
			o.Sent(w.sent(now-rapid.Int64Range(0, maxDelay).Draw(t, "up")), now)
		}
		var server, client clock.Curve
		at, cum, arrival := now, int64(0), int64(0)
		for range rapid.IntRange(0, 12).Draw(t, "chunks") {
			at += rapid.Int64Range(0, 400_000).Draw(t, "gap")
			cum += rapid.Int64Range(0, 20).Draw(t, "bytes")
			server.T, server.Cum = append(server.T, at), append(server.Cum, cum)
			arrival = max(arrival, at+rapid.Int64Range(0, maxDelay).Draw(t, "down"))
			if rapid.Bool().Draw(t, "held back") {
				continue
			}
			client.T, client.Cum = append(client.T, w.received(arrival)), append(client.Cum, cum)
		}
		o.Positions(server, client)
		w.observations = append(w.observations, o)
		for _, l := range o.Lower {
			for _, u := range o.Upper {
				w.grain = max(w.grain, int64(2*200e-6*float64(u.At-l.At))+1)
				w.bestRTT = min(w.bestRTT, u.Theta-l.Theta+int64(math.Ceil(2*200e-6*float64(u.At-l.At))))
			}
		}
	}
	return w
}
