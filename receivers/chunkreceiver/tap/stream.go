package tap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// stream is one request on its way through the tap, and the record that is made of it.
type stream struct {
	tap *Tap
	up  *upstream
	rw  http.ResponseWriter
	ctx context.Context // the client's: done when it goes away

	// t0 is when the request came in. All times are µs since then by the monotonic clock; the wall clock is read
	// only here, so that a clock that is set while a stream runs moves nothing.
	t0          time.Time
	headersSent atomic.Int64 // request head written upstream; 0: not yet
	requestSent atomic.Int64 // whole request written upstream; 0: not yet

	mu       sync.Mutex
	rec      wire.Stream // what holds for the whole stream, as far as known
	request  llmstream.RequestScanner
	parser   *llmstream.Parser // nil while nothing is to be read
	at       int64             // time of the read that is being parsed
	stash    *stash            // reads that are not parsed yet; nil: none
	pend     chunks            // chunks that wait
	started  bool              // rec.StartedAt is settled
	start    int64             // offset of rec.StartedAt from t0
	record   bool              // this request is recorded
	given    bool              // its id is the client's
	told     bool              // whether it failed is known to the tap's retries
	events   bool              // the answer comes in small pieces
	chunks   uint64            // chunks seen
	bearing  bool              // one of them had content
	lost     int64             // chunks merged or dropped
	touched  bool              // there is news since the last segment
	news     int64             // when the last chunk came
	flushed  int64             // when the last segment was cut
	seq      uint32
	last     int64 // offset of the last chunk
	status   int
	bodyErr  error // what ended the answer's body early
	bodyEOF  bool
	failure  string // class of a failure before an answer came
	endClass string // error class and finish reason by the way the stream ended; before what the answer says
	endWhy   string
	ended    int64  // 0: still running
	taken    bool   // the final segment was cut
	aside    *aside // side decoder of a compressed answer

	prev, next *stream // in the tap's list of running streams
}

// since returns µs since the request came in.
func (s *stream) since() int64 { return time.Since(s.t0).Microseconds() }

// settleStart fixes when the request was sent upstream: when all of it was written, or, if an answer came
// earlier, its head. StartedAt is part of the record's identity and never changes afterwards. It reports false
// while the request is still being sent.
func (s *stream) settleStart(answered bool) bool {
	if s.started {
		return true
	}
	at := s.requestSent.Load()
	if at == 0 && answered {
		at = s.headersSent.Load()
	}
	if at == 0 && !answered {
		return false
	}
	s.start, s.started = at, true
	s.rec.StartedAt = s.t0.UnixMicro() + at
	return true
}

// offset turns a time into an offset from StartedAt.
func (s *stream) offset(at int64) int64 { return max(0, at-s.start) }

// add takes an event over. mu is held.
func (s *stream) add(e *llmstream.Event) {
	s.chunks++
	s.bearing = s.bearing || e.Kind.ContentBearing() && e.Bytes > 0
	s.touched, s.news = true, s.at
	t := max(s.offset(s.at), s.last)
	s.last = t
	text := s.tap.cfg.ForwardText
	if t > maxAge.Microseconds() {
		s.lost++
		s.tap.stats.ChunksDropped.Add(1)
		return
	}
	if len(s.pend.list) >= s.tap.cfg.MaxPendingChunks {
		s.lost++
		s.tap.stats.ChunksMerged.Add(1)
		if !s.pend.merge(e, t, text) && len(s.pend.list) < s.tap.cfg.MaxPendingChunks+256 {
			s.pend.add(e, t, text) // another kind or choice: keep what tells the tiers apart, within reason
		}
		return
	}
	s.pend.add(e, t, text)
}

// parse reads bytes of the answer, decompressed, whose raw read returned at the given time.
func (s *stream) parse(b []byte, at int64) {
	s.mu.Lock()
	s.at = at
	_, _ = s.parser.Write(b)
	s.mu.Unlock()
}

// keep stores bytes of the answer to be parsed a little later, several reads at a time: between two events of an
// LLM the processor has forgotten all about this stream, and waking its parser for each costs more than parsing.
func (s *stream) keep(b []byte, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched, s.news = true, at
	if s.stash == nil {
		s.stash, _ = stashes.Get().(*stash)
	}
	if !s.stash.put(b, at) {
		s.catchUp()
		s.at = at
		_, _ = s.parser.Write(b)
	}
	if bytes.Contains(b, errorWord) { // perhaps an event that tells of a failure: whoever asked may try again when it comes
		s.catchUp()
		if s.parser.Info().ErrorType != "" {
			s.tell(true)
		}
	}
}

var errorWord = []byte("error")

// catchUp parses what was kept. mu is held.
func (s *stream) catchUp() {
	k := s.stash
	if k == nil {
		return
	}
	from := 0
	for _, r := range k.reads[:k.n] {
		s.at = r.at
		_, _ = s.parser.Write(k.b[from:r.end])
		from = r.end
	}
	k.n = 0
	s.stash = nil
	stashes.Put(k)
}

