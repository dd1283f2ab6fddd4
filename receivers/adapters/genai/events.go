package genai

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

func eventField(i int) string { return fmt.Sprintf("events[%d].time_unix_nano", i) }

// eventChunks makes chunks of a span's events, one of each.
func (b *Batch) eventChunks(s *wire.Stream, sp *otlpwire.Span, n chunkCount) error {
	total := n.chunks + n.done
	if total > b.t.opts.Limits.MaxChunks {
		return wire.Fieldf("events", "has %d chunks, at most %d are allowed; send the stream in segments", total, b.t.opts.Limits.MaxChunks)
	}
	c := columns{ch: wire.Chunks{T: b.offsets(total)}}
	like := alike{b: b, sp: sp}
	ascending, prev, scheduled := true, int64(0), int64(-1)
	for i := range sp.Events {
		ev := &sp.Events[i]
		class := b.classes[ev.Name]
		if class == eventOther || class == eventFirst {
			continue
		}
		t := micros(ev.Time) - s.StartedAt
		if t < 0 {
			return wire.Fieldf(eventField(i), "lies %d µs before the start of its span; want the instant of the chunk in ns", -t)
		}
		if class == eventScheduled {
			if scheduled < 0 || t < scheduled {
				scheduled = t
			}
			continue
		}
		ascending = ascending && t >= prev
		prev = t
		c.add(t)
		if class == eventToken {
			c.tokens(1)
		}
		if ev.HasAttrs() && !like.take(i, &c) {
			var err error
			if b.attrs, err = sp.EventAttrs(i, b.attrs[:0]); err != nil {
				return wire.Fieldf(fmt.Sprintf("events[%d].attributes", i), "can't be read: %v", err)
			}
			if err := c.attrs(b.attrs); err != nil {
				return wire.Fieldf(fmt.Sprintf("events[%d].attributes", i), "%v", err)
			}
			like.learn(i)
		}
		if class == eventDone {
			c.kind(wire.KindDone)
		}
	}
	if !ascending {
		c.sort()
	}
	s.Chunks = c.ch
	if scheduled >= 0 && !s.QueueUS.OK {
		s.QueueUS = wire.Some(scheduled)
		if first := s.Chunks.T[0] - scheduled; first >= 0 && !s.PrefillUS.OK {
			s.PrefillUS = wire.Some(first)
		}
	}
	return nil
}

// alike reads the attributes of events that differ from the one before them in numbers only, without parsing
// them.
type alike struct {
	b      *Batch
	sp     *otlpwire.Span
	tpl    otlpwire.Template
	on     bool
	fields [otlpwire.MaxVariable]semconv.Field
	n      int
}

// learn makes a template of event i, whose attributes are in b.attrs.
func (a *alike) learn(i int) {
	var variable [otlpwire.MaxVariable]int
	a.n, a.on = 0, false
	for k := range a.b.attrs {
		field, _ := semconv.Lookup(a.b.attrs[k].Key)
		switch field {
		case semconv.ChunkIndex, semconv.ChunkBytes, semconv.ChunkTokens:
			if a.b.attrs[k].Value.Type != otlpwire.Int || a.n == len(variable) {
				return
			}
			variable[a.n], a.fields[a.n] = k, field
			a.n++
		case semconv.ChunkKind, semconv.ChunkChoice, semconv.ChunkText:
			return
		default:
		}
	}
	a.tpl, a.on = a.sp.EventTemplate(i, variable[:a.n])
}

// take sets what event i says of the last chunk, if the event is like the one learnt.
func (a *alike) take(i int, c *columns) bool {
	if !a.on {
		return false
	}
	m, ok := a.tpl.Match(a.sp.EventBytes(i))
	if !ok {
		return false
	}
	for _, n := range m.Num[:a.n] {
		if n < 0 || n > math.MaxUint32 {
			return false
		}
	}
	for k, field := range a.fields[:a.n] {
		switch n := uint32(m.Num[k]); field { //nolint:gosec // checked above
		case semconv.ChunkBytes:
			c.bytes(n)
		case semconv.ChunkTokens:
			c.tokens(n)
		default:
		}
	}
	return true
}

// columns builds chunks one at a time. A column starts to exist with the first chunk that has its value;
// chunks before it get none: 0 bytes or tokens, content, choice 0.
type columns struct {
	ch wire.Chunks
}

func (c *columns) add(t int64) {
	c.ch.T = append(c.ch.T, t)
	if len(c.ch.Bytes) > 0 {
		c.ch.Bytes = append(c.ch.Bytes, 0)
	}
	if len(c.ch.Tokens) > 0 {
		c.ch.Tokens = append(c.ch.Tokens, 0)
	}
	if len(c.ch.Kind) > 0 {
		c.ch.Kind = append(c.ch.Kind, wire.KindContent)
	}
	if len(c.ch.Choice) > 0 {
		c.ch.Choice = append(c.ch.Choice, 0)
	}
}

// column returns the column as long as T, with room for as many chunks as T has room for.
func column[E any](c *columns, col []E) []E {
	if n := len(c.ch.T); len(col) < n {
		if col == nil {
			col = make([]E, 0, cap(c.ch.T))
		}
		col = col[:n]
	}
	return col
}

