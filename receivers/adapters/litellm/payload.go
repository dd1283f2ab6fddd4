package litellm

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// payload is what is read of a StandardLoggingPayload (litellm/types/utils.py). Types are loose: fields came
// and went over the years, and a null or an odd type in one must not cost the record.
type payload struct {
	ID                  loosejson.Str                 `json:"id"`
	CallID              loosejson.Str                 `json:"litellm_call_id"`
	TraceID             loosejson.Str                 `json:"trace_id"`
	CallType            loosejson.Str                 `json:"call_type"`
	CacheHit            loosejson.Bool                `json:"cache_hit"`
	Stream              loosejson.Bool                `json:"stream"`
	Status              loosejson.Str                 `json:"status"`
	Provider            loosejson.Str                 `json:"custom_llm_provider"`
	StartTime           instant                       `json:"startTime"`
	EndTime             instant                       `json:"endTime"`
	CompletionStartTime instant                       `json:"completionStartTime"`
	ResponseTime        loosejson.Number              `json:"response_time"`
	Model               loosejson.Str                 `json:"model"`
	ModelGroup          loosejson.Str                 `json:"model_group"`
	ModelID             loosejson.Str                 `json:"model_id"`
	APIBase             loosejson.Str                 `json:"api_base"`
	PromptTokens        loosejson.Number              `json:"prompt_tokens"`
	CompletionTokens    loosejson.Number              `json:"completion_tokens"`
	Metadata            loosejson.Object[metadata]    `json:"metadata"`
	Hidden              loosejson.Object[hidden]      `json:"hidden_params"`
	Error               loosejson.Object[information] `json:"error_information"`
	Response            loosejson.Object[response]    `json:"response"`
}

type metadata struct {
	CustomHeaders loosejson.Headers `json:"requester_custom_headers"`
	Requester     struct {
		Headers loosejson.Headers `json:"headers"`
	} `json:"requester_metadata"`
	Usage           loosejson.Object[usage] `json:"usage_object"`
	QueueSeconds    loosejson.Number        `json:"queue_time_seconds"`
	Retries         loosejson.Number        `json:"attempted_retries"`
	Fallbacks       loosejson.Number        `json:"attempted_fallbacks"`
	RequestPriority loosejson.Number        `json:"priority"`
}

type hidden struct {
	ModelID    loosejson.Str     `json:"model_id"`
	APIBase    loosejson.Str     `json:"api_base"`
	OverheadMS loosejson.Number  `json:"litellm_overhead_time_ms"`
	Headers    loosejson.Headers `json:"additional_headers"`
	ModelName  loosejson.Str     `json:"litellm_model_name"`
}

type information struct {
	Code  loosejson.Str `json:"error_code"`
	Class loosejson.Str `json:"error_class"`
}

type usage struct {
	Completion struct {
		Reasoning loosejson.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Prompt struct {
		Cached loosejson.Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheRead loosejson.Number `json:"cache_read_input_tokens"` // Anthropic
}

// response is the answer in OpenAI's form, of which only ids, usage and the reason to stop are read.
type response struct {
	Choices []struct {
		FinishReason loosejson.Str `json:"finish_reason"`
	} `json:"choices"`
	Usage loosejson.Object[usage] `json:"usage"`
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
