package kong

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net"
	"strconv"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/loosejson"
)

// Emitter is the emitter of all records.
const Emitter = "kong"

// Definition names whose TTFT the reported one is: Kong's ai.proxy.usage.time_to_first_token.
const Definition = "kong"

// ErrOtherCall is returned for entries without AI analytics: requests that are not about an LLM.
var ErrOtherCall = errors.New("ai: is missing; not a request to an LLM")

// Recognize reports whether a JSON object is a log entry of Kong.
func Recognize(obj []byte) bool {
	return bytes.Contains(obj, []byte(`"latencies"`)) && bytes.Contains(obj, []byte(`"started_at"`)) && bytes.Contains(obj, []byte(`"tries"`))
}

type entry struct {
	StartedAt loosejson.Number `json:"started_at"` // ms since 1970
	Latencies struct {
		Request loosejson.Number `json:"request"` // ms, whole request
		Kong    loosejson.Number `json:"kong"`    // ms, in plugins
		Proxy   loosejson.Number `json:"proxy"`   // ms, until the upstream's headers
	} `json:"latencies"`
	Request struct {
		ID      loosejson.Str     `json:"id"`
		Headers loosejson.Headers `json:"headers"`
	} `json:"request"`
	Response struct {
		Status  loosejson.Number  `json:"status"`
		Headers loosejson.Headers `json:"headers"`
	} `json:"response"`
	Service loosejson.Object[struct {
		Name loosejson.Str `json:"name"`
		Host loosejson.Str `json:"host"`
	}] `json:"service"`
	Route loosejson.Object[struct {
		Name loosejson.Str `json:"name"`
	}] `json:"route"`
	Tries loosejson.Object[[]try]                `json:"tries"`
	AI    map[string]loosejson.Object[analytics] `json:"ai"`
}

type try struct {
	IP              loosejson.Str    `json:"ip"`
	Port            loosejson.Str    `json:"port"`
	State           loosejson.Str    `json:"state"` // failed, next; absent when it worked
	Code            loosejson.Number `json:"code"`
	BalancerStart   loosejson.Number `json:"balancer_start"`    // ms since 1970
	BalancerStartNS loosejson.Number `json:"balancer_start_ns"` // ns since 1970
}

// analytics is one AI plugin's part: "proxy" since 3.8, the plugin's name before.
type analytics struct {
	Usage struct {
		TTFT       loosejson.Number `json:"time_to_first_token"` // ms
		Prompt     loosejson.Number `json:"prompt_tokens"`
		Completion loosejson.Number `json:"completion_tokens"`
	} `json:"usage"`
	Meta struct {
		Provider      loosejson.Str    `json:"provider_name"`
		RequestModel  loosejson.Str    `json:"request_model"`
		ResponseModel loosejson.Str    `json:"response_model"`
		Latency       loosejson.Number `json:"llm_latency"` // ms
		Mode          loosejson.Str    `json:"request_mode"`
	} `json:"meta"`
	Cache struct {
		Status loosejson.Str `json:"cache_status"`
	} `json:"cache"`
}

