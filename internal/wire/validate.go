package wire

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Limits bound what one record may hold. The zero value refuses everything; start from NewDefaultLimits.
type Limits struct {
	MaxChunks    int           // chunks of one stream or segment
	MaxString    int           // bytes of any string but text
	MaxAliases   int           // aliases, attempts, candidates, visibility changes, long frames, retractions
	MaxOffset    time.Duration // of a server or gateway chunk from the stream's start
	MaxPageAge   time.Duration // of a client time from the page's time origin
	MaxFuture    time.Duration // how far ahead of the receiver's clock an instant may lie
	OldestUS     int64         // oldest instant, µs since the epoch
	MaxChunkSize uint32        // bytes of generated text in one chunk
}

// NewDefaultLimits returns the documented defaults.
func NewDefaultLimits() Limits {
	return Limits{
		MaxChunks:    200_000,
		MaxString:    1024,
		MaxAliases:   64,
		MaxOffset:    24 * time.Hour,
		MaxPageAge:   400 * 24 * time.Hour,
		MaxFuture:    5 * time.Minute,
		OldestUS:     time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
		MaxChunkSize: 64 << 20,
	}
}

// MaxGapUS is the longest storable gap between two chunks, about 71 minutes.
const MaxGapUS = math.MaxUint32

// maxProblems bounds how many problems of one record are reported.
const maxProblems = 8

type checker struct {
	errs []error
	now  int64
	lim  Limits
}

func (c *checker) fail(field, format string, args ...any) {
	if len(c.errs) < maxProblems {
		c.errs = append(c.errs, Fieldf(field, format, args...))
	}
}

func (c *checker) err() error { return errors.Join(c.errs...) }

// ValidID reports whether s can be a request id: 1 to 128 characters of [A-Za-z0-9._:-].
func ValidID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '.', b == '_', b == ':', b == '-':
		default:
			return false
		}
	}
	return true
}

func (c *checker) id(field, s string) {
	switch {
	case s == "":
		c.fail(field, "is missing")
	case len(s) > 128:
		c.fail(field, "has %d characters, at most 128 are allowed", len(s))
	case !ValidID(s):
		c.fail(field, "may hold only letters, digits and . _ : -")
	}
}

func (c *checker) str(field, s string) {
	if len(s) > c.lim.MaxString {
		c.fail(field, "has %d bytes, at most %d are allowed", len(s), c.lim.MaxString)
		return
	}
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			c.fail(field, "holds a NUL byte at %d", i)
			return
		}
	}
}

// instant checks a required instant and names the likely unit when it is off by a power of a thousand.
func (c *checker) instant(field string, us int64) {
	if us == 0 {
		c.fail(field, "is missing; want microseconds since 1970-01-01")
		return
	}
	c.optInstant(field, us)
}

// inside reports whether an instant is one that a record can tell of.
func (c *checker) inside(us int64) bool {
	return us >= c.lim.OldestUS && us <= c.now+c.lim.MaxFuture.Microseconds()
}

func (c *checker) optInstant(field string, us int64) {
	if us == 0 {
		return
	}
	latest, inside := c.now+c.lim.MaxFuture.Microseconds(), c.inside
	switch {
	case inside(us):
	case us < 0:
		c.fail(field, "is negative; want microseconds since 1970-01-01")
	case inside(us / 1000):
		c.fail(field, "looks like nanoseconds (%d); want microseconds since 1970-01-01", us)
	case us < math.MaxInt64/1000 && inside(us*1000):
		c.fail(field, "looks like milliseconds (%d); want microseconds since 1970-01-01", us)
	case us < math.MaxInt64/1_000_000 && inside(us*1_000_000):
		c.fail(field, "looks like seconds (%d); want microseconds since 1970-01-01", us)
	case us > latest && us < latest+100*365*24*3600*1_000_000:
		c.fail(field, "lies %s in the future; at most %s is allowed", roundUS(us-c.now), c.lim.MaxFuture)
	default:
		c.fail(field, "is out of range (%d); want microseconds since 1970-01-01", us)
	}
}