// stash holds some small reads.
type stash struct {
	b     [2048]byte
	reads [16]struct {
		at  int64
		end int
	}
	n int
}

var stashes = sync.Pool{New: func() any { return new(stash) }}

// put reports false when there is no room.
func (k *stash) put(b []byte, at int64) bool {
	from := 0
	if k.n > 0 {
		from = k.reads[k.n-1].end
	}
	if k.n == len(k.reads) || len(b) > len(k.b)-from {
		return false
	}
	k.reads[k.n].at, k.reads[k.n].end = at, from+copy(k.b[from:], b)
	k.n++
	return true
}

// message reads a piece of a WebSocket message from the upstream.
func (s *stream) message(b []byte, end bool, at int64) {
	s.mu.Lock()
	s.at = at
	s.parser.Message(b, end)
	s.mu.Unlock()
}

// mark records a chunk that has no text, for instance a ping, behind what is still being decompressed.
func (s *stream) mark(k wire.Kind, at int64) {
	if s.aside != nil && s.aside.put(piece{at: at, mark: true, kind: k}) {
		return
	}
	s.markNow(k, at)
}

func (s *stream) markNow(k wire.Kind, at int64) {
	s.mu.Lock()
	s.at = at
	s.add(&llmstream.Event{Kind: k})
	s.mu.Unlock()
}

// body watches an answer's body. Its Read passes on exactly what the upstream's gave.
type body struct {
	io.ReadCloser
	s *stream
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	at := b.s.since()
	if n > 0 {
		if a := b.s.aside; a != nil {
			if !a.put(piece{b: p[:n], at: at}) {
				b.s.unfollowed()
			}
		} else {
			b.s.keep(p[:n], at)
		}
	}
	if err != nil {
		b.s.bodyEnd(err, at)
	}
	return n, err
}

// unfollowed counts a read that the side decoder could not take, as one chunk.
func (s *stream) unfollowed() {
	s.mu.Lock()
	s.lost++
	s.touched = true
	s.mu.Unlock()
	s.tap.stats.ChunksDropped.Add(1)
}

func (s *stream) bodyEnd(err error, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodyEOF || s.bodyErr != nil {
		return
	}
	if errors.Is(err, io.EOF) {
		s.bodyEOF = true
	} else {
		s.bodyErr = err
	}
	s.ended = max(at, 1)
}

// fail notes that no answer came from the upstream.
func (s *stream) fail(class string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure, s.status = class, status
	if s.record {
		s.tell(true)
	}
}

// tell notes whether the request failed, for the number of the one that tries again: as soon as it is known, before whoever
// asked sees it, and once, since that one may be over before this one is. An id that the tap made up never comes again. mu is held.
func (s *stream) tell(failed bool) {
	if s.given && !s.told {
		s.told = true
		s.tap.retries.ended(s.rec.Tenant, s.rec.RequestID, s.rec.Attempt, failed)
	}
}

// close is called once, when the request's handler is done or has panicked.
func (s *stream) close() {
	s.mu.Lock()
	if s.ended == 0 {
		s.ended = max(s.since(), 1)
	}
	a := s.aside
	s.mu.Unlock()
	if a != nil {
		a.finish(s.finish) // chunks may still be on their way through the side decoder
		return
	}
	s.finish()
}

// finish completes the record and hands it to the sender.
func (s *stream) finish() {
	s.mu.Lock()
	s.catchUp()
	s.at = s.ended
	var info llmstream.Info
	if s.parser != nil {
		s.parser.Close()
		info = *s.parser.Info()
		if info.Malformed > 0 {
			s.tap.stats.Malformed.Add(int64(info.Malformed)) //nolint:gosec // a count
		}
	}
	if s.record {
		s.settleStart(true)
		s.conclude(&info)
	}
	s.mu.Unlock()
	s.tap.done(s)
}

// conclude says how the stream ended. mu is held.
func (s *stream) conclude(info *llmstream.Info) {
	gone := s.ctx.Err() != nil
	cut := s.failure == "" && !s.bodyEOF
	complete := info.Complete()
	switch {
	case s.failure != "":
		s.endClass = s.failure
		if s.failure == classClientAbort {
			s.endWhy = classClientAbort
		}
	case cut && complete: // the client left after the answer's own end, or the connection broke behind it
	case cut && s.tap.stopping.Load() && gone:
		s.endClass = classShutdown
	case cut && (gone || s.bodyErr == nil): // the client's connection broke, or writing to it failed
		s.endClass, s.endWhy = classClientAbort, classClientAbort
	case cut:
		s.endClass = failureClass(s.bodyErr)
	case s.status < 400 && info.ErrorType == "" && s.incomplete(info):
		s.endClass = classIncomplete
	}
	s.rec.EndUS = wire.Some(min(s.offset(s.ended), maxAge.Microseconds()))
	s.tell(s.endClass != "" || s.status >= 400 || info.ErrorType != "")
}

