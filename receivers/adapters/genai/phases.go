package genai

import (
	"errors"
	"math"
	"time"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

// phases reads the times that an engine or SDK computed itself. span is the span's length in µs.
//
// Names are reused with other units: rtp-llm writes some of them in nanoseconds. Nothing within a span can
// last longer than the span, so a value that does is refused with its likely unit.
func phases(f *facts, span int64, s *wire.Stream) error {
	var errs []error
	set := func(field semconv.Field, unit float64, at *wire.Opt[int64]) {
		if !f.has(field) {
			return
		}
		us, err := reported(f, field, unit, span)
		if err != nil {
			errs = append(errs, err)
			return
		}
		if at != nil && !at.OK {
			*at = wire.Some(us)
		}
	}
	const second, milli = 1e6, 1e3
	set(semconv.TTFTSeconds, second, &s.Reported.TTFTUS)
	set(semconv.TTFTMillis, milli, &s.Reported.TTFTUS)
	set(semconv.E2ESeconds, second, &s.Reported.E2EUS)
	set(semconv.QueueSeconds, second, &s.QueueUS)
	set(semconv.PrefillSeconds, second, &s.PrefillUS)
	set(semconv.DecodeSeconds, second, &s.DecodeUS)
	set(semconv.InferenceSeconds, second, nil)
	set(semconv.OtherSeconds, second, nil)
	if f.has(semconv.FirstTokenAt) && !s.Reported.TTFTUS.OK {
		if us, ok := firstTokenAt(f.str(semconv.FirstTokenAt), s.StartedAt, span); ok {
			s.Reported.TTFTUS = wire.Some(us)
		}
	}
	return errors.Join(errs...)
}

// reported reads a time in units of that many µs and checks that it fits into the span.
func reported(f *facts, field semconv.Field, unit float64, span int64) (int64, error) {
	key := semconv.Keys(field)[f.rank[field]]
	v, ok := f.float(field)
	switch {
	case !ok:
		return 0, wire.Fieldf(key, "is a %s; want a number", f.value[field].Type)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, wire.Fieldf(key, "is not a finite number")
	case v < 0:
		return 0, wire.Fieldf(key, "is negative (%g)", v)
	}
	if err := plausible(key, v, unit, span); err != nil {
		return 0, err
	}
	return int64(math.Round(v * unit)), nil
}

// slack is what a time may exceed its span by: clocks of one process, and spans closed early.
const slack = 1e6

// longest is how long anything within a span can last, in µs: a day, when the span's length isn't known.
func longest(span int64) float64 {
	if span > 0 {
		return 1.1*float64(span) + slack
	}
	return 24 * 3600 * 1e6
}

// plausible refuses a time longer than the span it lies in.
func plausible(key string, v, unit float64, span int64) error {
	limit := longest(span)
	if v*unit <= limit {
		return nil
	}
	name, names := "seconds", []string{"milliseconds", "microseconds", "nanoseconds"}
	if unit == 1e3 {
		name, names = "milliseconds", []string{"microseconds", "nanoseconds"}
	}
	for i, guess := range names {
		if v*unit/math.Pow(1000, float64(i+1)) <= limit {
			return tooLong(key, v, name, span, ", and this looks like "+guess)
		}
	}
	return tooLong(key, v, name, span, "")
}

func tooLong(key string, v float64, unit string, span int64, guess string) error {
	if span > 0 {
		d := (time.Duration(span) * time.Microsecond).Round(time.Millisecond)
		return wire.Fieldf(key, "is %g, but its span lasts %s; the unit is %s%s", v, d, unit, guess)
	}
	return wire.Fieldf(key, "is %g, more than a day; the unit is %s%s", v, unit, guess)
}

// firstTokenAt reads an instant as text. Python's str(datetime) has no zone; it is taken as UTC, and only if
// that puts it inside the span.
func firstTokenAt(s string, startedAt, span int64) (int64, bool) {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		us := t.UnixMicro() - startedAt
		return us, us >= 0 && (span == 0 || us <= span)
	}
	return 0, false
}

// firstEvent takes the time to first token from an event that marks the first chunk.
func (b *Batch) firstEvent(s *wire.Stream, sp *otlpwire.Span) error {
	for i := range sp.Events {
		ev := &sp.Events[i]
		if b.classes[ev.Name] != eventFirst {
			continue
		}
		t := micros(ev.Time) - s.StartedAt
		if t < 0 {
			return wire.Fieldf(eventField(i), "lies %d µs before the span's start", -t)
		}
		s.Reported.TTFTUS = wire.Some(t)
		return nil
	}
	return nil
}
