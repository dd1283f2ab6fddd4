package litellm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// payload is what is read of a StandardLoggingPayload (litellm/types/utils.py). Types are loose: fields came
// and went over the years, and a null or an odd type in one must not cost the record.
type payload struct {
	ID                  str         `json:"id"`
	CallID              str         `json:"litellm_call_id"`
	TraceID             str         `json:"trace_id"`
	CallType            str         `json:"call_type"`
	CacheHit            boolean     `json:"cache_hit"`
	Stream              boolean     `json:"stream"`
	Status              str         `json:"status"`
	Provider            str         `json:"custom_llm_provider"`
	StartTime           instant     `json:"startTime"`
	EndTime             instant     `json:"endTime"`
	CompletionStartTime instant     `json:"completionStartTime"`
	ResponseTime        number      `json:"response_time"`
	Model               str         `json:"model"`
	ModelGroup          str         `json:"model_group"`
	ModelID             str         `json:"model_id"`
	APIBase             str         `json:"api_base"`
	PromptTokens        number      `json:"prompt_tokens"`
	CompletionTokens    number      `json:"completion_tokens"`
	Metadata            metadata    `json:"metadata"`
	Hidden              hidden      `json:"hidden_params"`
	Error               information `json:"error_information"`
	Response            response    `json:"response"`
}

type metadata struct {
	CustomHeaders headers `json:"requester_custom_headers"`
	Requester     struct {
		Headers headers `json:"headers"`
	} `json:"requester_metadata"`
	Usage           usage  `json:"usage_object"`
	QueueSeconds    number `json:"queue_time_seconds"`
	Retries         number `json:"attempted_retries"`
	Fallbacks       number `json:"attempted_fallbacks"`
	RequestPriority number `json:"priority"`
}

type hidden struct {
	ModelID    str     `json:"model_id"`
	APIBase    str     `json:"api_base"`
	OverheadMS number  `json:"litellm_overhead_time_ms"`
	Headers    headers `json:"additional_headers"`
	ModelName  str     `json:"litellm_model_name"`
}

type information struct {
	Code  str `json:"error_code"`
	Class str `json:"error_class"`
}

type usage struct {
	Completion struct {
		Reasoning number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Prompt struct {
		Cached number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheRead number `json:"cache_read_input_tokens"` // Anthropic
}

// response is the answer in OpenAI's form, of which only ids, usage and the reason to stop are read.
type response struct {
	Choices []struct {
		FinishReason str `json:"finish_reason"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

// UnmarshalJSON skips answers of another form: strings, lists, redacted ones.
func (r *response) UnmarshalJSON(b []byte) error {
	type plain response
	_ = json.Unmarshal(b, (*plain)(r))
	return nil
}

// str is a string, or a number written out; anything else is empty.
type str string

// UnmarshalJSON reads a string or number.
func (s *str) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		var v string
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*s = str(v)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*s = str(b)
	}
	return nil
}

// boolean is true, false or not known.
type boolean struct{ known, v bool }

// UnmarshalJSON reads a boolean, also as Python or a form writes it into a string.
func (o *boolean) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true", "1":
		*o = boolean{true, true}
	case "false", "0":
		*o = boolean{true, false}
	}
	return nil
}

// number is a number, also in a string, or not known.
type number struct {
	known bool
	v     float64
}

// UnmarshalJSON reads a number.
func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = number{true, v}
	}
	return nil
}

// instant is a point in time in µs. New payloads have epoch seconds as floats, old ones the text of a Python
// datetime, which has no zone: it is taken as UTC, so run old proxies with TZ=UTC.
type instant struct {
	us  int64
	bad bool // present, but no instant
}

var layouts = [...]string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
}

// UnmarshalJSON reads an instant.
func (t *instant) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(b, `"`)
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	if v, err := strconv.ParseFloat(string(b), 64); err == nil {
		if math.IsNaN(v) || v < 0 || v > 1e13 {
			t.bad = true
			return nil
		}
		t.us = int64(math.Round(v * 1e6))
		return nil
	}
	for _, l := range layouts {
		if at, err := time.Parse(l, string(b)); err == nil {
			t.us = at.UnixMicro()
			return nil
		}
	}
	t.bad = true
	return nil
}

// headers are looked up without regard to case; an object that is something else is none.
type headers map[string]str

// UnmarshalJSON reads an object.
func (h *headers) UnmarshalJSON(b []byte) error {
	var m map[string]str
	if json.Unmarshal(b, &m) == nil {
		*h = m
	}
	return nil
}

func (h headers) get(name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return string(v)
		}
	}
	return ""
}

// UnmarshalJSON keeps odd forms of the object from costing the record.
func (m *metadata) UnmarshalJSON(b []byte) error {
	type plain metadata
	_ = json.Unmarshal(b, (*plain)(m))
	return nil
}

// UnmarshalJSON keeps odd forms of the object from costing the record.
func (p *hidden) UnmarshalJSON(b []byte) error {
	type plain hidden
	_ = json.Unmarshal(b, (*plain)(p))
	return nil
}

// UnmarshalJSON keeps odd forms of the object from costing the record.
func (i *information) UnmarshalJSON(b []byte) error {
	type plain information
	_ = json.Unmarshal(b, (*plain)(i))
	return nil
}

// UnmarshalJSON keeps odd forms of the object from costing the record.
func (u *usage) UnmarshalJSON(b []byte) error {
	type plain usage
	_ = json.Unmarshal(b, (*plain)(u))
	return nil
}
