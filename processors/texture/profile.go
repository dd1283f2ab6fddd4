package texture

import (
	"math"
	"sort"

	"github.com/fermata-io/fermata/internal/wire"
)

// Quality is one side of how a stream feels.
type Quality string

// Qualities. Unknown values of a stream are NaN and left out.
const (
	Pace           Quality = "pace"             // median gap per token between content-bearing chunks, µs
	Roughness      Quality = "roughness"        // 90th percentile of that gap over its median
	Burstiness     Quality = "burstiness"       // share of chunks that came less than 1 ms after the one before
	FirstToken     Quality = "first_token"      // TTFT, µs
	Chunks         Quality = "chunks"           // content-bearing chunks
	TokensPerChunk Quality = "tokens_per_chunk" // mean
	Preamble       Quality = "preamble"         // bytes of answer before the first tool call
	ToolPause      Quality = "tool_pause"       // longest gap before a tool call begins, µs
)

// Qualities lists all, in the order of reports.
func Qualities() []Quality {
	return []Quality{Pace, Roughness, Burstiness, FirstToken, Chunks, TokensPerChunk, Preamble, ToolPause}
}

// Profile holds one stream's qualities.
type Profile map[Quality]float64

// ProfileOf measures a whole stream.
func ProfileOf(c *wire.Chunks) Profile {
	p := Profile{}
	for _, q := range Qualities() {
		p[q] = math.NaN()
	}
	var gaps []float64
	var last, first int64
	var n, tokens, together, text float64
	prev := wire.KindContent
	tool := false
	for i := range c.T {
		if !c.ContentBearing(i) {
			continue
		}
		kind := c.KindAt(i)
		if n == 0 {
			first = c.T[i]
		} else {
			g := float64(c.T[i] - last)
			if g < 1000 {
				together++
			} else {
				if len(c.Tokens) > 0 && c.Tokens[i] > 1 {
					g /= float64(c.Tokens[i])
				}
				gaps = append(gaps, g)
			}
			if kind == wire.KindTool && prev != wire.KindTool {
				p[ToolPause] = math.Max(float64(c.T[i]-last), zeroIfNaN(p[ToolPause]))
			}
		}
		if kind == wire.KindTool && !tool {
			tool = true
			p[Preamble] = text
		}
		if kind == wire.KindContent && len(c.Bytes) > 0 {
			text += float64(c.Bytes[i])
		}
		if len(c.Tokens) > 0 {
			tokens += float64(c.Tokens[i])
		}
		last, prev = c.T[i], kind
		n++
	}
	p[Chunks] = n
	if n == 0 {
		return p
	}
	p[FirstToken] = float64(first)
	if tokens > 0 {
		p[TokensPerChunk] = tokens / n
	}
	if n > 1 {
		p[Burstiness] = together / (n - 1)
	}
	if len(gaps) >= 4 {
		sort.Float64s(gaps)
		m := gaps[len(gaps)/2]
		p[Pace] = m
		p[Roughness] = gaps[len(gaps)*9/10] / m
	}
	return p
}

func zeroIfNaN(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
