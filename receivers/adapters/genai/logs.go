package genai

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// folds are the streams whose chunks come as single log records.
type folds struct {
	list []*fold
	by   map[string]*fold
	last *fold
	key  []byte // scratch

	// What the last record was like, for TakeLog.
	fast     *fold
	template otlpwire.Template
	fields   [otlpwire.MaxVariable]semconv.Field
	numbers  int
	source   int
	class    eventClass
}

// fold is one stream, or the part of it that is in this request.
type fold struct {
	key    string
	first  int // index of its first record
	items  int
	stream wire.Stream
	source IDSource
	cols   columns // T holds instants until the fold is closed
	index  []int64 // chunk numbers; nil once a record came without one
	done   bool
	err    error
}

// AddLog translates one log record: a native record, or one chunk of a stream. Records that are neither are
// counted as ignored.
func (b *Batch) AddLog(src *otlpwire.Source, lr *otlpwire.LogRecord) {
	index := b.next()
	b.folds.fast = nil
	b.resource.read(src, &b.facts)
	f := &b.facts
	f.read(lr.Attrs)
	event := lr.EventName
	if event == "" && f.has(semconv.EventName) {
		event = f.str(semconv.EventName)
	}
	switch event {
	case streamlog.EventStream, streamlog.EventGateway, streamlog.EventClient:
		b.addNative(index, lr, event)
		return
	}
	class := b.t.classify(event)
	switch class {
	case eventChunk, eventToken, eventDone:
		if !f.genai && !semconv.OwnName(event) {
			b.res.Ignored++
			return
		}
		b.fold(src, lr, index, class)
	case eventScheduled, eventFirst, eventOther:
		b.res.Ignored++
	}
}

func (b *Batch) fold(src *otlpwire.Source, lr *otlpwire.LogRecord, index int, class eventClass) {
	fo := b.foldOf(src, lr, index)
	if fo == nil {
		b.reject(index, 1, "", wire.Fieldf("(request)", "holds more than %d records; send smaller batches", b.t.opts.MaxRecords))
		return
	}
	fo.items++
	if fo.err != nil {
		return
	}
	ns := lr.Time
	if ns == 0 {
		ns = lr.Observed
	}
	f := &b.facts
	at := micros(ns)
	if off, ok := f.int(semconv.ChunkOffset); ok {
		switch {
		case fo.stream.StartedAt == 0 && at > 0:
			fo.stream.StartedAt = at - off
		case at == 0:
			at = fo.stream.StartedAt + off
		}
	}
	if at == 0 {
		fo.err = wire.Fieldf("time_unix_nano", "is missing in log record %d", index)
		return
	}
	if err := b.nano("time_unix_nano", ns); err != nil {
		fo.err = err
		return
	}
	if fo.cols.ch.Len() >= b.t.opts.Limits.MaxChunks {
		fo.err = wire.Fieldf("log_records", "hold more than %d chunks of one stream", b.t.opts.Limits.MaxChunks)
		return
	}
	fo.cols.add(at)
	fo.number(f, class)
	if class == eventToken {
		fo.cols.tokens(1)
	}
	if err := b.chunkFacts(&fo.cols); err != nil {
		fo.err = err
		return
	}
	n := fo.cols.ch.Len()
	if class == eventDone {
		fo.cols.kind(wire.KindDone)
	}
	if f.has(semconv.FinishReasons) {
		fo.stream.FinishReason = first(f.finishReason(), fo.stream.FinishReason)
		fo.done = fo.done || fo.stream.FinishReason != ""
	}
	fo.done = fo.done || fo.cols.ch.KindAt(n-1) == wire.KindDone
	if n > 1 {
		b.late(&fo.stream)
	}
	b.remember(src, lr, fo, class)
}

