package genai

import (
	"sync"
	"time"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/semconv"
	"github.com/fermata-io/fermata/internal/wire"
)

// Options say how items are read. Start from NewDefaultOptions.
type Options struct {
	// ChunkEvents names the span events and log records that stand for one chunk each. A name outside the
	// gen_ai., llm. and fermata. namespaces counts only on items that are about an LLM call by other signs.
	ChunkEvents []string
	// Limits bound each record.
	Limits wire.Limits
	// MaxRecords bounds the records that one request may turn into. Items beyond it are refused.
	MaxRecords int
	// KeepText keeps the chunk texts of native records. Without it text is measured and dropped.
	KeepText bool
}

// NewDefaultOptions returns the documented defaults.
func NewDefaultOptions() Options {
	return Options{
		ChunkEvents: semconv.DefaultChunkEvents(), Limits: wire.NewDefaultLimits(),
		MaxRecords: wire.NewDefaultDecodeOptions().MaxItems,
	}
}

// Translator turns OTLP items into records. It is safe for concurrent use.
type Translator struct {
	opts   Options
	events map[string]eventClass

	batches sync.Pool
}

type eventClass uint8

const (
	eventOther eventClass = iota
	eventChunk
	eventToken     // one chunk of one token
	eventScheduled // a token was scheduled
	eventFirst     // the first chunk, without the others
	eventDone
)

// New makes a Translator.
func New(opts Options) *Translator {
	t := &Translator{opts: opts, events: make(map[string]eventClass, len(opts.ChunkEvents)+1)}
	for _, n := range opts.ChunkEvents {
		t.events[n] = eventChunk
	}
	if t.events[semconv.EventTokenGenerated] == eventChunk {
		t.events[semconv.EventTokenGenerated] = eventToken
	}
	t.events[semconv.EventTokenScheduled] = eventScheduled
	return t
}

func (t *Translator) classify(name string) eventClass {
	if c, ok := t.events[name]; ok {
		return c
	}
	switch {
	case semconv.FirstToken(name):
		return eventFirst
	case semconv.Done(name):
		return eventDone
	}
	return eventOther
}

// Starts remembers when a stream began whose chunks arrive in several requests and don't say it.
type Starts interface {
	// StartOf returns the start remembered for key; if there is none, or it is later than first, it
	// remembers first. Instants are µs.
	StartOf(key string, first int64) int64
}

// Reject is one item that was refused.
type Reject struct {
	Index     int    // place of the item in the request, counted over all resources and scopes
	RequestID string // where it is known and well formed
	Err       error  // joins one wire.FieldError for each problem
}

// Result is what one request gave.
type Result struct {
	Streams  []wire.Stream
	Gateways []wire.Gateway
	Clients  []wire.Client
	// Sources says where Streams[i] took its request id from.
	Sources []IDSource

	Accepted   int // items that went into a record
	Ignored    int // items that are not about an LLM call
	Rejected   int // items refused
	Incomplete int // spans whose SDK dropped chunk events: kept without chunks
	Rejects    []Reject
}

// maxRejects bounds the refusals that are described; the rest are only counted.
const maxRejects = 100

// IDSource says which attribute a request id came from.
type IDSource uint8

// Sources of a request id, the surest first.
const (
	FromRequestID  IDSource = iota // fermata.request_id or another request id attribute
	FromHeader                     // x-request-id header
	FromGatewayID                  // a gateway's call id
	FromEngineID                   // the engine's own request id
	FromResponseID                 //
	FromTraceID                    // nothing better: all calls of one trace are one request
)

var idSourceNames = [...]string{"request_id", "header", "gateway_call_id", "engine_request_id", "response_id", "trace_id"}

// String names the source as in the attribute fermata.request_id_source.
func (s IDSource) String() string { return idSourceNames[s] }

// Batch collects the records of one request.
type Batch struct {
	t      *Translator
	now    time.Time
	starts Starts
	res    Result
	index  int

	facts    facts
	record   wire.Stream // scratch for native records
	resource resourceFacts
	attrs    otlpwire.Attrs // scratch for events
	classes  []eventClass   // scratch: what the names of a span's events mean
	arena    []int64        // room for offsets
	folds    folds
}

// NewBatch starts the translation of one request; now is the receiver's clock. starts may be nil.
func (t *Translator) NewBatch(now time.Time, starts Starts) *Batch {
	b, ok := t.batches.Get().(*Batch)
	if !ok {
		b = new(Batch)
	}
	b.t, b.now, b.starts, b.index, b.resource.index = t, now, starts, 0, -1
	return b
}

// Release gives the batch's memory to later ones; its result must not be used after.
func (b *Batch) Release() {
	b.facts.reset()
	b.record, b.resource = wire.Stream{}, resourceFacts{}
	clear(b.attrs[:cap(b.attrs)])
	clear(b.res.Streams)
	r := Result{Streams: b.res.Streams[:0], Sources: b.res.Sources[:0]}
	if cap(r.Streams) > maxKeptStreams {
		r = Result{}
	}
	b.res, b.folds, b.starts, b.arena = r, folds{}, nil, b.arena[:0]
	b.t.batches.Put(b)
}

const (
	maxKeptStreams = 1024
	arenaSize      = 16 * 1024 // offsets
)

// offsets returns an empty slice with room for n offsets.
func (b *Batch) offsets(n int) []int64 {
	if n > arenaSize/4 {
		return make([]int64, 0, n)
	}
	if cap(b.arena)-len(b.arena) < n {
		b.arena = make([]int64, 0, arenaSize)
	}
	at := len(b.arena)
	b.arena = b.arena[:at+n]
	return b.arena[at : at : at+n]
}

// Finish closes the streams that were folded from single records and returns everything.
func (b *Batch) Finish() *Result {
	b.finishFolds()
	return &b.res
}

// AddGateway takes a record that another adapter made of one item, or that adapter's error.
func (b *Batch) AddGateway(g wire.Gateway, err error) {
	i := b.next()
	if err == nil {
		err = g.Validate(b.now, b.t.opts.Limits)
	}
	if err == nil {
		err = b.room()
	}
	if err != nil {
		b.reject(i, 1, g.RequestID, err)
		return
	}
	b.res.Gateways = append(b.res.Gateways, g)
	b.res.Accepted++
}

func (b *Batch) next() int {
	b.index++
	return b.index - 1
}

func (b *Batch) reject(index, items int, id string, err error) {
	b.res.Rejected += items
	if len(b.res.Rejects) < maxRejects {
		if !wire.ValidID(id) {
			id = ""
		}
		b.res.Rejects = append(b.res.Rejects, Reject{Index: index, RequestID: id, Err: err})
	}
}

// room says when a request has as many records as it may: items are small on the wire and large afterwards.
func (b *Batch) room() error {
	if len(b.res.Streams)+len(b.res.Gateways)+len(b.res.Clients) < b.t.opts.MaxRecords {
		return nil
	}
	return wire.Fieldf("(request)", "holds more than %d records; send smaller batches", b.t.opts.MaxRecords)
}

func (b *Batch) accept(index, items int, s *wire.Stream, src IDSource) {
	err := s.Validate(b.now, b.t.opts.Limits)
	if err == nil {
		err = b.room()
	}
	if err != nil {
		b.reject(index, items, s.RequestID, err)
		return
	}
	b.res.Streams = append(b.res.Streams, *s)
	b.res.Sources = append(b.res.Sources, src)
	b.res.Accepted += items
}