// incomplete reports whether an answer whose body ended in order was not at its end: in the middle of an event, or with
// content and without the word that its protocol closes with. mu is held.
func (s *stream) incomplete(info *llmstream.Info) bool {
	return !info.Complete() && (info.Truncated || s.events && s.bearing && info.Dialect != llmstream.DialectUnknown)
}

// Classes of failures that the tap itself tells.
const (
	classClientAbort = "client_abort"
	classShutdown    = "tap_shutdown"
	classUnreachable = "upstream_unreachable"
	classReset       = "upstream_reset"
	classTimeout     = "upstream_timeout"
	classTLS         = "upstream_tls"
	classIncomplete  = "upstream_incomplete"
)

// failureClass names what went wrong between tap and upstream.
func failureClass(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case isTLS(err):
		return classTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return classTimeout
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return classUnreachable
	case errors.As(err, &op) && op.Op == "dial":
		return classUnreachable
	}
	return classReset
}

// segment cuts what is new since the last segment; its arrays are made in c. ok is false when there is nothing to
// hand on.
func (s *stream) segment(c *columns, final bool) (w wire.Stream, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.record || s.taken || !s.settleStart(final || s.rec.HeadersUS.OK) {
		return w, false
	}
	now := s.since()
	s.catchUp()
	s.describe()
	w = s.rec
	w.Chunks = c.take(&s.pend)
	s.pend.reset()
	w.Seq, w.Final = s.seq, final
	if s.lost > 0 {
		w.LostChunks = wire.Some(s.lost)
	}
	if final {
		s.taken = true
	} else {
		w.ObservedUS = wire.Some(min(max(s.offset(s.followed(now)), s.last), maxAge.Microseconds()))
	}
	s.seq++
	s.touched, s.flushed = false, now
	return w, true
}

// followed returns the time up to which all that came has been read. mu is held.
func (s *stream) followed(now int64) int64 {
	if s.aside == nil {
		return now
	}
	return s.aside.followed(now)
}

// maxQuiet bounds the distance of a silent stream's segments, so that it is not taken for lost.
const maxQuiet = int64(time.Minute / time.Microsecond)

// due reports whether a running stream should hand on a segment: when it has news and the interval is over, and
// while it is silent at growing distances, so that silence is known to go on and costs little.
func (s *stream) due(interval int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.record || s.ended != 0 {
		return false
	}
	wait := interval
	if !s.touched {
		wait = max(interval, min((s.flushed-s.news)/4, maxQuiet))
	}
	return s.since()-s.flushed >= wait
}

// describe brings the record up to what has been learnt. mu is held.
func (s *stream) describe() {
	r := &s.rec
	r.Status = int32(s.status) //nolint:gosec // three digits
	req := s.request.Request()
	if r.Model == "" {
		r.Model = clean(req.Model, maxName)
	}
	i := &llmstream.Info{}
	if s.parser != nil {
		i = s.parser.Info()
	}
	if i.Model != "" {
		r.Model = clean(i.Model, maxName)
	}
	r.ModelVersion = clean(i.Fingerprint, maxName)
	if s.up.cfg.Provider == "" {
		r.Provider = s.up.provider(i)
	}
	r.ResponseID = clean(i.ResponseID, maxName)
	r.PromptTokens, r.OutputTokens = counted(i.PromptTokens), counted(i.OutputTokens)
	r.ReasoningTokens, r.CachedTokens = counted(i.ReasoningTokens), counted(i.CachedTokens)
	r.SpecDraft, r.SpecAccepted = counted(i.SpecDraft), counted(i.SpecAccepted)
	r.QueueUS, r.PrefillUS, r.DecodeUS = lasted(i.QueueUS), lasted(i.PrefillUS), lasted(i.DecodeUS)
	r.FinishReason, r.StopReason, r.ErrorType = i.FinishReason, i.StopReason, ""
	if s.endWhy != "" {
		r.FinishReason = s.endWhy
	}
	switch {
	case s.endClass != "":
		r.ErrorType = s.endClass
	case s.status >= 400 && (i.ErrorType == "" || i.ErrorType == "error"):
		r.ErrorType = "http_" + strconv.Itoa(s.status)
	default:
		r.ErrorType = i.ErrorType
	}
	if r.CachedTokens.OK && r.PromptTokens.OK {
		switch {
		case r.CachedTokens.V == 0:
			r.CacheHit = "none"
		case r.CachedTokens.V < r.PromptTokens.V:
			r.CacheHit = "partial"
		default:
			r.CacheHit = "full"
		}
	}
}

// maxName bounds names taken from requests and answers; maxAge how long a stream is followed, and the longest
// time that an engine may report. Both are what a record may hold.
const (
	maxName = 256
	maxAge  = 24 * time.Hour
)

// counted drops a count that no record may hold.
func counted(o wire.Opt[int64]) wire.Opt[int64] {
	if o.V > math.MaxUint32 {
		return wire.Opt[int64]{}
	}
	return o
}

// lasted drops a duration that no record may hold.
func lasted(o wire.Opt[int64]) wire.Opt[int64] {
	if o.V > maxAge.Microseconds() {
		return wire.Opt[int64]{}
	}
	return o
}