// number notes the chunk's number. A record of the end needs none: it comes after the others.
func (fo *fold) number(f *facts, class eventClass) {
	n, ok := f.int(semconv.ChunkIndex)
	if k := len(fo.index); !ok && class == eventDone && k > 0 {
		n, ok = fo.index[k-1]+1, true
	}
	if !ok || n < 0 || n > math.MaxUint32 {
		fo.index = nil
	} else if len(fo.index) == fo.cols.ch.Len()-1 {
		fo.index = append(fo.index, n)
	}
}

// chunkFacts sets what a log record tells of its chunk.
func (b *Batch) chunkFacts(c *columns) error {
	f := &b.facts
	for _, field := range f.set {
		switch field {
		case semconv.ChunkBytes, semconv.ChunkTokens:
			n, ok := f.int(field)
			if !ok {
				continue
			}
			if n < 0 || n > math.MaxUint32 {
				return wire.Fieldf(semconv.Keys(field)[f.rank[field]], "is out of range (%d)", n)
			}
			if field == semconv.ChunkTokens {
				c.tokens(uint32(n))
			} else {
				c.bytes(uint32(n))
			}
		case semconv.ChunkKind:
			if v := f.value[field]; v.Type == otlpwire.String {
				c.kind(KindOf(v.Str()))
			}
		case semconv.ChunkChoice:
			if n, ok := f.int(field); ok && n >= 0 && n <= math.MaxUint16 && (n > 0 || len(c.ch.Choice) > 0) {
				c.choice(uint16(n))
			}
		case semconv.ChunkText:
			if v := f.value[field]; v.Type == otlpwire.String && !f.has(semconv.ChunkBytes) {
				c.bytes(uint32(len(v.Raw()))) //nolint:gosec // shorter than the request
			}
		default:
		}
	}
	return nil
}

// late takes what only a later record says: usage and errors come with the last one.
func (b *Batch) late(s *wire.Stream) {
	f := &b.facts
	for _, field := range f.set {
		switch field {
		case semconv.InputTokens:
			set(f, field, &s.PromptTokens)
		case semconv.OutputTokens:
			set(f, field, &s.OutputTokens)
		case semconv.ReasoningTokens:
			set(f, field, &s.ReasoningTokens)
		case semconv.CachedTokens:
			set(f, field, &s.CachedTokens)
		case semconv.ErrorType, semconv.ExceptionType:
			s.ErrorType = first(s.ErrorType, wire.ErrorClass(f.str(field)))
		case semconv.ResponseID:
			if s.ResponseID == "" {
				s.ResponseID = f.str(field)
			}
		case semconv.ResponseModel:
			if r := f.str(field); s.ModelVersion == "" && r != s.Model {
				s.ModelVersion = r
			}
		default:
		}
	}
}

func set(f *facts, field semconv.Field, at *wire.Opt[int64]) {
	if n, ok := f.int(field); ok {
		*at = wire.Some(n)
	}
}

// foldOf finds the stream that a record belongs to. Records follow one another by stream more often than
// not, so the last one is tried first.
func (b *Batch) foldOf(src *otlpwire.Source, lr *otlpwire.LogRecord, index int) *fold {
	f := &b.facts
	k := binary.AppendVarint(b.folds.key[:0], int64(src.Index))
	id := false
	for _, field := range [...]semconv.Field{
		semconv.RequestID, semconv.HeaderRequestID, semconv.GatewayCallID, semconv.EngineRequestID, semconv.ResponseID,
	} {
		if v := f.value[field]; !v.IsZero() {
			k = append(append(k, byte(field)), v.Raw()...)
			id = true
			break
		}
	}
	if !id {
		k = append(append(append(k, 0), lr.TraceID...), lr.SpanID...)
	}
	if f.has(semconv.Tenant) {
		k = append(append(k, 0), f.value[semconv.Tenant].Raw()...)
	}
	if n, ok := f.int(semconv.Attempt); ok {
		k = binary.AppendVarint(append(k, 0), n)
	}
	b.folds.key = k
	if l := b.folds.last; l != nil && l.key == string(k) {
		return l
	}
	fo := b.folds.by[string(k)]
	if fo == nil && len(b.folds.list) >= b.t.opts.MaxRecords {
		return nil
	}
	if fo == nil {
		fo = b.newFold(src, lr, index, string(k))
	}
	b.folds.last = fo
	return fo
}