func (c *columns) bytes(n uint32) {
	c.ch.Bytes = column(c, c.ch.Bytes)
	c.ch.Bytes[len(c.ch.Bytes)-1] = n
}

func (c *columns) tokens(n uint32) {
	c.ch.Tokens = column(c, c.ch.Tokens)
	c.ch.Tokens[len(c.ch.Tokens)-1] = n
}

func (c *columns) kind(k wire.Kind) {
	c.ch.Kind = column(c, c.ch.Kind)
	c.ch.Kind[len(c.ch.Kind)-1] = k
}

func (c *columns) choice(n uint16) {
	c.ch.Choice = column(c, c.ch.Choice)
	c.ch.Choice[len(c.ch.Choice)-1] = n
}

// attrs reads what an event tells of its chunk.
func (c *columns) attrs(attrs otlpwire.Attrs) error {
	sized := false
	for i := range attrs {
		a := &attrs[i]
		field, _ := semconv.Lookup(a.Key)
		switch field {
		case semconv.ChunkBytes, semconv.ChunkTokens:
			n, ok := whole(a.Value)
			if !ok {
				continue // another sender's use of a common word
			}
			if n < 0 || n > math.MaxUint32 {
				return wire.Fieldf(strings.Clone(a.Key), "is out of range (%d)", n)
			}
			if field == semconv.ChunkTokens {
				c.tokens(uint32(n))
			} else {
				c.bytes(uint32(n))
				sized = true
			}
		case semconv.ChunkKind:
			if a.Value.Type == otlpwire.String {
				c.kind(KindOf(a.Value.Str()))
			}
		case semconv.ChunkChoice:
			if n, ok := whole(a.Value); ok && n >= 0 && n <= math.MaxUint16 && (n > 0 || len(c.ch.Choice) > 0) {
				c.choice(uint16(n))
			}
		case semconv.ChunkText:
			// Only measured: text of users doesn't enter the pipeline.
			if a.Value.Type == otlpwire.String && !sized {
				c.bytes(uint32(min(len(a.Value.Raw()), math.MaxUint32)))
			}
		default:
		}
	}
	return nil
}

// sort brings the chunks into the order of their times.
func (c *columns) sort() { sortChunks(&c.ch, nil) }

// sortChunks orders all columns by time, then by index where that is given.
func sortChunks(ch *wire.Chunks, index []int64) {
	order := make([]int, len(ch.T))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ch.T[a] != ch.T[b]:
			return compare(ch.T[a], ch.T[b])
		case index != nil:
			return compare(index[a], index[b])
		}
		return 0
	})
	ch.T = permute(ch.T, order)
	ch.Bytes = permute(ch.Bytes, order)
	ch.Tokens = permute(ch.Tokens, order)
	ch.Kind = permute(ch.Kind, order)
	ch.Choice = permute(ch.Choice, order)
	ch.Logprob = permute(ch.Logprob, order)
}

func compare(a, b int64) int {
	if a < b {
		return -1
	}
	return 1
}

func permute[E any](col []E, order []int) []E {
	if len(col) == 0 {
		return col
	}
	out := make([]E, len(col), cap(col))
	for i, k := range order {
		out[i] = col[k]
	}
	return out
}

// kindNames are the names that providers' own stream events have; Fermata's names come first.
var kindNames = map[string]wire.Kind{
	// Anthropic
	"content_block_delta": wire.KindContent, "text_delta": wire.KindContent, "thinking_delta": wire.KindReasoning,
	"input_json_delta": wire.KindTool, "message_start": wire.KindRole, "content_block_start": wire.KindRole,
	"content_block_stop": wire.KindRole, "message_delta": wire.KindUsage, "message_stop": wire.KindDone,
	"ping": wire.KindKeepalive, "signature_delta": wire.KindRole,
	// OpenAI responses
	"response.output_text.delta": wire.KindContent, "response.reasoning_text.delta": wire.KindReasoning,
	"response.reasoning_summary_text.delta": wire.KindReasoning, "response.refusal.delta": wire.KindRefusal,
	"response.function_call_arguments.delta": wire.KindTool, "response.completed": wire.KindDone,
	// Vercel AI SDK
	"text-delta": wire.KindContent, "reasoning-delta": wire.KindReasoning, "tool-input-delta": wire.KindTool,
	"finish": wire.KindDone, "tool-call": wire.KindTool,
	// common words
	"text": wire.KindContent, "thinking": wire.KindReasoning, "tool_call": wire.KindTool, "tool_calls": wire.KindTool,
	"function_call": wire.KindTool, "comment": wire.KindKeepalive, "heartbeat": wire.KindKeepalive,
}

// KindOf reads a chunk's kind from a wire name or a provider's event type. A lifecycle event of OpenAI's
// responses carries no text; any other word is content, which is also what no word at all means.
func KindOf(s string) wire.Kind {
	if k, ok := wire.ParseKind(s); ok {
		return k
	}
	s = strings.ToLower(s)
	if k, ok := kindNames[s]; ok {
		return k
	}
	if strings.HasPrefix(s, "response.") && !strings.HasSuffix(s, ".delta") {
		return wire.KindRole
	}
	return wire.KindContent
}
