package higress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/envoy"
	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// Emitter is the emitter of all records.
const Emitter = "higress"

// Definition names whose TTFT the reported one is: the ai-statistics plugin's, from the request's arrival in
// the plugin to the first streamed body it sees.
const Definition = "higress"

// ErrOtherCall is returned for lines without an ai_log: requests that are not about an LLM.
var ErrOtherCall = errors.New("ai_log: is missing; not a request to an LLM")

// Recognize reports whether a JSON object is an access log line of Higress.
func Recognize(obj []byte) bool {
	return bytes.Contains(obj, []byte(`"ai_log"`)) && bytes.Contains(obj, []byte(`"response_flags"`))
}

// aiLog is what the plugin writes; numbers come as strings.
type aiLog struct {
	Model        loosejson.Str    `json:"model"`
	InputToken   loosejson.Number `json:"input_token"`
	OutputToken  loosejson.Number `json:"output_token"`
	FirstToken   loosejson.Number `json:"llm_first_token_duration"` // ms
	Service      loosejson.Number `json:"llm_service_duration"`     // ms
	CacheStatus  loosejson.Str    `json:"cache_status"`
	ResponseType loosejson.Str    `json:"response_type"`
}

// One reads one line. It does not validate.
func One(obj []byte) (wire.Gateway, error) {
	var line map[string]loosejson.Str
	var ai struct {
		Log json.RawMessage `json:"ai_log"`
	}
	if json.Unmarshal(obj, &line) != nil || json.Unmarshal(obj, &ai) != nil {
		return wire.Gateway{}, wire.Fieldf("(item)", "is not a JSON object")
	}
	var l aiLog
	// The log is JSON in a string, or an object where a collector has parsed it.
	raw := []byte(ai.Log)
	if s := string(line["ai_log"]); s != "" {
		raw = []byte(s)
	}
	if len(bytes.TrimSpace(raw)) == 0 || raw[0] != '{' {
		return wire.Gateway{}, ErrOtherCall
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return wire.Gateway{RequestID: string(line["request_id"])}, wire.Fieldf("ai_log", "is not a JSON object")
	}
	fields := make(map[string]string, len(line))
	for k, v := range line {
		fields[k] = string(v)
	}
	g, err := envoy.FromFields(fields, 0)
	if err != nil {
		return g, err
	}
	g.Emitter, g.Model = Emitter, string(l.Model)
	g.PromptTokens, g.OutputTokens = l.InputToken.Count(), l.OutputToken.Count()
	// Istio names clusters outbound|443||llm-qwen.internal.dns: the last part is the service.
	if i := strings.LastIndexByte(g.Deployment, '|'); i >= 0 {
		g.Deployment = g.Deployment[i+1:]
	}
	for i := range g.Attempts {
		g.Attempts[i].Deployment, g.Attempts[i].Model = g.Deployment, g.Model
	}
	if t := string(line["trace_id"]); len(t) == 32 {
		g.TraceID = loosejson.TraceID("00-" + t + "-0-0")
	}
	switch strings.ToLower(string(l.CacheStatus)) {
	case "hit":
		g.CacheResult = "hit"
	case "miss":
		g.CacheResult = "miss"
	case "skip":
		g.CacheResult = "bypass"
	}
	g.Reported = wire.Reported{TTFTUS: l.FirstToken.Micros(1000), E2EUS: l.Service.Micros(1000)}
	if g.Reported != (wire.Reported{}) {
		g.Reported.Definition = Definition
	}
	return g, nil
}