func (b *Batch) newFold(src *otlpwire.Source, lr *otlpwire.LogRecord, index int, key string) *fold {
	f := &b.facts
	fo := &fold{key: key, first: index, index: []int64{}, stream: wire.Stream{
		Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1,
		TraceID: hexID(lr.TraceID, 16), SpanID: hexID(lr.SpanID, 8),
	}}
	s := &fo.stream
	fo.source = b.common(s)
	s.Emitter = first(s.Emitter, b.resource.emitter, b.resource.service, strings.Clone(src.ScopeName), "otlp")
	s.Deployment = first(s.Deployment, f.server(), b.resource.deployment)
	s.App = first(s.App, b.resource.service)
	if n, ok := f.int(semconv.StartedAt); ok {
		s.StartedAt = n
	} else if n, ok := f.int(semconv.StartedAtNano); ok {
		s.StartedAt = n / nanosPerMicro
	}
	fo.cols.ch.T = make([]int64, 0, 16)
	if b.folds.by == nil {
		b.folds.by = make(map[string]*fold)
	}
	b.folds.by[key] = fo
	b.folds.list = append(b.folds.list, fo)
	return fo
}

// finishFolds turns instants into offsets and hands the streams on.
func (b *Batch) finishFolds() {
	for _, fo := range b.folds.list {
		s := &fo.stream
		if fo.err == nil {
			fo.err = b.closeFold(fo)
		}
		if fo.err != nil {
			b.reject(fo.first, fo.items, s.RequestID, fo.err)
			continue
		}
		b.accept(fo.first, fo.items, s, fo.source)
	}
	b.folds = folds{}
}

func (b *Batch) closeFold(fo *fold) error {
	s, ch := &fo.stream, &fo.cols.ch
	if len(fo.index) != ch.Len() {
		fo.index = nil
	}
	for i := 1; i < ch.Len(); i++ {
		if ch.T[i] < ch.T[i-1] || fo.index != nil && ch.T[i] == ch.T[i-1] && fo.index[i] < fo.index[i-1] {
			sortChunks(ch, fo.index)
			break
		}
	}
	if s.StartedAt == 0 {
		// Nobody says when the request began. Parts that come in several requests must agree on one instant,
		// since it is part of a stream's identity.
		s.StartedAt, s.StartUnknown = ch.T[0], true
		if b.starts != nil {
			s.StartedAt = b.starts.StartOf(startKey(s), ch.T[0])
		}
	}
	for i, t := range ch.T {
		if ch.T[i] = t - s.StartedAt; ch.T[i] < 0 {
			return wire.Fieldf("time_unix_nano", "lies %d µs before the start of the request", -ch.T[i])
		}
	}
	// A number that grows along the stream and is the same when the same records come again.
	const resolution = 4                                     // 16 µs: 19 hours fit
	s.Seq = uint32(min(ch.T[0]>>resolution, math.MaxUint32)) //nolint:gosec // bounded
	if fo.index != nil {
		lowest := fo.index[0]
		for _, n := range fo.index {
			lowest = min(lowest, n)
		}
		s.Seq = uint32(lowest) //nolint:gosec // checked when it was read
	}
	s.Final = fo.done
	if n := ch.Len(); fo.done {
		s.EndUS = wire.Some(ch.T[n-1])
	}
	s.Chunks = *ch
	return nil
}

func startKey(s *wire.Stream) string {
	return s.Tenant + "\x00" + s.RequestID + "\x00" + s.SpanID + "\x00" + s.Emitter + "\x00" + strconv.FormatUint(uint64(s.Attempt), 10)
}
