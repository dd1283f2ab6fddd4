package tap

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/wire"
)

// maxBatch bounds the segments of one call of the sink.
const maxBatch = 1000

// Stats count what the tap did since it started.
type Stats struct {
	Requests       atomic.Int64 // requests taken
	Active         atomic.Int64 // requests on their way
	Streams        atomic.Int64 // requests recorded
	Segments       atomic.Int64 // segments handed on
	SinkErrors     atomic.Int64 // calls of the sink that failed, each try
	StreamsDropped atomic.Int64 // ended streams whose last segment was not handed on
	ChunksMerged   atomic.Int64 // chunks merged into the one before, because the sink lagged
	ChunksDropped  atomic.Int64 // chunks not handed on
	Malformed      atomic.Int64 // frames of answers that could not be read
	UpstreamErrors atomic.Int64 // requests without an answer from the upstream
}

// add puts a request among the running ones. It reports false when the tap has stopped.
func (t *Tap) add(s *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining && t.active == 0 {
		return false
	}
	t.active++
	s.next = t.running
	if t.running != nil {
		t.running.prev = s
	}
	t.running = s
	t.stats.Requests.Add(1)
	t.stats.Active.Add(1)
	return true
}

// done takes an ended request from the running ones and, if it is recorded, gives it to the sender.
func (t *Tap) done(s *stream) {
	t.stats.Active.Add(-1)
	t.mu.Lock()
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		t.running = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	full := len(t.ended) >= t.cfg.MaxPendingStreams
	if s.record && !full {
		t.ended = append(t.ended, s)
	}
	if t.active--; t.draining && t.active == 0 {
		close(t.idle)
	}
	t.mu.Unlock()
	switch {
	case !s.record:
		t.release(s)
	case full:
		t.stats.StreamsDropped.Add(1)
		t.stats.ChunksDropped.Add(int64(len(s.pend.list)))
		t.release(s)
	default:
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// release gives a stream's parser back.
func (t *Tap) release(s *stream) {
	s.mu.Lock()
	p := s.parser
	s.parser = nil
	s.mu.Unlock()
	if p != nil {
		t.parsers.Put(p)
	}
}

// send is the one writer of all streams. It ends when stop is closed and nothing is left.
func (t *Tap) send(stop <-chan struct{}) {
	defer close(t.sent)
	interval := t.cfg.FlushInterval
	tick := time.NewTicker(max(10*time.Millisecond, interval/10))
	defer tick.Stop()
	var running, ended []*stream
	for last := false; ; {
		select {
		case <-tick.C:
		case <-t.wake:
		case <-stop:
			last = true
		}
		running, ended = running[:0], ended[:0]
		t.mu.Lock()
		ended = append(ended, t.ended...)
		clear(t.ended)
		t.ended = t.ended[:0]
		if time.Since(t.looked) >= interval/10 {
			t.looked = time.Now()
			for s := t.running; s != nil; s = s.next {
				running = append(running, s)
			}
		}
		t.mu.Unlock()
		t.hand(ended, running, interval.Microseconds())
		clear(running)
		clear(ended)
		if last && len(ended) == 0 {
			return
		}
	}
}

// hand cuts and hands on the segments of ended and of due streams.
func (t *Tap) hand(ended, running []*stream, interval int64) {
	batch, owners := t.batch[:0], t.owners[:0]
	flush := func() {
		if len(batch) > 0 {
			t.deliver(batch, owners)
		}
		clear(batch)
		clear(owners)
		batch, owners = batch[:0], owners[:0]
		t.columns.reset()
	}
	cut := func(s *stream, final bool) {
		if w, ok := s.segment(&t.columns, final); ok {
			batch, owners = append(batch, w), append(owners, s)
		}
		if len(batch) == maxBatch {
			flush()
		}
	}
	for _, s := range ended {
		cut(s, true)
	}
	for _, s := range running {
		if s.due(interval) {
			cut(s, false)
		}
	}
	flush()
	for _, s := range ended {
		t.release(s)
	}
	t.batch, t.owners = batch, owners
}

// deliver calls the sink, again and again for a while when it fails for now, and counts what it could not place.
func (t *Tap) deliver(batch []wire.Stream, owners []*stream) {
	deadline := time.Now().Add(t.cfg.RetryFor)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := t.sink(t.sinkCtx, batch)
		if err == nil {
			t.failing = false
			t.stats.Segments.Add(int64(len(batch)))
			return
		}
		t.stats.SinkErrors.Add(1)
		if !t.failing {
			t.failing = true
			t.log.Warn("Recorded streams could not be handed on; the streams themselves go on", zap.Error(err))
		}
		if consumererror.IsPermanent(err) || time.Now().Add(wait).After(deadline) || !sleep(t.sinkCtx, wait) {
			break
		}
	}
	for i, s := range owners {
		n := int64(batch[i].Chunks.Len())
		t.stats.ChunksDropped.Add(n)
		if batch[i].Final {
			t.stats.StreamsDropped.Add(1)
		}
		s.mu.Lock()
		s.lost += n
		s.touched = true
		s.mu.Unlock()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
