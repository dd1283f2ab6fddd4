package replay

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fermata-io/fermata/internal/wire"
)

// maxTraceTokens bounds the chunks that are made for one row of a trace.
const maxTraceTokens = 1_000_000

// arrival makes the stream of one row of a trace that holds nothing but arrival and lengths.
func (r *reader) arrival(index int, at time.Time, prompt, output int64) error {
	where := "row " + strconv.Itoa(index+1)
	if prompt < 0 || output < 0 || prompt > math.MaxUint32 {
		r.skip(where, "negative or absurd token count")
		return nil
	}
	if output > maxTraceTokens {
		r.skip(where, fmt.Sprintf("more than %d output tokens", maxTraceTokens))
		return nil
	}
	model := r.opt.Pacing.String()
	r.note("the trace has no chunk times: they come from a model (%s) and are marked synthetic", model)
	id := r.id(model, strconv.Itoa(index))
	s := &wire.Stream{
		RequestID: id, Emitter: r.rep.Format, Final: true, Synthetic: true,
		StartedAt:    at.UnixMicro(),
		PromptTokens: wire.Some(prompt), OutputTokens: wire.Some(output),
	}
	s.Chunks.T = r.opt.Pacing.times(id, int(output), prompt)
	s.Chunks.Tokens = make([]uint32, output)
	for i := range s.Chunks.Tokens {
		s.Chunks.Tokens[i] = 1
	}
	if output > 0 {
		s.EndUS = wire.Some(s.Chunks.T[output-1])
	}
	return r.stream(s)
}

// readAzure reads the traces of Azure/AzurePublicDataset: TIMESTAMP,ContextTokens,GeneratedTokens.
func readAzure(r *reader) error {
	f, err := r.src.reader()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	cr := csv.NewReader(f)
	cr.ReuseRecord = true
	cr.FieldsPerRecord = -1
	head, err := cr.Read()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	col := map[string]int{}
	for i, h := range head {
		col[strings.ToLower(strings.Trim(strings.TrimSpace(h), "\ufeff"))] = i
	}
	ts, okT := col["timestamp"]
	in, okI := col["contexttokens"]
	out, okO := col["generatedtokens"]
	if !okT || !okI || !okO {
		return errors.New("header lacks TIMESTAMP, ContextTokens or GeneratedTokens")
	}
	for i := 0; ; i++ {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		where := "row " + strconv.Itoa(i+1)
		if err != nil {
			var pe *csv.ParseError
			if !errors.As(err, &pe) {
				return err
			}
			r.skip(where, pe.Err.Error())
			continue
		}
		if len(row) <= max(ts, in, out) {
			r.skip(where, "too few columns")
			continue
		}
		at, err := azureTime(row[ts])
		if err != nil {
			r.skip(where, "TIMESTAMP is not a date and time")
			continue
		}
		prompt, err1 := count(row[in])
		output, err2 := count(row[out])
		if err1 != nil || err2 != nil {
			r.skip(where, "token count is not a number")
			continue
		}
		if err := r.arrival(i, at, prompt, output); err != nil {
			return err
		}
	}
}

func azureTime(s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	// The 2024 traces carry an offset, the 2023 ones none; both mean UTC.
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00", time.RFC3339Nano} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}

// count reads a token count; some traces write whole numbers as 12.0.
func count(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return int64(f), nil
}

// readMooncake reads the traces of kvcache-ai/Mooncake; timestamp counts milliseconds from the trace's start.
func readMooncake(r *reader) error {
	r.note("the trace has no date: it begins at %s; move it with --start", undated.Format(time.RFC3339))
	i := 0
	return r.src.lines(func(n int, line []byte) error {
		var row struct {
			Timestamp    *float64 `json:"timestamp"`
			InputLength  *int64   `json:"input_length"`
			OutputLength *int64   `json:"output_length"`
		}
		if err := json.Unmarshal(line, &row); err != nil || row.Timestamp == nil || row.InputLength == nil || row.OutputLength == nil {
			r.skip("line "+strconv.Itoa(n), "not an object with timestamp, input_length and output_length")
			return nil //nolint:nilerr // one bad line, told and counted
		}
		if ms := *row.Timestamp; !(ms >= 0 && ms <= 1e11) {
			r.skip("line "+strconv.Itoa(n), "timestamp is out of range; want milliseconds from the trace's start")
			return nil
		}
		at := undated.Add(time.Duration(*row.Timestamp * float64(time.Millisecond)))
		i++
		return r.arrival(i-1, at, *row.InputLength, *row.OutputLength)
	})
}