// pageInstant checks an instant of a page's wall clock, which may be wrong by years but not by a power of
// a thousand.
func (c *checker) pageInstant(field string, us int64) {
	const maxInstant = int64(1) << 53 // about the year 2255
	switch {
	case us < 0 || us > maxInstant:
		c.fail(field, "is out of range (%d); want microseconds since 1970-01-01", us)
	case us < maxInstant/1000 && us*1000 >= c.lim.OldestUS && us*1000 <= c.now+c.lim.MaxFuture.Microseconds():
		c.fail(field, "looks like milliseconds (%d); want microseconds since 1970-01-01", us)
	}
}

func roundUS(us int64) time.Duration {
	return (time.Duration(us) * time.Microsecond).Round(time.Second)
}

func (c *checker) offset(field string, o Opt[int64], limit time.Duration) {
	switch {
	case !o.OK:
	case o.V < 0:
		c.fail(field, "is negative (%d)", o.V)
	case o.V > limit.Microseconds():
		c.fail(field, "is %d µs, at most %d (%s) are allowed; are these nanoseconds?", o.V, limit.Microseconds(), limit)
	}
}

func (c *checker) count(field string, o Opt[int64]) {
	switch {
	case o.OK && o.V < 0:
		c.fail(field, "is negative (%d)", o.V)
	case o.OK && o.V > math.MaxUint32:
		c.fail(field, "is too large (%d)", o.V)
	}
}

// roundingUS is how far an instant may lie before one that it can't precede: gateways round each of theirs apart, to milliseconds.
const roundingUS = 2000

// notBefore checks the order of two instants of one clock, where both are given and sound.
func (c *checker) notBefore(field string, us int64, than string, first int64) {
	if c.inside(us) && c.inside(first) && us < first-roundingUS {
		c.fail(field, "is %d µs before %s", first-us, than)
	}
}

// status checks an HTTP status; 0: not known. Servers have numbers of their own above 599.
func (c *checker) status(field string, n int32) {
	if n != 0 && (n < 100 || n > 999) {
		c.fail(field, "is %d; want an HTTP status, 100 to 999", n)
	}
}

func (c *checker) list(field string, n int) {
	if n > c.lim.MaxAliases {
		c.fail(field, "has %d entries, at most %d are allowed", n, c.lim.MaxAliases)
	}
}

func (c *checker) chunks(field string, ch *Chunks, limit time.Duration) {
	n := ch.Len()
	if n > c.lim.MaxChunks {
		c.fail(field+".t", "has %d entries, at most %d are allowed; send the stream in segments", n, c.lim.MaxChunks)
		return
	}
	same := func(name string, m int) bool {
		if m != 0 && m != n {
			c.fail(field+"."+name, "has %d entries but %s.t has %d; arrays of one object have one length", m, field, n)
			return false
		}
		return true
	}
	okBytes := same("bytes", len(ch.Bytes))
	same("tokens", len(ch.Tokens))
	okKind := same("kind", len(ch.Kind))
	same("choice", len(ch.Choice))
	same("text", len(ch.Text))
	same("hashes", len(ch.Hashes))
	same("logprobs", len(ch.Logprob))
	prev := int64(0)
	for i, t := range ch.T {
		switch {
		case t < 0:
			c.fail(fmt.Sprintf("%s.t[%d]", field, i), "is negative (%d)", t)
			return
		case t < prev:
			c.fail(fmt.Sprintf("%s.t[%d]", field, i), "is %d, before the entry in front of it (%d); times must ascend", t, prev)
			return
		case t > limit.Microseconds():
			c.fail(fmt.Sprintf("%s.t[%d]", field, i), "is %d µs, at most %d (%s) are allowed; are these nanoseconds?", t, limit.Microseconds(), limit)
			return
		case i > 0 && t-prev > MaxGapUS:
			c.fail(fmt.Sprintf("%s.t[%d]", field, i), "comes %d µs after the entry in front of it, at most %d are allowed; are these nanoseconds?", t-prev, int64(MaxGapUS))
			return
		}
		prev = t
	}
	if okBytes {
		for i, b := range ch.Bytes {
			if b > c.lim.MaxChunkSize {
				c.fail(fmt.Sprintf("%s.bytes[%d]", field, i), "is %d, at most %d are allowed", b, c.lim.MaxChunkSize)
				break
			}
		}
	}
	if okKind {
		for i, k := range ch.Kind {
			if k >= kindCount {
				c.fail(fmt.Sprintf("%s.kind[%d]", field, i), "is not a kind of chunk")
				break
			}
		}
	}
}

