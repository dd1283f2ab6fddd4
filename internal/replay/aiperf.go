package replay

import (
	"encoding/json"
	"strconv"

	"github.com/fermata-io/fermata/internal/wire"
)

// aiperfRecord is one line of AIPerf's profile_export.jsonl, in both generations of its keys.
type aiperfRecord struct {
	Metadata struct {
		XRequestID    string `json:"x_request_id"`
		RecordID      string `json:"record_id"`
		Start         int64  `json:"request_start_ns"`
		Timestamp     int64  `json:"timestamp_ns"` // older name of request_start_ns
		Ack           int64  `json:"request_ack_ns"`
		End           int64  `json:"request_end_ns"`
		WasCancelled  bool   `json:"was_cancelled"`
		CancelledAtNS *int64 `json:"cancellation_time_ns"`
	} `json:"metadata"`
	Metrics map[string]aiperfValue `json:"metrics"`
	Error   *aiperfError           `json:"error"`
}

type aiperfValue struct {
	Value json.RawMessage `json:"value"`
	Unit  string          `json:"unit"`
}

type aiperfError struct {
	Code      *float64 `json:"code"`
	Type      string   `json:"type"`
	ErrorCode *float64 `json:"error_code"`
	ErrorType string   `json:"error_type"`
}

// unit returns µs per unit of the value.
func (v aiperfValue) unit() float64 {
	switch v.Unit {
	case "ns":
		return 1e-3
	case "us", "µs":
		return 1
	case "s", "sec", "seconds":
		return 1e6
	default:
		return 1e3
	}
}

// number reads a scalar under the first of the names that is there.
func (a *aiperfRecord) number(names ...string) (*float64, aiperfValue) {
	for _, n := range names {
		if m, ok := a.Metrics[n]; ok {
			var f *float64
			if json.Unmarshal(m.Value, &f) == nil && f != nil {
				return f, m
			}
		}
	}
	return nil, aiperfValue{}
}

func (a *aiperfRecord) span(names ...string) wire.Opt[int64] {
	f, m := a.number(names...)
	if f == nil {
		return wire.Opt[int64]{}
	}
	return micros(f, m.unit())
}

func (a *aiperfRecord) count(names ...string) wire.Opt[int64] {
	f, _ := a.number(names...)
	return whole(f)
}

// readAIPerf reads AIPerf's per-request records. Chunk k came at request start + TTFT + the first k inter-chunk gaps;
// chunks before the time to first output token are reasoning.
func readAIPerf(r *reader) error {
	r.note("times are the benchmark client's (definition aiperf); tokens are the server's usage where the file has it, else AIPerf's own count")
	index := -1
	return r.src.lines(func(n int, line []byte) error {
		index++
		where := "line " + strconv.Itoa(n)
		var a aiperfRecord
		if err := json.Unmarshal(strictJSON(line), &a); err != nil {
			r.skip(where, "not a record of AIPerf: "+jsonReason(err))
			return nil
		}
		m := &a.Metadata
		start := m.Start
		if start == 0 {
			start = m.Timestamp
		}
		if start < 1e18 {
			r.skip(where, "metadata.request_start_ns is missing or not in nanoseconds since 1970")
			return nil
		}
		id, aliases := r.own(m.XRequestID, index)
		s := &wire.Stream{
			RequestID: id, Aliases: aliases, Emitter: r.rep.Format, Final: true, StartedAt: start / 1000,
			PromptTokens:    a.count("usage_prompt_tokens", "input_sequence_length"),
			OutputTokens:    a.count("usage_completion_tokens", "output_sequence_length"),
			ReasoningTokens: a.count("usage_reasoning_tokens", "reasoning_token_count"),
		}
		since := func(ns int64) wire.Opt[int64] {
			if ns < start {
				return wire.Opt[int64]{}
			}
			return wire.Some((ns - start) / 1000)
		}
		s.HeadersUS = since(m.Ack)
		if e := a.Error; e != nil {
			s.ErrorType, s.Status = e.class(), e.status()
		}
		if m.WasCancelled {
			s.FinishReason = "client_abort"
			if s.ErrorType == "RequestCancellationError" {
				s.ErrorType = ""
			}
		}
		if !a.chunks(r, s, where) {
			return nil
		}
		switch {
		case m.WasCancelled && m.CancelledAtNS != nil && since(*m.CancelledAtNS).OK:
			s.EndUS = since(*m.CancelledAtNS)
		case since(m.End).OK:
			s.EndUS = since(m.End)
		default:
			s.EndUS = a.span("request_latency")
		}
		if k := s.Chunks.Len(); k > 0 {
			s.EndUS = wire.Some(max(s.EndUS.Or(0), s.Chunks.T[k-1]))
		}
		s.Reported = wire.Reported{
			Definition: "aiperf",
			TTFTUS:     a.span("time_to_first_token", "ttft"),
			TTFAUS:     a.span("time_to_first_output_token", "ttfo"),
			ITLMeanUS:  a.span("inter_token_latency"),
			E2EUS:      a.span("request_latency"),
		}
		return r.stream(s)
	})
}

// chunks fills the stream's chunks. It reports false when the record was skipped.
func (a *aiperfRecord) chunks(r *reader, s *wire.Stream, where string) bool {
	ttft, m := a.number("time_to_first_token", "ttft")
	if ttft == nil {
		return true // failed, or the benchmark didn't stream
	}
	var gaps []*float64
	icl, ok := a.Metrics["inter_chunk_latency"]
	if ok && json.Unmarshal(icl.Value, &gaps) != nil {
		r.skip(where, "inter_chunk_latency is not a list of numbers")
		return false
	}
	t, ok := accumulate(*ttft*m.unit(), gaps, icl.unit())
	if !ok {
		r.skip(where, "time_to_first_token or inter_chunk_latency hold a value that is no time span")
		return false
	}
	s.Chunks.T = t
	if s.OutputTokens.OK && s.OutputTokens.V == int64(len(t)) {
		s.Chunks.Tokens = ones(len(t))
	}
	answer := a.span("time_to_first_output_token", "ttfo")
	switch {
	case answer.OK && answer.V > t[0]:
		s.Chunks.Kind = make([]wire.Kind, len(t))
		for i, v := range t {
			if v < answer.V {
				s.Chunks.Kind[i] = wire.KindReasoning
			}
		}
	case !answer.OK && s.ReasoningTokens.Or(0) > 0 && s.ReasoningTokens == s.OutputTokens:
		s.Chunks.Kind = make([]wire.Kind, len(t))
		for i := range t {
			s.Chunks.Kind[i] = wire.KindReasoning
		}
	}
	return true
}

func (e *aiperfError) class() string {
	for _, s := range []string{e.Type, e.ErrorType} {
		if s != "" {
			return errorClass(s)
		}
	}
	if c := e.status(); c != 0 {
		return httpError(int64(c))
	}
	return "error"
}

func (e *aiperfError) status() int32 {
	for _, c := range []*float64{e.Code, e.ErrorCode} {
		if c != nil && *c >= 100 && *c <= 599 {
			return int32(*c)
		}
	}
	return 0
}

// jsonReason says what is wrong with a JSON text without repeating it.
func jsonReason(err error) string {
	if te, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // encoding/json returns it bare
		return te.Field + " is a " + te.Value
	}
	return "broken JSON"
}
