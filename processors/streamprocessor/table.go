package streamprocessor

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/zeebo/xxh3"

	"github.com/fermata-io/fermata/internal/wire"
)

// key names a stream.
type key struct {
	tenant, requestID, emitter string
	tier                       wire.Tier
	attempt                    uint32
	startedAt                  int64
}

func keyOf(s *wire.Stream) key {
	return key{s.Tenant, s.RequestID, s.Emitter, s.Tier, s.Attempt, s.StartedAt}
}

func (k key) hash() uint64 {
	return xxh3.HashString(k.requestID) ^ xxh3.HashString(k.tenant)*31
}

// entry is a stream in the table.
type entry struct {
	f       *follower // nil once finished: the entry then only remembers that it is
	waiting map[uint32]wire.Stream
	since   time.Time // when the oldest waiting segment came
	arrived time.Time // last record
	// knownAt is what was known of the stream (offset) when the last record arrived: silence is counted from there.
	knownAt int64
}

// shard is a part of the table with a lock of its own.
type shard struct {
	mu      sync.Mutex
	streams *simplelru.LRU[key, *entry]
}

// maxWaiting is how many segments of one stream wait for a missing one.
const maxWaiting = 16

const shardCount = 32

// take feeds a record to its stream, in the order of the segments, and returns the findings that changed. A segment that
// has to wait keeps the record's arrays, and s loses them.
func (p *streamProcessor) take(s *wire.Stream, now time.Time) []wire.Finding {
	k := keyOf(s)
	sh := &p.shards[k.hash()%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e, ok := sh.streams.Get(k)
	if !ok {
		if s.Seq == 0 && s.Final && !stillOpen(s) {
			// Whole streams, the bulk of imported traffic, need no place in the table: found again, they give the same.
			f := newFollower(&p.det, s)
			f.take(s)
			return f.drain(true)
		}
		e = &entry{f: newFollower(&p.det, s)}
		sh.streams.Add(k, e)
	}
	e.arrived = now
	if e.f == nil || s.Seq < e.f.nextSeq {
		p.tel.duplicate()
		return nil
	}
	if s.Seq > e.f.nextSeq {
		if e.waiting == nil {
			e.waiting, e.since = map[uint32]wire.Stream{}, now
		}
		e.waiting[s.Seq] = *s
		s.Chunks = wire.Chunks{} // the arrays are kept
		if len(e.waiting) <= maxWaiting {
			return nil
		}
		p.skip(e)
	} else {
		e.f.take(s)
		p.catchUp(e)
	}
	return p.settle(e)
}

// stillOpen reports a record that ends with silence that was watched and no word of an end.
func stillOpen(s *wire.Stream) bool {
	return s.ObservedUS.OK && !s.EndUS.OK && s.FinishReason == "" && s.ErrorType == "" && s.Status < 400
}

// catchUp takes the segments that waited for the one just taken.
func (p *streamProcessor) catchUp(e *entry) {
	for len(e.waiting) > 0 {
		s, ok := e.waiting[e.f.nextSeq]
		if !ok {
			return
		}
		delete(e.waiting, s.Seq)
		e.f.take(&s)
	}
	e.waiting = nil
}

// skip gives up on a missing segment and goes on with the next one there is.
func (p *streamProcessor) skip(e *entry) {
	p.tel.missing()
	next := uint32(0)
	for seq := range e.waiting {
		if next == 0 || seq < next {
			next = seq
		}
	}
	e.f.nextSeq = next
	p.catchUp(e)
}

// settle drains the stream and drops its state when it has finished.
func (p *streamProcessor) settle(e *entry) []wire.Finding {
	out := e.f.drain(true)
	e.knownAt = e.f.knownUS
	if e.f.finished {
		e.f, e.waiting = nil, nil
	}
	return out
}

// tick looks at every open stream: silence grows, missing segments are given up, the dead are buried.
func (p *streamProcessor) tick(now time.Time) []wire.Finding {
	var out []wire.Finding
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		for _, k := range sh.streams.Keys() {
			e, ok := sh.streams.Peek(k)
			if !ok {
				continue
			}
			silent := now.Sub(e.arrived)
			if e.f == nil {
				if silent > p.cfg.FinishedTimeout {
					sh.streams.Remove(k)
				}
				continue
			}
			if len(e.waiting) > 0 && now.Sub(e.since) > p.cfg.ReorderTimeout {
				p.skip(e)
				e.arrived = now
				out = append(out, p.settle(e)...)
				continue
			}
			if silent > p.cfg.IdleTimeout {
				e.f.lost()
				out = append(out, p.settle(e)...)
				continue
			}
			e.f.watch(e.knownAt + silent.Microseconds())
			e.f.collect()
			out = append(out, e.f.drain(false)...)
		}
		sh.mu.Unlock()
	}
	return out
}
