package replay

import (
	"encoding/json"
	"fmt"

	"github.com/fermata-io/fermata/internal/wire"
)

// guidellmReport is the part of GuideLLM's benchmarks JSON that is read, in the shapes of its versions 0.2 to 0.8.
type guidellmReport struct {
	Benchmarks []struct {
		Requests struct {
			Successful []guidellmRequest `json:"successful"`
			Completed  []guidellmRequest `json:"completed"`
			Errored    []guidellmRequest `json:"errored"`
			Incomplete []guidellmRequest `json:"incomplete"`
		} `json:"requests"`
	} `json:"benchmarks"`
}

type guidellmTimings struct {
	RequestStart *float64 `json:"request_start"`
	RequestEnd   *float64 `json:"request_end"`
}

type guidellmRequest struct {
	RequestID   string          `json:"request_id"`
	ResponseID  *string         `json:"response_id"`
	RequestArgs json.RawMessage `json:"request_args"`
	Info        struct {
		Timings guidellmTimings `json:"timings"`
		Error   *string         `json:"error"`
	} `json:"info"`
	SchedulerInfo struct {
		Timings guidellmTimings `json:"request_timings"`
		Error   *string         `json:"error"`
	} `json:"scheduler_info"`
	Error          *string  `json:"error"`
	RequestStart   *float64 `json:"request_start_time"`
	RequestEnd     *float64 `json:"request_end_time"`
	Start          *float64 `json:"start_time"` // up to 0.3
	End            *float64 `json:"end_time"`
	Latency        *float64 `json:"request_latency"` // s
	PromptTokens   *float64 `json:"prompt_tokens"`
	OutputTokens   *float64 `json:"output_tokens"`
	CachedTokens   *float64 `json:"cached_tokens"`
	FirstTokenTime *float64 `json:"first_token_time"` // up to 0.3, s since 1970
	TTFTMS         *float64 `json:"time_to_first_token_ms"`
	TTFOMS         *float64 `json:"time_to_first_output_token_ms"`
	ITLMS          *float64 `json:"inter_token_latency_ms"`
	TPOTMS         *float64 `json:"time_per_output_token_ms"`
}

// readGuideLLM reads GuideLLM's benchmarks JSON. GuideLLM knows when the first and the last token came and how many there
// were; times between are evenly interpolated by its own tools, so none are made up here: its numbers are kept as
// reported by it.
func readGuideLLM(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	r.note("GuideLLM keeps the first and last token's time and no chunk times: its numbers are kept as reported by it (definition guidellm)")
	index := 0
	return documents(doc, func(g *guidellmReport) error {
		for b := range g.Benchmarks {
			q := &g.Benchmarks[b].Requests
			for _, part := range []struct {
				list   []guidellmRequest
				name   string
				finish string
				failed bool
			}{
				{q.Successful, "successful", "", false},
				{q.Completed, "completed", "", false},
				{q.Errored, "errored", "", true},
				{q.Incomplete, "incomplete", "client_abort", false},
			} {
				for i := range part.list {
					where := fmt.Sprintf("benchmarks[%d].requests.%s[%d]", b, part.name, i)
					if err := r.guidellm(&part.list[i], where, index, part.finish, part.failed); err != nil {
						return err
					}
					index++
				}
			}
		}
		return nil
	})
}

func (r *reader) guidellm(q *guidellmRequest, where string, index int, finish string, failed bool) error {
	start := firstOf(epoch(q.RequestStart), epoch(q.Info.Timings.RequestStart), epoch(q.SchedulerInfo.Timings.RequestStart), epoch(q.Start))
	if start == 0 {
		r.skip(where, "has no start of the request: it never left the benchmark")
		return nil
	}
	id, aliases := r.own(q.RequestID, index)
	s := &wire.Stream{
		RequestID: id, Aliases: aliases, Emitter: r.rep.Format, Final: true, StartedAt: start, FinishReason: finish,
		PromptTokens: whole(q.PromptTokens), OutputTokens: whole(q.OutputTokens), CachedTokens: whole(q.CachedTokens),
		Target: wire.Target{Model: guidellmModel(q.RequestArgs)},
	}
	if q.ResponseID != nil && len(*q.ResponseID) <= 256 {
		s.ResponseID = *q.ResponseID
	}
	if failed {
		s.ErrorType = "error"
		for _, e := range []*string{q.Error, q.Info.Error, q.SchedulerInfo.Error} {
			if e != nil && *e != "" {
				s.ErrorType = errorClass(*e)
				break
			}
		}
	}
	if end := firstOf(epoch(q.RequestEnd), epoch(q.Info.Timings.RequestEnd), epoch(q.SchedulerInfo.Timings.RequestEnd), epoch(q.End)); end >= start {
		s.EndUS = wire.Some(end - start)
	}
	s.Reported = wire.Reported{
		Definition: "guidellm", TTFTUS: micros(q.TTFTMS, 1e3), TTFAUS: micros(q.TTFOMS, 1e3),
		ITLMeanUS: micros(q.ITLMS, 1e3), TPOTUS: micros(q.TPOTMS, 1e3), E2EUS: micros(q.Latency, 1e6),
	}
	if first := epoch(q.FirstTokenTime); !s.Reported.TTFTUS.OK && first >= start {
		s.Reported.TTFTUS = wire.Some(first - start)
	}
	if !s.EndUS.OK {
		s.EndUS = s.Reported.E2EUS
	}
	return r.stream(s)
}

// guidellmModel finds the model in request_args, which is an object or a string that holds one.
func guidellmModel(raw json.RawMessage) string {
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		raw = json.RawMessage(inner)
	}
	var a struct {
		Model string `json:"model"`
		Body  struct {
			Model string `json:"model"`
		} `json:"body"`
		Payload struct {
			Model string `json:"model"`
		} `json:"payload"`
	}
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	for _, m := range []string{a.Body.Model, a.Payload.Model, a.Model} {
		if m != "" {
			return m
		}
	}
	return ""
}

func firstOf(v ...int64) int64 {
	for _, x := range v {
		if x != 0 {
			return x
		}
	}
	return 0
}