// last returns the largest offset a record tells of.
func last(ch *Chunks, opts ...Opt[int64]) int64 {
	m := int64(0)
	if n := ch.Len(); n > 0 {
		m = ch.T[n-1]
	}
	for _, o := range opts {
		if o.OK && o.V > m {
			m = o.V
		}
	}
	return m
}

// Validate checks the record against the limits; now is the receiver's clock. The error joins one
// FieldError for each problem, at most eight.
func (s *Stream) Validate(now time.Time, lim Limits) error {
	c := &checker{now: now.UnixMicro(), lim: lim}
	c.id("request_id", s.RequestID)
	c.id("tenant", s.Tenant)
	if s.Tier != TierServer && s.Tier != TierGateway {
		c.fail("tier", "is %q; want server or gateway", clip(string(s.Tier)))
	}
	if s.Attempt == 0 || s.Attempt > 1000 {
		c.fail("attempt", "is %d; want 1 to 1000", s.Attempt)
	}
	for _, f := range [...]struct{ name, v string }{
		{"emitter", s.Emitter},
		{"provider", s.Provider},
		{"deployment", s.Deployment},
		{"model", s.Model},
		{"model_version", s.ModelVersion},
		{"route", s.Route},
		{"app", s.App},
		{"region", s.Region},
		{"cache_level", s.CacheLevel},
		{"cache_key_version", s.CacheKeyVersion},
		{"finish_reason", s.FinishReason},
		{"stop_reason", s.StopReason},
		{"error", s.ErrorType},
		{"response_id", s.ResponseID},
		{"reported.definition", s.Reported.Definition},
	} {
		c.str(f.name, f.v)
	}
	c.queryType(s.QueryType)
	switch s.CacheHit {
	case "", "none", "partial", "full":
	default:
		c.fail("cache_hit", "is %q; want none, partial or full", clip(s.CacheHit))
	}
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"prompt_tokens", s.PromptTokens},
		{"output_tokens", s.OutputTokens},
		{"reasoning_tokens", s.ReasoningTokens},
		{"cached_tokens", s.CachedTokens},
		{"chunk_size", s.ChunkSize},
		{"max_num_batched_tokens", s.MaxNumBatchedTokens},
		{"speculative.draft", s.SpecDraft},
		{"speculative.accepted", s.SpecAccepted},
		{"batch_size", s.BatchSize},
		{"lost_chunks", s.LostChunks},
	} {
		c.count(f.name, f.v)
	}
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"queue_us", s.QueueUS},
		{"prefill_us", s.PrefillUS},
		{"decode_us", s.DecodeUS},
		{"headers_us", s.HeadersUS},
		{"end_us", s.EndUS},
		{"observed_us", s.ObservedUS},
		{"reported.ttft_us", s.Reported.TTFTUS},
		{"reported.ttfa_us", s.Reported.TTFAUS},
		{"reported.itl_mean_us", s.Reported.ITLMeanUS},
		{"reported.tpot_us", s.Reported.TPOTUS},
		{"reported.e2e_us", s.Reported.E2EUS},
	} {
		c.offset(f.name, f.v, lim.MaxOffset)
	}
	c.status("status", s.Status)
	c.instant("started_at", s.StartedAt)
	c.chunks("chunks", &s.Chunks, lim.MaxOffset)
	if s.EndUS.OK && s.Chunks.Len() > 0 && s.EndUS.V < s.Chunks.T[s.Chunks.Len()-1] {
		c.fail("end_us", "is %d, before the last chunk (%d)", s.EndUS.V, s.Chunks.T[s.Chunks.Len()-1])
	}
	if len(c.errs) == 0 {
		if end := s.StartedAt + last(&s.Chunks, s.EndUS, s.ObservedUS); end > c.now+lim.MaxFuture.Microseconds() {
			c.fail("chunks.t", "ends %s in the future; are the offsets nanoseconds?", roundUS(end-c.now))
		}
	}
	c.ids(s.TraceID, s.SpanID, s.Aliases)
	return c.err()
}

func (c *checker) queryType(q string) {
	switch q {
	case "", "short_qa", "long_form", "code_completion", "translate_summarize", "other":
	default:
		c.fail("query_type", "is %q; want short_qa, long_form, code_completion, translate_summarize or other", clip(q))
	}
}

