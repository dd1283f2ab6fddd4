package genai

import (
	"math"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
)

// remember makes a template of a record that was folded, if what it says of its chunk are ints at most.
func (b *Batch) remember(src *otlpwire.Source, lr *otlpwire.LogRecord, fo *fold, class eventClass) {
	f := &b.folds
	f.fast = nil
	if class != eventChunk && class != eventToken || lr.Time == 0 || len(lr.Attrs) > memoKeys || fo.done {
		return
	}
	var variable [otlpwire.MaxVariable]int
	n := 0
	for i := range lr.Attrs {
		field := b.facts.memo[i].field
		switch field {
		case semconv.ChunkIndex, semconv.ChunkBytes, semconv.ChunkTokens:
			if lr.Attrs[i].Value.Type != otlpwire.Int || n == len(variable) {
				return
			}
			variable[n], f.fields[n] = i, field
			n++
		case semconv.ChunkOffset, semconv.ChunkKind, semconv.ChunkChoice, semconv.ChunkText:
			return
		default:
		}
	}
	var ok bool
	if f.template, ok = lr.Template(variable[:n]); ok {
		f.fast, f.numbers, f.source, f.class = fo, n, src.Index, class
	}
}

// TakeLog takes a log record, as bytes, that differs from the one before it only in its time and the numbers
// of its chunk. It reports whether it did; if not, the record has to be parsed and given to AddLog.
func (b *Batch) TakeLog(src *otlpwire.Source, raw []byte) bool {
	f := &b.folds
	fo := f.fast
	if fo == nil || fo.err != nil || src.Index != f.source || fo.cols.ch.Len() >= b.t.opts.Limits.MaxChunks {
		return false
	}
	m, ok := f.template.Match(raw)
	if !ok || m.Time < oldestFast {
		return false
	}
	for _, n := range m.Num[:f.numbers] {
		if n < 0 || n > math.MaxUint32 {
			return false // let the slow way say what is wrong
		}
	}
	b.next()
	fo.items++
	fo.cols.add(micros(m.Time))
	if f.class == eventToken {
		fo.cols.tokens(1)
	}
	numbered := false
	for i, field := range f.fields[:f.numbers] {
		n := m.Num[i]
		switch field {
		case semconv.ChunkIndex:
			if len(fo.index) == fo.cols.ch.Len()-1 {
				fo.index = append(fo.index, n)
				numbered = true
			}
		case semconv.ChunkBytes:
			fo.cols.bytes(uint32(n)) //nolint:gosec // checked above
		case semconv.ChunkTokens:
			fo.cols.tokens(uint32(n)) //nolint:gosec // checked above
		default:
		}
	}
	if !numbered {
		fo.index = nil
	}
	return true
}

// oldestFast is an instant in ns below which a time is left to the slow way and its explanations: 2001.
const oldestFast = 1_000_000_000_000_000_000
