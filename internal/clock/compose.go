package clock

import "math"

// Through returns what follows for θ between a client and a gateway, on the gateway's clock, from what is known of each against
// a third process: client are bounds of client − server, gateway those of gateway − server. θ of the two is their difference, so
// each side of one and the other side of the other make a bound. rate is by how much the gateway's clock may run apart from the
// server's between two bounds, as a ratio: with Config.MaxRate what follows is as certain as the bounds, with 0 it is for clocks that
// don't in the course of one request. It says nothing where the gateway's clock is not bounded on both sides.
func (c *Config) Through(client, gateway Bounds, rate float64) (b Bounds) {
	if !gateway.Closed() {
		return b
	}
	client, gateway = client.Prune(c.MaxRate, c.Points), gateway.Prune(c.MaxRate, c.Points)
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for _, p := range gateway.Lower {
		lo = max(lo, p.Theta)
	}
	for _, p := range gateway.Upper {
		hi = min(hi, p.Theta)
	}
	offset, spread := lo+(hi-lo)/2, abs(hi-lo)
	bound := func(p, q Point, sign int64) Point {
		loose := int64(math.Ceil(rate * float64(abs(p.At-q.At)+spread)))
		return Point{p.At + offset, p.Theta - q.Theta + sign*loose}
	}
	for _, p := range client.Lower {
		for _, q := range gateway.Upper {
			b.Lower = append(b.Lower, bound(p, q, -1))
		}
	}
	for _, p := range client.Upper {
		for _, q := range gateway.Lower {
			b.Upper = append(b.Upper, bound(p, q, 1))
		}
	}
	return b
}
