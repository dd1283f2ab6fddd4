package replay

import (
	"strconv"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

type llmperfResponse struct {
	ErrorCode    *float64 `json:"error_code"`
	ErrorMsg     *string  `json:"error_msg"`
	ITL          *float64 `json:"inter_token_latency_s"`
	TTFT         *float64 `json:"ttft_s"`
	E2E          *float64 `json:"end_to_end_latency_s"`
	OutputTokens *float64 `json:"number_output_tokens"`
	InputTokens  *float64 `json:"number_input_tokens"`
}

// readLLMPerf reads LLMPerf's individual responses: an array of per-request numbers without chunk times or dates.
func readLLMPerf(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	r.note("LLMPerf keeps one mean per request and no chunk times: its numbers are kept as reported by it (definition llmperf)")
	r.note("the file has no dates: requests follow one another from %s; move it with --start", undated.Format(time.RFC3339))
	at, index := undated.UnixMicro(), 0
	return documents(doc, func(all *[]llmperfResponse) error {
		for _, x := range *all {
			s := &wire.Stream{
				RequestID: r.id(strconv.Itoa(index)), Emitter: r.rep.Format, Final: true, StartedAt: at,
				PromptTokens: whole(x.InputTokens), OutputTokens: whole(x.OutputTokens),
			}
			index++
			failed := x.ErrorCode != nil && *x.ErrorCode != 0 || x.ErrorMsg != nil && *x.ErrorMsg != ""
			if failed {
				s.ErrorType = "error"
				if x.ErrorCode != nil && *x.ErrorCode >= 100 && *x.ErrorCode <= 599 {
					s.Status = int32(*x.ErrorCode)
					s.ErrorType = httpError(int64(*x.ErrorCode))
				}
			}
			s.EndUS = micros(x.E2E, 1e6)
			s.Reported = wire.Reported{Definition: "llmperf", TTFTUS: micros(x.TTFT, 1e6), ITLMeanUS: micros(x.ITL, 1e6), E2EUS: s.EndUS}
			if failed && s.EndUS.Or(0) == 0 { // LLMPerf writes 0 for what a failed request never had
				s.Reported = wire.Reported{}
				s.EndUS = wire.Some[int64](0)
			}
			at += max(s.EndUS.Or(0), 1)
			if err := r.stream(s); err != nil {
				return err
			}
		}
		return nil
	})
}
