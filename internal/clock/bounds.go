package clock

import "math"

// Bounds is an interval that holds θ, in µs. Use Unbounded to start.
type Bounds struct{ Lo, Hi int64 }

// Unbounded says nothing about θ.
func Unbounded() Bounds { return Bounds{Lo: math.MinInt64, Hi: math.MaxInt64} }

// Sent narrows b by a message from client to server: sent at client time c, received at server time s.
func (b Bounds) Sent(c, s int64) Bounds {
	b.Lo = max(b.Lo, c-s)
	return b
}

// Received narrows b by a message from server to client: sent at server time s, received at client time c.
func (b Bounds) Received(s, c int64) Bounds {
	b.Hi = min(b.Hi, c-s)
	return b
}

// Bounded reports whether both ends are known.
func (b Bounds) Bounded() bool { return b.Lo != math.MinInt64 && b.Hi != math.MaxInt64 }

// Empty reports whether no θ fits: a clock was stepped, or the two sides are not of one request.
func (b Bounds) Empty() bool { return b.Lo > b.Hi }

// Estimate returns the midpoint of a bounded interval and half its width, rounded up, so that θ lies within
// offset ± uncertainty.
func (b Bounds) Estimate() (offset, uncertainty int64) {
	width := b.Hi - b.Lo
	return b.Lo + width/2, width - width/2
}

// Curve is one side's cumulative content: by instant T[i], in µs on that side's clock, Cum[i] bytes had been
// sent or received. Both ascend.
type Curve struct {
	T   []int64
	Cum []int64
}

// Positions narrows b by each content position that both curves know: the server's chunk that ends at a
// position was sent before the client had received that many bytes.
func (b Bounds) Positions(server, client Curve) Bounds {
	j := 0
	for i, pos := range server.Cum {
		if pos == 0 || i > 0 && server.Cum[i-1] == pos {
			continue // carries no content
		}
		for j < len(client.Cum) && client.Cum[j] < pos {
			j++
		}
		if j == len(client.Cum) {
			break
		}
		b = b.Received(server.T[i], client.T[j])
	}
	return b
}
