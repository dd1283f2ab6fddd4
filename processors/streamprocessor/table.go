package streamprocessor

import (
	"strings"
	"time"

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

// own copies the strings, which may be parts of a request's body.
func (k key) own() key {
	k.tenant, k.requestID, k.emitter = strings.Clone(k.tenant), strings.Clone(k.requestID), strings.Clone(k.emitter)
	return k
}

// full is a hash of everything that names the stream.
func (k key) full() uint64 {
	return k.hash() ^ xxh3.HashString(k.emitter)*33 ^ (uint64(k.startedAt)^uint64(k.attempt)<<52^uint64(len(k.tier))<<48)*0x9e3779b97f4a7c15 //nolint:gosec // bits
}

func (k key) hash() uint64 {
	return xxh3.HashString(k.requestID) ^ xxh3.HashString(k.tenant)*31
}

// entry is a stream in the table.
type entry struct {
	key        key
	f          *follower // nil once finished: the entry then only remembers that it is
	waiting    map[uint32]wire.Stream
	since      time.Time // when the oldest waiting segment came
	arrived    time.Time // last record
	pulse      pulse
	prev, next *entry // in the order of arrived
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
	whole := s.Seq == 0 && s.Final
	e := sh.get(k)
	if e == nil {
		e = sh.near(k)
	}
	if e == nil {
		if whole && !stillOpen(s) {
			// Whole streams, the bulk of imported traffic, need no place in the table: found again, they give the same.
			sh.told.put(k.full())
			f := &sh.whole
			f.begin(&p.det, s)
			f.take(s)
			out := f.drain(true)
			*f = follower{} // it may hold text
			return out
		}
		if sh.told.has(k.full()) { // a segment that was sent before the whole and comes after it
			p.tel.duplicate()
			return nil
		}
		k = k.own()
		e = &entry{key: k, f: newFollower(&p.det, s)}
		e.f.key = k
		if gone := sh.add(e); gone != nil {
			p.giveUp(sh, gone)
		}
	}
	e.arrived, sh.unsaved = now, true
	switch {
	case e.f == nil:
		p.tel.duplicate()
		return nil
	case whole && e.f.nextSeq > 0 && (!stillOpen(s) || s.ObservedUS.V > e.f.toldUS):
		f := newFollower(&p.det, s)
		f.key = e.key
		f.take(s)
		f.replace(e.f)
		e.f, e.waiting = f, nil
	case s.Seq < e.f.nextSeq:
		p.tel.duplicate()
		e.f.late(s)
		return e.f.drain(true)
	case s.Seq > e.f.nextSeq:
		if e.waiting == nil {
			e.waiting, e.since = map[uint32]wire.Stream{}, now
		}
		e.waiting[s.Seq] = *s
		s.Chunks = wire.Chunks{} // the arrays are kept
		if len(e.waiting) <= maxWaiting {
			return nil
		}
		p.skip(e)
	default:
		if whole {
			e.waiting = nil // it says again what they say
		}
		e.f.take(s)
		p.catchUp(e)
	}
	first := int64(-1)
	if len(s.Chunks.T) > 0 {
		first = s.Chunks.T[0]
	}
	e.pulse.record(now, first, e.f.toldUS, s.ObservedUS.OK)
	return p.settle(e)
}

// stillOpen reports a record that ends with silence that was watched and no word of an end.
func stillOpen(s *wire.Stream) bool {
	return s.ObservedUS.OK && !s.EndUS.OK && s.FinishReason == "" && s.ErrorType == "" && s.Status < 400
}

// giveUp counts a stream for which there is no room and closes its findings with the next tick.
func (p *streamProcessor) giveUp(sh *shard, e *entry) {
	if e.f == nil {
		return
	}
	p.tel.evicted()
	e.f.forget()
	if len(sh.orphans) < maxUnsent/shardCount {
		sh.orphans = append(sh.orphans, e.f.drain(true)...)
	}
}

// refused keeps findings for the next tick whose records the next stage did not take: sent again, the records are
// duplicates, and find nothing.
func (p *streamProcessor) refused(found []wire.Finding) {
	for _, w := range found {
		k := key{tenant: w.Tenant, requestID: w.RequestID, emitter: w.Emitter}.own()
		w.Tenant, w.RequestID, w.Emitter = k.tenant, k.requestID, k.emitter
		sh := &p.shards[k.hash()%shardCount]
		sh.mu.Lock()
		full := len(sh.orphans) >= maxUnsent/shardCount
		if !full {
			sh.orphans = append(sh.orphans, w)
		}
		sh.mu.Unlock()
		if full {
			p.tel.dropped("finding", 1)
		}
	}
}

// tellOrphans tells the findings that no stream in the table will tell.
func (p *streamProcessor) tellOrphans(tell func([]wire.Finding)) {
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		out := sh.orphans
		sh.orphans = nil
		sh.mu.Unlock()
		tell(out)
	}
}

// catchUp takes the segments that waited for the one just taken.
func (p *streamProcessor) catchUp(e *entry) {
	for len(e.waiting) > 0 && !e.f.finished {
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
	e.f.skip(next)
	p.catchUp(e)
}

// settle drains the stream and drops its state when it has finished.
func (p *streamProcessor) settle(e *entry) []wire.Finding {
	out := e.f.drain(true)
	if e.f.finished {
		e.f, e.waiting = nil, nil
	}
	return out
}

// tick looks at every open stream: silence grows, missing segments are given up, the dead are buried. What it finds is told
// shard by shard, so that a hundred thousand streams that freeze together don't fill the memory.
func (p *streamProcessor) tick(now time.Time, tell func([]wire.Finding)) {
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		out := sh.orphans
		sh.orphans = nil
		for e := sh.first; e != nil; {
			next := e.next
			out = append(out, p.look(sh, e, now)...)
			e = next
		}
		sh.unsaved = sh.unsaved || len(out) > 0
		sh.mu.Unlock()
		tell(out)
	}
}

// abandon closes what is open in all streams.
func (p *streamProcessor) abandon(tell func([]wire.Finding)) {
	for i := range p.shards {
		sh := &p.shards[i]
		sh.mu.Lock()
		out := sh.orphans
		sh.orphans = nil
		for e := sh.first; e != nil; e = e.next {
			if e.f != nil {
				e.f.forget()
				out = append(out, p.settle(e)...)
			}
		}
		sh.mu.Unlock()
		tell(out)
	}
}

func (p *streamProcessor) look(sh *shard, e *entry, now time.Time) []wire.Finding {
	silent := now.Sub(e.arrived)
	switch {
	case e.f == nil:
		if silent > p.cfg.FinishedTimeout {
			sh.remove(e)
		}
		return nil
	case len(e.waiting) > 0:
		if now.Sub(e.since) <= p.cfg.ReorderTimeout {
			return nil // what is missing may tell of content
		}
		sh.unsaved = true
		p.skip(e)
		e.pulse.record(now, -1, e.f.toldUS, false)
		return p.settle(e)
	}
	e.f.guess(e.pulse.watched(now))
	if silent > p.cfg.IdleTimeout {
		e.f.lost()
		p.buried = append(p.buried, e.f.ending())
		return p.settle(e)
	}
	return e.f.drain(false)
}