func (c *checker) ids(trace, span string, aliases []string) {
	c.hex("trace_id", trace, 32)
	c.hex("span_id", span, 16)
	c.list("aliases", len(aliases))
	for i, a := range aliases {
		if i < c.lim.MaxAliases && (a == "" || len(a) > 256) {
			c.fail(fmt.Sprintf("aliases[%d]", i), "has %d bytes; want 1 to 256", len(a))
		}
	}
}

func (c *checker) hex(field, s string, n int) {
	if s == "" {
		return
	}
	ok := len(s) == n
	for i := 0; ok && i < n; i++ {
		ok = s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f'
	}
	if !ok {
		c.fail(field, "is %q; want %d lower-case hex digits", clip(s), n)
	}
}

// clip shortens a refused value for an error message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// Validate checks the record against the limits; now is the receiver's clock.
func (g *Gateway) Validate(now time.Time, lim Limits) error {
	c := &checker{now: now.UnixMicro(), lim: lim}
	c.id("request_id", g.RequestID)
	c.id("tenant", g.Tenant)
	for _, f := range [...]struct{ name, v string }{
		{"emitter", g.Emitter},
		{"provider", g.Provider},
		{"deployment", g.Deployment},
		{"model", g.Model},
		{"model_version", g.ModelVersion},
		{"route", g.Route},
		{"app", g.App},
		{"region", g.Region},
		{"cache_result", g.CacheResult},
		{"route_decision.policy", g.RouteDecision.Policy},
		{"route_decision.chosen", g.RouteDecision.Chosen},
		{"route_decision.reason", g.RouteDecision.Reason},
		{"error", g.ErrorType},
		{"response_id", g.ResponseID},
		{"reported.definition", g.Reported.Definition},
	} {
		c.str(f.name, f.v)
	}
	c.queryType(g.QueryType)
	c.instant("received_at", g.ReceivedAt)
	for _, f := range [...]struct {
		name string
		v    int64
	}{
		{"upstream_sent_at", g.UpstreamSentAt},
		{"first_byte_at", g.FirstByteAt},
		{"last_byte_at", g.LastByteAt},
		{"cancelled_at", g.CancelledAt},
		{"upstream_closed_at", g.UpstreamClosedAt},
	} {
		c.optInstant(f.name, f.v)
		c.notBefore(f.name, f.v, "received_at", g.ReceivedAt)
	}
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"queue_wait_us", g.QueueWaitUS},
		{"cache_lookup_us", g.CacheLookupUS},
		{"route_decision_us", g.RouteDecisionUS},
		{"overhead_us", g.OverheadUS},
		{"reported.ttft_us", g.Reported.TTFTUS},
		{"reported.e2e_us", g.Reported.E2EUS},
	} {
		c.offset(f.name, f.v, lim.MaxOffset)
	}
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"retries", g.Retries},
		{"fallbacks", g.Fallbacks},
		{"in_flight", g.InFlight},
		{"queue_depth", g.QueueDepth},
		{"prompt_tokens", g.PromptTokens},
		{"output_tokens", g.OutputTokens},
	} {
		c.count(f.name, f.v)
	}
	c.status("status", g.Status)
	c.notBefore("last_byte_at", g.LastByteAt, "first_byte_at", g.FirstByteAt)
	c.notBefore("upstream_closed_at", g.UpstreamClosedAt, "upstream_sent_at", g.UpstreamSentAt)
	c.list("route_decision.candidates", len(g.RouteDecision.Candidates))
	c.list("attempts", len(g.Attempts))
	c.attempts(g.Attempts)
	c.ids(g.TraceID, g.SpanID, g.Aliases)
	return c.err()
}

