package replay

import (
	"math"
	"strconv"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// vllmResult is the detailed result of `vllm bench serve`: parallel arrays, seconds.
type vllmResult struct {
	Date        string       `json:"date"`
	Backend     string       `json:"backend"`
	ModelID     string       `json:"model_id"`
	Label       *string      `json:"label"`
	Duration    *float64     `json:"duration"`
	RequestRate any          `json:"request_rate"`
	InputLens   []*float64   `json:"input_lens"`
	OutputLens  []*float64   `json:"output_lens"`
	TTFTs       []*float64   `json:"ttfts"`
	ITLs        [][]*float64 `json:"itls"`
	StartTimes  []*float64   `json:"start_times"`
	Errors      []*string    `json:"errors"`
}

const vllmDate = "20060102-150405"

// readVLLMBench reads the files of `vllm bench serve --save-result --save-detailed`. The benchmark is a client beside the
// engine; its first time is that of the first event with choices, which may be the role frame, and that is how it is kept.
func readVLLMBench(r *reader) error {
	doc, err := r.src.document()
	if err != nil {
		return err
	}
	index := 0
	return documents(doc, func(v *vllmResult) error {
		n := max(len(v.TTFTs), len(v.ITLs), len(v.OutputLens))
		starts := r.vllmStarts(v, n)
		r.note("times are the benchmark client's: TTFT runs to its first event with choices, even one without text (definition vllm_bench)")
		for i := range n {
			if err := r.vllmRequest(v, i, index, starts(i)); err != nil {
				return err
			}
			index++
		}
		return nil
	})
}

// vllmStarts tells each request's start as an instant in µs.
func (r *reader) vllmStarts(v *vllmResult, n int) func(i int) int64 {
	end := undated
	if t, err := time.Parse(vllmDate, v.Date); err == nil {
		end = t
		r.note("the file's date (%s) is when the benchmark ended, taken as UTC", v.Date)
	} else {
		r.note("the file has no date: it ends at %s; move it with --start", undated.Format(time.RFC3339))
	}
	length := 0.0
	if v.Duration != nil && *v.Duration > 0 && *v.Duration < 1e6 {
		length = *v.Duration
	}
	base := end.UnixMicro() - int64(math.Round(length*1e6))
	if len(v.StartTimes) == n && n > 0 {
		first := math.Inf(1)
		for _, s := range v.StartTimes {
			if s != nil {
				first = math.Min(first, *s)
			}
		}
		if f := &first; epoch(f) != 0 {
			return func(i int) int64 {
				if at := epoch(v.StartTimes[i]); at != 0 {
					return at
				}
				return base
			}
		}
		r.note("start_times count on the benchmark process's own clock: the first request is placed at the benchmark's start")
		return func(i int) int64 {
			if v.StartTimes[i] == nil {
				return base
			}
			return base + int64(math.Round((*v.StartTimes[i]-first)*1e6))
		}
	}
	r.note("the file has no start_times: requests are spaced evenly over the benchmark's duration")
	return func(i int) int64 { return base + int64(math.Round(length*1e6/float64(max(n, 1))))*int64(i) }
}

func (r *reader) vllmRequest(v *vllmResult, i, index int, start int64) error {
	s := &wire.Stream{
		RequestID: r.id(strconv.Itoa(index)), Emitter: r.rep.Format, Final: true, StartedAt: start,
		Target: wire.Target{Model: v.ModelID},
	}
	if v.Label != nil {
		s.Deployment = *v.Label
	}
	at := func(a []*float64) *float64 {
		if i < len(a) {
			return a[i]
		}
		return nil
	}
	s.PromptTokens = whole(at(v.InputLens))
	s.OutputTokens = whole(at(v.OutputLens))
	if i < len(v.Errors) && v.Errors[i] != nil && *v.Errors[i] != "" {
		s.ErrorType = errorClass(*v.Errors[i])
	}
	ttft := at(v.TTFTs)
	var itls []*float64
	if i < len(v.ITLs) {
		itls = v.ITLs[i]
	}
	where := "request " + strconv.Itoa(i)
	if ttft == nil || *ttft <= 0 {
		if s.ErrorType == "" && len(itls) == 0 && s.OutputTokens.Or(0) == 0 {
			s.ErrorType = "no_output" // vLLM marks a request that never got a token with ttft 0 and no text of an error
		}
		return r.stream(s)
	}
	t, ok := accumulate(*ttft*1e6, itls, 1e6)
	if !ok {
		r.skip(where, "ttft or itls hold a value that is no time span")
		return nil
	}
	s.Chunks.T = t
	s.Reported = wire.Reported{Definition: "vllm_bench", TTFTUS: micros(ttft, 1e6), E2EUS: wire.Some(t[len(t)-1])}
	s.EndUS = wire.Some(t[len(t)-1])
	if s.OutputTokens.V == int64(len(t)) && s.OutputTokens.OK {
		s.Chunks.Tokens = ones(len(t))
	} else if s.OutputTokens.OK {
		r.note("where a request has another number of events than of tokens, tokens are known for the whole only")
	}
	return r.stream(s)
}

// accumulate turns a first offset (µs) and the gaps after it (in units of unit µs) into offsets in whole µs. Each gap is
// rounded by itself, so that stored gaps are those of the file.
func accumulate(first float64, gaps []*float64, unit float64) ([]int64, bool) {
	const most = int64(24 * time.Hour / time.Microsecond)
	if !(first >= 0 && first <= float64(most)) {
		return nil, false
	}
	t := make([]int64, 1, len(gaps)+1)
	t[0] = int64(math.Round(first))
	for i, g := range gaps {
		if g == nil || !(*g >= 0 && *g*unit <= float64(most)) {
			return nil, false
		}
		t = append(t, t[i]+int64(math.Round(*g*unit)))
	}
	return t, t[len(t)-1] <= most
}

func ones(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
