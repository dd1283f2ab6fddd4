package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// readOllama reads recordings of Ollama's streams: NDJSON as it came over the wire, or the same objects pretty-printed in
// fenced blocks of a Markdown file. A stream ends with done: true, so that one file may hold several.
func readOllama(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	if blocks := fenced(doc); blocks != nil {
		doc = blocks
	}
	return r.ollamaStreams(doc, "", 0)
}

// fenced returns the JSON of all fenced code blocks of a Markdown file; nil when there are none.
func fenced(doc []byte) []byte {
	var out []byte
	open, wanted := false, false
	for line := range bytes.Lines(doc) {
		if t := bytes.TrimSpace(line); bytes.HasPrefix(t, []byte("```")) {
			open = !open
			wanted = open && (len(t) == 3 || bytes.Contains(t, []byte("json")))
			continue
		}
		if wanted {
			out = append(out, line...)
		}
	}
	return out
}

// ollamaStreams reads objects that follow one another. id is that of the first stream, made up when empty.
func (r *reader) ollamaStreams(doc []byte, id string, index int) error {
	var o *ollamaStream
	finish := func() error {
		if o == nil {
			return nil
		}
		s, err := o.stream(r)
		o = nil
		if err != nil {
			r.skip("stream "+strconv.Itoa(index), err.Error())
			return nil
		}
		s.RequestID = id
		if id == "" {
			s.RequestID = r.id(strconv.Itoa(index))
		}
		id = ""
		index++
		return r.stream(s)
	}
	err := eachObject(doc, func(obj []byte) error {
		if o == nil {
			o = newOllamaStream()
		}
		if o.add(obj) {
			return finish()
		}
		return nil
	}, func(line int) { r.skip("line "+strconv.Itoa(line), "broken JSON") })
	if err != nil {
		return err
	}
	return finish()
}

// eachObject calls f with each JSON object of doc that begins on a line of its own; lines between objects are passed over.
// What begins like an object and can't be read is told to broken, by its line.
func eachObject(doc []byte, f func([]byte) error, broken func(line int)) error {
	line := 1
	for len(doc) > 0 {
		text, rest, _ := bytes.Cut(doc, []byte("\n"))
		if !bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("{")) {
			doc = rest
			line++
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(doc))
		var obj json.RawMessage
		if dec.Decode(&obj) != nil {
			broken(line)
			doc = rest
			line++
			continue
		}
		if err := f(obj); err != nil {
			return err
		}
		end := int(dec.InputOffset())
		line += bytes.Count(doc[:end], []byte("\n"))
		doc = doc[end:]
	}
	return nil
}

// ollamaStream collects one stream.
type ollamaStream struct {
	p     *llmstream.Parser
	c     collector
	total int64 // ns, from the last object
	first int64 // µs
	last  int64
}

func newOllamaStream() *ollamaStream {
	o := &ollamaStream{}
	o.p = llmstream.New(llmstream.Options{Path: "/api/chat", Framing: llmstream.FramingNDJSON, CreatedAt: true}, o.c.event)
	return o
}

// add takes one object and reports whether it ended the stream.
func (o *ollamaStream) add(obj []byte) bool {
	var head struct {
		CreatedAt string `json:"created_at"`
		Done      bool   `json:"done"`
		Total     int64  `json:"total_duration"`
	}
	_ = json.Unmarshal(obj, &head) // a broken object is the parser's to count
	if t, err := time.Parse(time.RFC3339Nano, head.CreatedAt); err == nil {
		us := t.UnixMicro()
		if o.first == 0 {
			o.first = us
		}
		o.last = max(o.last, us)
	}
	o.c.at = o.last
	var line bytes.Buffer
	if json.Compact(&line, obj) != nil {
		line.Write(obj)
	}
	line.WriteByte('\n')
	_, _ = o.p.Write(line.Bytes())
	o.total = head.Total
	return head.Done
}

func (o *ollamaStream) stream(r *reader) (*wire.Stream, error) {
	o.p.Close()
	if o.first == 0 {
		return nil, errors.New("no object has a created_at")
	}
	info := o.p.Info()
	s := &wire.Stream{Emitter: r.rep.Format, Final: true, StartedAt: o.first}
	span := o.last - o.first
	if total := o.total / 1000; total >= span && total < (24*time.Hour).Microseconds() {
		s.StartedAt = o.last - total // the engine's own clock: the last stamp is made when the request ends
		r.note("the request's start is the last created_at less total_duration")
	} else {
		s.StartUnknown = true
		r.note("the recording doesn't tell when the request began: it starts at its first chunk, TTFT is not known")
	}
	fill(s, info)
	s.Provider = "ollama"
	s.Chunks = o.c.chunks(s.StartedAt)
	s.EndUS = wire.Some(o.last - s.StartedAt)
	return s, nil
}

// collector gathers a parser's events.
type collector struct {
	at     int64 // instant or offset of the events to come, µs
	t      []int64
	events []llmstream.Event
}

func (c *collector) event(e *llmstream.Event) {
	c.t = append(c.t, c.at)
	c.events = append(c.events, *e)
}

// chunks returns the events as columns, with offsets from start.
func (c *collector) chunks(start int64) wire.Chunks {
	var ch wire.Chunks
	var tokens, choices, logprobs bool
	for i, e := range c.events {
		ch.T = append(ch.T, c.t[i]-start)
		ch.Kind = append(ch.Kind, e.Kind)
		ch.Bytes = append(ch.Bytes, e.Bytes)
		ch.Tokens = append(ch.Tokens, e.Tokens)
		ch.Choice = append(ch.Choice, e.Choice)
		lp := float32(math.NaN())
		if e.LogprobKnown {
			lp = e.Logprob
		}
		ch.Logprob = append(ch.Logprob, lp)
		tokens = tokens || e.TokensKnown
		choices = choices || e.Choice > 0
		logprobs = logprobs || e.LogprobKnown
	}
	if !tokens {
		ch.Tokens = nil
	}
	if !choices {
		ch.Choice = nil
	}
	if !logprobs {
		ch.Logprob = nil
	}
	return ch
}

// fill copies what an answer said of itself.
func fill(s *wire.Stream, i *llmstream.Info) {
	s.Model, s.ModelVersion = i.Model, i.Fingerprint
	s.ResponseID = i.ResponseID
	s.FinishReason, s.StopReason = i.FinishReason, i.StopReason
	s.PromptTokens, s.OutputTokens = i.PromptTokens, i.OutputTokens
	s.ReasoningTokens, s.CachedTokens = i.ReasoningTokens, i.CachedTokens
	s.SpecDraft, s.SpecAccepted = i.SpecDraft, i.SpecAccepted
	s.QueueUS, s.PrefillUS, s.DecodeUS = i.QueueUS, i.PrefillUS, i.DecodeUS
	if i.Error {
		s.ErrorType = i.ErrorType
	}
}
