package genai

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// tokenArrays reads the per-token arrays of the LoongSuite conventions: offsets from the request's start in
// seconds, one for each output token, as double arrays or (as vLLM's forks write them) as JSON. span is the
// span's length in µs.
func (b *Batch) tokenArrays(s *wire.Stream, span int64) error {
	f := &b.facts
	key := semconv.Keys(semconv.TokenGeneratedAt)[0]
	most := b.t.opts.Limits.MaxChunks
	at, err := numbers(key, f.value[semconv.TokenGeneratedAt], most)
	if err != nil {
		return err
	}
	if len(at) == 0 {
		return nil
	}
	t, err := tokenTimes(key, at, span, s.StartedAt)
	if err != nil {
		return err
	}
	s.Chunks.T = t
	s.Chunks.Tokens = make([]uint32, len(t))
	for i := range t {
		s.Chunks.Tokens[i] = 1
	}
	if err := tokenTexts(f.value[semconv.TokenText], s); err != nil {
		return err
	}
	if err := tokenLogprobs(f.value[semconv.TokenLogprobs], s); err != nil {
		return err
	}
	if v := f.value[semconv.TokenScheduledAt]; !v.IsZero() {
		key := semconv.Keys(semconv.TokenScheduledAt)[0]
		sched, err := numbers(key, v, most)
		if err != nil {
			return err
		}
		if len(sched) > 0 {
			q, err := tokenTimes(key, sched[:1], span, s.StartedAt)
			if err != nil {
				return err
			}
			if !s.QueueUS.OK {
				s.QueueUS = wire.Some(q[0])
			}
			if p := t[0] - q[0]; p >= 0 && !s.PrefillUS.OK {
				s.PrefillUS = wire.Some(p)
			}
		}
	}
	if sizes, err := numbers(semconv.Keys(semconv.TokenBatchSize)[0], f.value[semconv.TokenBatchSize], most); err == nil && len(sizes) > 0 && !s.BatchSize.OK {
		sum := 0.0
		for _, n := range sizes {
			sum += n
		}
		if mean := math.Round(sum / float64(len(sizes))); mean >= 0 && mean <= math.MaxUint32 {
			s.BatchSize = wire.Some(int64(mean))
		}
	}
	return nil
}

// gaps reads one array of gaps: the first chunk's offset from the span's start, then the time since the chunk
// before, in µs; an int array, or unsigned varints in bytes.
func (b *Batch) gaps(s *wire.Stream) error {
	f, most := &b.facts, b.t.opts.Limits.MaxChunks
	key, v := semconv.Keys(semconv.ChunkGaps)[f.rank[semconv.ChunkGaps]], f.value[semconv.ChunkGaps]
	switch v.Type {
	case otlpwire.Bytes:
		t, err := streamlog.UnpackOffsets(nil, v.Raw(), most)
		if err != nil {
			return wire.Fieldf(key, "%v", err)
		}
		s.Chunks.T = t
	case otlpwire.Array:
		t, bad, sum := b.offsets(min(v.Len(), most)), -1, int64(0)
		if err := v.Elements(func(i int, e otlpwire.Value) bool {
			n, ok := whole(e)
			if !ok || n < 0 || n > wire.MaxGapUS || i >= most {
				bad = i
				return false
			}
			sum += n
			t = append(t, sum)
			return true
		}); err != nil {
			return err
		}
		if bad >= 0 {
			return wire.Fieldf(fmt.Sprintf("%s[%d]", key, bad), "is no gap in µs, or one of more than %d entries", most)
		}
		s.Chunks.T = t
	default:
		return wire.Fieldf(key, "is a %s; want an int array, or unsigned varints in bytes", v.Type)
	}
	return nil
}

// tokenTimes turns seconds into µs offsets. The convention says offsets, the attribute's name sounds like
// durations, and some forks write epoch seconds: the first is taken, the last is recognised, and what can't
// be offsets is refused.
func tokenTimes(key string, at []float64, span, startedAt int64) ([]int64, error) {
	base := 0.0
	const aYear = 365 * 24 * 3600
	if start := float64(startedAt) / 1e6; at[0] > 1e9 && math.Abs(at[0]-start) < aYear {
		base = start
	}
	t := make([]int64, len(at))
	prev := int64(0)
	for i, v := range at {
		v -= base
		us := int64(math.Round(v * 1e6))
		if v >= 0 && v*1e6 <= longest(span) && us >= prev {
			t[i], prev = us, us
			continue
		}
		name := fmt.Sprintf("%s[%d]", key, i)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return nil, wire.Fieldf(name, "is not a finite number")
		case v < 0:
			return nil, wire.Fieldf(name, "is negative (%g); want seconds since the start of the span", v)
		}
		if err := plausible(name, v, 1e6, span); err != nil {
			return nil, err
		}
		return nil, wire.Fieldf(name, "is %g, before the entry in front of it; want offsets from the start of the span, not durations", v)
	}
	return t, nil
}

