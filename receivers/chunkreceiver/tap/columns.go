package tap

import (
	"math"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// chunk is one chunk that waits to be handed on. It is written on the stream's way, so it is small and in one place;
// the sender makes columns of it.
type chunk struct {
	t       int64
	bytes   uint32
	tokens  uint32
	logprob float32 // NaN: not known
	choice  uint16
	kind    wire.Kind
}

// chunks are the chunks of one stream that wait.
type chunks struct {
	list []chunk
	text []string // with ForwardText

	// tokenful and tokenless tell of the whole stream so far: chunks with text that told their tokens, or did not.
	tokenful, tokenless bool
	choices             bool // a chunk of a choice other than 0 waits
	logprobs            bool // a chunk with a log-probability waits
}

// reset forgets the chunks, not what is known of the whole stream.
func (c *chunks) reset() {
	c.list, c.text, c.choices, c.logprobs = c.list[:0], c.text[:0], false, false
}

func (c *chunks) add(e *llmstream.Event, t int64, text bool) {
	n := chunk{t: t, bytes: e.Bytes, tokens: e.Tokens, choice: e.Choice, kind: e.Kind, logprob: float32(math.NaN())}
	if e.LogprobKnown {
		n.logprob, c.logprobs = e.Logprob, true
	}
	c.list = append(c.list, n)
	if text {
		c.text = append(c.text, string(e.Text))
	}
	c.judge(e)
}

func (c *chunks) judge(e *llmstream.Event) {
	c.choices = c.choices || e.Choice != 0
	if e.Bytes > 0 {
		c.tokenful = c.tokenful || e.TokensKnown
		c.tokenless = c.tokenless || !e.TokensKnown
	}
}

// merge adds a chunk to the last one, as a proxy that buffers would: bytes and tokens stay right, times get
// coarser. It reports false when the two differ in what they are.
func (c *chunks) merge(e *llmstream.Event, t int64, text bool) bool {
	if len(c.list) == 0 {
		return false
	}
	l := &c.list[len(c.list)-1]
	if l.kind != e.Kind || l.choice != e.Choice {
		return false
	}
	l.t = t
	l.bytes += e.Bytes
	l.tokens += e.Tokens
	l.logprob += e.Logprob
	if text {
		c.text[len(c.text)-1] += string(e.Text)
	}
	c.judge(e)
	return true
}

// columns is the sender's memory for the arrays of the records of one call of the sink.
type columns struct {
	t       []int64
	bytes   []uint32
	tokens  []uint32
	kind    []wire.Kind
	choice  []uint16
	logprob []float32
}

func (c *columns) reset() {
	*c = columns{
		t: c.t[:0], bytes: c.bytes[:0], tokens: c.tokens[:0], kind: c.kind[:0], choice: c.choice[:0], logprob: c.logprob[:0],
	}
}

// take appends a stream's chunks and shows them as a record's.
func (c *columns) take(s *chunks) wire.Chunks {
	var w wire.Chunks
	n := len(s.list)
	if n == 0 {
		return w
	}
	from := len(c.t)
	for i := range s.list {
		k := &s.list[i]
		c.t, c.bytes, c.kind = append(c.t, k.t), append(c.bytes, k.bytes), append(c.kind, k.kind)
	}
	w.T, w.Bytes, w.Kind = c.t[from:len(c.t):len(c.t)], c.bytes[from:len(c.bytes):len(c.bytes)], c.kind[from:len(c.kind):len(c.kind)]
	if s.tokenful && !s.tokenless {
		from := len(c.tokens)
		for i := range s.list {
			c.tokens = append(c.tokens, s.list[i].tokens)
		}
		w.Tokens = c.tokens[from:len(c.tokens):len(c.tokens)]
	}
	if s.choices {
		from := len(c.choice)
		for i := range s.list {
			c.choice = append(c.choice, s.list[i].choice)
		}
		w.Choice = c.choice[from:len(c.choice):len(c.choice)]
	}
	if s.logprobs {
		from := len(c.logprob)
		for i := range s.list {
			c.logprob = append(c.logprob, s.list[i].logprob)
		}
		w.Logprob = c.logprob[from:len(c.logprob):len(c.logprob)]
	}
	if len(s.text) > 0 {
		w.Text = append([]string(nil), s.text...)
	}
	return w
}