// One reads one entry. It does not validate.
func One(obj []byte) (wire.Gateway, error) {
	var e entry
	if err := json.Unmarshal(obj, &e); err != nil {
		return wire.Gateway{}, wire.Fieldf("(item)", "is not a log entry of Kong")
	}
	ai, ok := e.proxy()
	if !ok {
		return wire.Gateway{}, ErrOtherCall
	}
	g := wire.Gateway{Tenant: wire.DefaultTenant, Emitter: Emitter, Route: string(e.Route.V.Name)}
	e.ids(&g)
	if !e.StartedAt.Known || e.StartedAt.V <= 0 || e.StartedAt.V > 1e15 {
		return g, wire.Fieldf("started_at", "is missing or no instant; want milliseconds since 1970-01-01")
	}
	g.ReceivedAt = int64(math.Round(e.StartedAt.V * 1000))
	g.Provider = string(ai.Meta.Provider)
	g.Model = loosejson.First(string(ai.Meta.RequestModel), string(ai.Meta.ResponseModel))
	if r := string(ai.Meta.ResponseModel); r != g.Model {
		g.ModelVersion = r
	}
	g.Deployment = loosejson.First(string(e.Service.V.Name), string(e.Service.V.Host))
	g.OverheadUS = e.Latencies.Kong.Micros(1000)
	if p := e.Latencies.Proxy.Micros(1000); p.OK {
		g.FirstByteAt = g.ReceivedAt + g.OverheadUS.Or(0) + p.V
	}
	if r := e.Latencies.Request.Micros(1000); r.OK {
		// Kong's parts are rounded apart: the whole may be a millisecond less than its first byte.
		g.LastByteAt = max(g.ReceivedAt+r.V, g.FirstByteAt)
	}
	if s := e.Response.Status; s.Known && s.V >= 100 && s.V < 1000 {
		g.Status = int32(s.V)
	}
	switch {
	case g.Status == wire.StatusClientGone:
		g.CancelledAt = g.LastByteAt // nginx's code for a client that went away
	case g.Status >= 400:
		g.ErrorType = "http_" + strconv.Itoa(int(g.Status))
	}
	g.PromptTokens, g.OutputTokens = ai.Usage.Prompt.Count(), ai.Usage.Completion.Count()
	switch ai.Cache.Status {
	case "Hit":
		g.CacheResult = "hit"
	case "Miss":
		g.CacheResult = "miss"
	case "Bypass", "Refresh":
		g.CacheResult = "bypass"
	}
	g.Reported = wire.Reported{TTFTUS: ai.Usage.TTFT.Micros(1000), E2EUS: ai.Meta.Latency.Micros(1000)}
	if ai.Meta.Mode == "oneshot" || g.Reported.TTFTUS.V == 0 {
		g.Reported.TTFTUS = wire.Opt[int64]{} // Kong writes 0 where there is none
	}
	if g.Reported != (wire.Reported{}) {
		g.Reported.Definition = Definition
	}
	e.attempts(&g)
	return g, nil
}

// proxy finds the analytics of the plugin that called the model.
func (e *entry) proxy() (analytics, bool) {
	for _, name := range [...]string{"proxy", "ai-proxy", "ai-proxy-advanced"} {
		if a, ok := e.AI[name]; ok {
			return a.V, true
		}
	}
	return analytics{}, false
}

func (e *entry) ids(g *wire.Gateway) {
	client, own := e.Request.Headers.Get("x-request-id"), string(e.Request.ID)
	g.RequestID = own
	if wire.ValidID(client) {
		g.RequestID = client
		if own != "" && own != client {
			g.Aliases = append(g.Aliases, own)
		}
	}
	g.TraceID = loosejson.TraceID(e.Request.Headers.Get("traceparent"))
}

// attempts are Kong's tries, of which the last was served unless it failed.
func (e *entry) attempts(g *wire.Gateway) {
	tries := e.Tries.V
	if len(tries) == 0 {
		return
	}
	g.Retries = wire.Some(int64(len(tries) - 1))
	for i, t := range tries {
		if i == 64 {
			break
		}
		a := wire.Attempt{Attempt: uint32(i) + 1, Provider: g.Provider, Model: g.Model, Deployment: g.Deployment}
		host := net.JoinHostPort(string(t.IP), string(t.Port))
		if a.Deployment == "" {
			a.Deployment = host
		}
		switch {
		case t.BalancerStartNS.Known && t.BalancerStartNS.V > 0 && t.BalancerStartNS.V < 1e19:
			a.Start = int64(t.BalancerStartNS.V / 1000)
		case t.BalancerStart.Known && t.BalancerStart.V > 0 && t.BalancerStart.V < 1e15:
			a.Start = int64(t.BalancerStart.V * 1000)
		}
		if t.Code.Known && t.Code.V >= 100 && t.Code.V < 1000 {
			a.Status = int32(t.Code.V)
		}
		if t.State != "" {
			a.ErrorType = wire.ErrorClass(string(t.State))
		}
		if i == len(tries)-1 {
			if a.Status == 0 {
				a.Status = g.Status
			}
			if a.ErrorType == "" {
				a.ErrorType = g.ErrorType
			}
			a.Served = a.ErrorType == ""
			a.End = g.LastByteAt
			g.UpstreamSentAt = a.Start
			g.RouteDecision.Chosen = host
			if a.End < a.Start {
				a.End = 0
			}
		}
		g.Attempts = append(g.Attempts, a)
	}
}