// numbers reads a number array, or one written as JSON into a string or bytes.
func numbers(key string, v otlpwire.Value, most int) ([]float64, error) {
	var out []float64
	switch v.Type {
	case otlpwire.Empty:
		return nil, nil
	case otlpwire.Array:
		bad := -1
		if err := v.Elements(func(i int, e otlpwire.Value) bool {
			d, ok := e.Float()
			if !ok || i >= most {
				bad = i
				return false
			}
			out = append(out, d)
			return true
		}); err != nil {
			return nil, err
		}
		if bad >= most {
			return nil, wire.Fieldf(key, "has more than %d entries", most)
		}
		if bad >= 0 {
			return nil, wire.Fieldf(fmt.Sprintf("%s[%d]", key, bad), "is not a number")
		}
	case otlpwire.String, otlpwire.Bytes:
		if err := json.Unmarshal(v.Raw(), &out); err != nil {
			return nil, wire.Fieldf(key, "is neither a number array nor one in JSON")
		}
	default:
		return nil, wire.Fieldf(key, "is a %s; want a number array, or one in JSON", v.Type)
	}
	if len(out) > most {
		return nil, wire.Fieldf(key, "has %d entries, at most %d are allowed", len(out), most)
	}
	return out, nil
}

// tokenTexts measures the decoded tokens: a list of texts, or of lists of candidates of which the first was
// taken.
func tokenTexts(v otlpwire.Value, s *wire.Stream) error {
	key := semconv.Keys(semconv.TokenText)[0]
	var sizes []uint32
	switch v.Type {
	case otlpwire.Empty:
		return nil
	case otlpwire.Array:
		if err := v.Elements(func(_ int, e otlpwire.Value) bool {
			sizes = append(sizes, uint32(len(e.Raw()))) //nolint:gosec // shorter than the request
			return true
		}); err != nil {
			return err
		}
	case otlpwire.String, otlpwire.Bytes:
		var items []firstOf[string]
		if err := json.Unmarshal(v.Raw(), &items); err != nil {
			return wire.Fieldf(key, "is neither a string array nor one in JSON")
		}
		for _, it := range items {
			sizes = append(sizes, uint32(len(it.v))) //nolint:gosec // shorter than the request
		}
	default:
		return wire.Fieldf(key, "is a %s; want a string array, or one in JSON", v.Type)
	}
	if len(sizes) != s.Chunks.Len() {
		return wire.Fieldf(key, "has %d entries but %s has %d", len(sizes), semconv.Keys(semconv.TokenGeneratedAt)[0], s.Chunks.Len())
	}
	s.Chunks.Bytes = sizes
	return nil
}

func tokenLogprobs(v otlpwire.Value, s *wire.Stream) error {
	key := semconv.Keys(semconv.TokenLogprobs)[0]
	var out []float32
	switch v.Type {
	case otlpwire.Empty:
		return nil
	case otlpwire.Array:
		list, err := numbers(key, v, s.Chunks.Len())
		if err != nil {
			return err
		}
		for _, p := range list {
			out = append(out, float32(p))
		}
	case otlpwire.String, otlpwire.Bytes:
		var items []firstOf[float32]
		if err := json.Unmarshal(v.Raw(), &items); err != nil {
			return wire.Fieldf(key, "is neither a number array nor one in JSON")
		}
		for _, it := range items {
			out = append(out, it.v)
		}
	default:
		return wire.Fieldf(key, "is a %s; want a number array, or one in JSON", v.Type)
	}
	if len(out) != s.Chunks.Len() {
		return wire.Fieldf(key, "has %d entries but %s has %d", len(out), semconv.Keys(semconv.TokenGeneratedAt)[0], s.Chunks.Len())
	}
	s.Chunks.Logprob = out
	return nil
}

// firstOf reads a value, or the first of a list of them.
type firstOf[T any] struct{ v T }

func (f *firstOf[T]) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var list []T
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		if len(list) > 0 {
			f.v = list[0]
		}
		return nil
	}
	return json.Unmarshal(b, &f.v)
}
