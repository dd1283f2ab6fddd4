package tap

import (
	"math"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// columns are the chunks of one stream that wait to be handed on.
type columns struct {
	t       []int64
	bytes   []uint32
	tokens  []uint32
	kind    []wire.Kind
	choice  []uint16
	logprob []float32
	text    []string

	// tokenful and tokenless tell of the whole stream so far: chunks with text that told their tokens, or did not.
	tokenful, tokenless bool

	choices  bool // a chunk of a choice other than 0
	logprobs bool // a chunk with a log-probability
}

func (c *columns) reset() {
	*c = columns{
		t: c.t[:0], bytes: c.bytes[:0], tokens: c.tokens[:0], kind: c.kind[:0],
		choice: c.choice[:0], logprob: c.logprob[:0], text: c.text[:0],
		tokenful: c.tokenful, tokenless: c.tokenless,
	}
}

func (c *columns) add(e *llmstream.Event, t int64, text bool) {
	c.t = append(c.t, t)
	c.bytes = append(c.bytes, e.Bytes)
	c.tokens = append(c.tokens, e.Tokens)
	c.kind = append(c.kind, e.Kind)
	if e.Choice != 0 && !c.choices {
		c.choices = true
		for len(c.choice) < len(c.t)-1 {
			c.choice = append(c.choice, 0)
		}
	}
	if c.choices {
		c.choice = append(c.choice, e.Choice)
	}
	if e.LogprobKnown && !c.logprobs {
		c.logprobs = true
		for len(c.logprob) < len(c.t)-1 {
			c.logprob = append(c.logprob, float32(math.NaN()))
		}
	}
	if c.logprobs {
		v := float32(math.NaN())
		if e.LogprobKnown {
			v = e.Logprob
		}
		c.logprob = append(c.logprob, v)
	}
	if text {
		c.text = append(c.text, string(e.Text))
	}
	c.judge(e)
}

func (c *columns) judge(e *llmstream.Event) {
	if e.Bytes > 0 {
		c.tokenful = c.tokenful || e.TokensKnown
		c.tokenless = c.tokenless || !e.TokensKnown
	}
}

// merge adds a chunk to the last one, as a proxy that buffers would: bytes and tokens stay right, times get
// coarser. It reports false when the two differ in what they are.
func (c *columns) merge(e *llmstream.Event, t int64, text bool) bool {
	i := len(c.t) - 1
	if i < 0 || c.kind[i] != e.Kind || c.choices && c.choice[i] != e.Choice || !c.choices && e.Choice != 0 {
		return false
	}
	c.t[i] = t
	c.bytes[i] += e.Bytes
	c.tokens[i] += e.Tokens
	if c.logprobs {
		c.logprob[i] += e.Logprob
	}
	if text {
		c.text[i] += string(e.Text)
	}
	c.judge(e)
	return true
}

// chunks shows the columns as a record's. They share memory.
func (c *columns) chunks() wire.Chunks {
	w := wire.Chunks{T: c.t, Bytes: c.bytes, Kind: c.kind, Text: c.text}
	if c.tokenful && !c.tokenless {
		w.Tokens = c.tokens
	}
	if c.choices {
		w.Choice = c.choice
	}
	if c.logprobs {
		w.Logprob = c.logprob
	}
	return w
}
