package stall

import (
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// ChunkOf makes the Chunk of element i of a record's columns. Where sizes are not known, the kind alone
// says that a chunk bears content.
func ChunkOf(c *wire.Chunks, i int) Chunk {
	ch := Chunk{AtUS: c.T[i], Kind: c.KindAt(i)}
	if len(c.Tokens) > 0 {
		ch.Tokens = c.Tokens[i]
	}
	switch {
	case len(c.Bytes) > 0:
		ch.Bytes = c.Bytes[i]
	case ch.Kind.ContentBearing():
		ch.Bytes = 1
	}
	return ch
}

// Timing holds a whole stream's first-token times and rates. Absent values can't be known from its chunks.
type Timing struct {
	TTFTUS wire.Opt[int64] // start to the first content-bearing chunk, reasoning included
	TTFAUS wire.Opt[int64] // start to the first chunk of answer text
	Chunks int64           // content-bearing
	// Tokens is the number of generated tokens: of the chunks where each tells it, else the emitter's total,
	// else one per chunk (TokensGuessed).
	Tokens        int64
	TokensGuessed bool
	ChunkGapUS    wire.Opt[float64] // mean gap between content-bearing chunks
	// TokenUS is the mean time per token after the first chunk: (last − first) ÷ (tokens − tokens of the
	// first chunk). What the first chunk bundles took no time after it, and must not raise the rate.
	TokenUS   wire.Opt[float64]
	TPS       wire.Opt[float64] // 10⁶ ÷ TokenUS
	Malformed int64             // error frames: counted, no tokens
	Done      bool              // a terminal event came
}

// TimingOf derives the times and rates of a whole stream. total is the emitter's own token count (usage).
func TimingOf(c *wire.Chunks, total wire.Opt[int64]) Timing {
	var r Timing
	var first, last, sum, head int64
	known := len(c.Tokens) > 0
	for i := range c.T {
		switch k := c.KindAt(i); {
		case k == wire.KindError:
			r.Malformed++
		case k == wire.KindDone:
			r.Done = true
		case c.ContentBearing(i):
			if r.Chunks == 0 {
				first = c.T[i]
				r.TTFTUS = wire.Some(first)
				if known {
					head = int64(c.Tokens[i])
				}
			}
			if k == wire.KindContent && !r.TTFAUS.OK {
				r.TTFAUS = wire.Some(c.T[i])
			}
			if known {
				sum += int64(c.Tokens[i])
			}
			r.Chunks++
			last = c.T[i]
		}
	}
	switch {
	case r.Chunks == 0:
		return r
	case known && sum > 0:
		r.Tokens = sum
	case total.OK && total.V >= r.Chunks:
		r.Tokens, head = total.V, 1
	default:
		r.Tokens, head, r.TokensGuessed = r.Chunks, 1, true
	}
	if r.Chunks > 1 {
		r.ChunkGapUS = wire.Some(float64(last-first) / float64(r.Chunks-1))
	}
	if rest := r.Tokens - head; rest > 0 && last > first {
		us := float64(last-first) / float64(rest)
		r.TokenUS, r.TPS = wire.Some(us), wire.Some(1e6/us)
	}
	return r
}

// SlowStart judges the time to the first content-bearing chunk. waitedUS is that time, or how long it has
// been waited for (open). ok is false within the limit.
func SlowStart(waitedUS int64, open bool, limit time.Duration) (f Finding, ok bool) {
	if waitedUS <= limit.Microseconds() {
		return Finding{}, false
	}
	f = Finding{
		Kind: wire.FindingSlowStart, DurationUS: waitedUS, Open: open, Severity: SeverityWarning, Confidence: 1,
		Evidence: Evidence{LongestUS: waitedUS, BaselineUS: limit.Microseconds()},
	}
	if waitedUS >= 5*limit.Microseconds() {
		f.Severity = SeverityCritical
	}
	return f, true
}

// ImpossibleOrder reports whether a server's or trace's first-token time can't be true because the user saw
// text earlier: both counted from the same start on one clock, or with errUS of uncertainty between clocks.
func ImpossibleOrder(serverTTFTUS, userFirstTextUS, errUS int64) bool {
	return serverTTFTUS > userFirstTextUS+errUS
}

// idleLimits are the idle limits that hops between user and engine come with: nginx, cloud balancers and
// CDNs.
var idleLimits = [...]time.Duration{
	10 * time.Second, 15 * time.Second, 20 * time.Second, 25 * time.Second, 29 * time.Second, 30 * time.Second, 45 * time.Second,
	50 * time.Second, 55 * time.Second, 60 * time.Second, 75 * time.Second, 90 * time.Second, 100 * time.Second, 120 * time.Second,
	125 * time.Second, 150 * time.Second, 180 * time.Second, 230 * time.Second, 240 * time.Second, 300 * time.Second, 350 * time.Second,
	600 * time.Second, 900 * time.Second, 1800 * time.Second, 3600 * time.Second,
}

// IdleLimit tells which common idle limit a silence that ended in a cut connection fits: at most 10 ms short
// of it and at most 1 % + 50 ms longer.
func IdleLimit(silenceUS int64) (limit time.Duration, ok bool) {
	for _, l := range idleLimits {
		d := silenceUS - l.Microseconds()
		if d >= -10_000 && d <= l.Microseconds()/100+50_000 {
			return l, true
		}
	}
	return 0, false
}