func (c *checker) attempts(all []Attempt) {
	seen := make(map[uint32]bool, len(all))
	served := ""
	for i := range all {
		if i >= c.lim.MaxAliases {
			break
		}
		a, at := &all[i], fmt.Sprintf("attempts[%d]", i)
		if a.Attempt == 0 || a.Attempt > 1000 {
			c.fail(at+".attempt", "is %d; want 1 to 1000", a.Attempt)
		} else if seen[a.Attempt] {
			c.fail(at+".attempt", "is %d a second time", a.Attempt)
		}
		seen[a.Attempt] = true
		c.optInstant(at+".start", a.Start)
		c.optInstant(at+".end", a.End)
		if a.Start != 0 && a.End != 0 && a.End < a.Start {
			c.fail(at+".end", "is %d µs before start", a.Start-a.End)
		}
		c.status(at+".status", a.Status)
		switch {
		case a.Served && served != "":
			c.fail(at+".served", "is true, as that of %s is; the user got one attempt", served)
		case a.Served:
			served = at
		}
		c.str(at+".deployment", a.Deployment)
		c.str(at+".provider", a.Provider)
		c.str(at+".model", a.Model)
		c.str(at+".error", a.ErrorType)
	}
}

// Validate checks the record against the limits. The page's own wall clock may be wrong by any amount, so
// its instants are only bounded in size; offsets are checked in full.
func (r *Client) Validate(now time.Time, lim Limits) error {
	c := &checker{now: now.UnixMicro(), lim: lim}
	if r.RequestID != "" {
		c.id("request_id", r.RequestID)
	}
	c.id("tenant", r.Tenant)
	for _, f := range [...]struct{ name, v string }{
		{"session_id", r.SessionID},
		{"page", r.Page},
		{"app", r.App},
		{"release", r.Release},
		{"browser", r.Browser},
		{"os", r.OS},
		{"device", r.Device},
		{"country", r.Country},
		{"content_kind", r.ContentKind},
		{"protocol", r.Protocol},
		{"paint_source", r.PaintSource},
		{"connection.type", r.ConnType},
		{"error", r.ErrorType},
		{"finish_reason", r.FinishReason},
		{"response_id", r.ResponseID},
	} {
		c.str(f.name, f.v)
	}
	if r.RequestID == "" && r.SessionID == "" {
		c.fail("session_id", "is missing; a record needs a session_id or a request_id")
	}
	c.queryType(r.QueryType)
	if w := r.SampleWeight; w != 0 && (math.IsNaN(w) || w < 1 || w > maxSampleWeight) {
		c.fail("sample_weight", "is %g; want 1 to %d", w, maxSampleWeight)
	}
	c.pageInstant("clock.time_origin", r.TimeOrigin)
	c.pageInstant("clock.wall_now", r.WallNow)
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"clock.now", r.ClockNow},
		{"submit_at", r.Submit},
		{"first_feedback_at", r.FirstFeedback},
		{"request_sent_at", r.RequestSent},
		{"headers_at", r.Headers},
		{"first_meaningful_paint_at", r.FirstPaint},
		{"aborted_at", r.Aborted},
		{"done_at", r.Done},
		{"closed_at", r.Closed},
	} {
		c.offset(f.name, f.v, lim.MaxPageAge)
	}
	c.chunks("recv", &r.Recv, lim.MaxPageAge)
	c.chunks("dom", &r.DOM, lim.MaxPageAge)
	c.chunks("paint", &r.Paint, lim.MaxPageAge)
	for _, f := range [...]struct {
		name string
		v    Opt[int64]
	}{
		{"connection.rtt", r.ConnRTTMS},
		{"connection.downlink", r.ConnDownlinkKb},
		{"reconnects", r.Reconnects},
		{"lost_beacons", r.LostBeacons},
		{"bytes_total", r.BytesTotal},
		{"attempt", r.Attempt},
	} {
		c.count(f.name, f.v)
	}
	const most = 4096
	lists := [...]struct {
		name string
		n    int
		at   func(int) int64
	}{
		{"visibility", len(r.Visibility), func(i int) int64 { return r.Visibility[i].T }},
		{"long_frames", len(r.LongFrames), func(i int) int64 { return r.LongFrames[i].T }},
		{"retractions", len(r.Retractions), func(i int) int64 { return r.Retractions[i].T }},
	}
	for _, l := range lists {
		if l.n > most {
			c.fail(l.name, "has %d entries, at most %d are allowed", l.n, most)
			continue
		}
		for i := range l.n {
			if t := l.at(i); t < 0 || t > lim.MaxPageAge.Microseconds() {
				c.fail(fmt.Sprintf("%s[%d]", l.name, i), "has the time %d; want 0 to %d", t, lim.MaxPageAge.Microseconds())
				break
			}
		}
	}
	c.ids(r.TraceID, "", r.Aliases)
	return c.err()
}
