package streamlog

import (
	"encoding/json"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/otlpwire"
	"github.com/fermata-io/fermata/internal/wire"
)

// Event names of the log records.
const (
	EventStream  = "fermata.stream"
	EventGateway = "fermata.gateway"
	EventClient  = "fermata.client"
	EventFinding = "fermata.finding"
)

// Keys that other code needs by name.
const (
	KeyTenant    = "fermata.tenant"
	KeyRequestID = "fermata.request_id"
	KeyText      = "fermata.chunks.text"
	KeyHashes    = "fermata.chunks.hashes"
	KeyOffsets   = "fermata.chunks.dt"
	KeySeq       = "fermata.seq"
	KeyFinal     = "fermata.final" // written true or false; a foreign record with neither this nor KeySeq is whole
)

func target[T any](at func(*T) *wire.Target) []field[T] {
	return []field[T]{
		str("gen_ai.provider.name", func(r *T) *string { return &at(r).Provider }),
		str("fermata.deployment", func(r *T) *string { return &at(r).Deployment }),
		str("gen_ai.request.model", func(r *T) *string { return &at(r).Model }),
		str("fermata.model_version", func(r *T) *string { return &at(r).ModelVersion }),
	}
}

func reported[T any](at func(*T) *wire.Reported) []field[T] {
	return []field[T]{
		str("fermata.reported.definition", func(r *T) *string { return &at(r).Definition }),
		opt("fermata.reported.ttft_us", func(r *T) *wire.Opt[int64] { return &at(r).TTFTUS }),
		opt("fermata.reported.ttfa_us", func(r *T) *wire.Opt[int64] { return &at(r).TTFAUS }),
		opt("fermata.reported.itl_mean_us", func(r *T) *wire.Opt[int64] { return &at(r).ITLMeanUS }),
		opt("fermata.reported.tpot_us", func(r *T) *wire.Opt[int64] { return &at(r).TPOTUS }),
		opt("fermata.reported.e2e_us", func(r *T) *wire.Opt[int64] { return &at(r).E2EUS }),
	}
}

func chunks[T any](prefix string, at func(*T) *wire.Chunks) []field[T] {
	t := func(r *T) *[]int64 { return &at(r).T }
	abs := packed(prefix+".t", t, PackOffsets, UnpackOffsets, sliceOffsets(false))
	abs.put = nil // read only: the delta form is what is written
	return []field[T]{
		abs,
		packed(prefix+".dt", t, PackOffsets, UnpackOffsets, sliceOffsets(true)),
		packed(prefix+".bytes", func(r *T) *[]uint32 { return &at(r).Bytes }, PackUints, UnpackUints, sliceUints),
		packed(prefix+".tokens", func(r *T) *[]uint32 { return &at(r).Tokens }, PackUints, UnpackUints, sliceUints),
		packed(prefix+".kind", func(r *T) *[]wire.Kind { return &at(r).Kind }, PackKinds, UnpackKinds, sliceKinds),
		packed(prefix+".choice", func(r *T) *[]uint16 { return &at(r).Choice }, PackChoices, UnpackChoices, nil),
		packed(prefix+".logprob", func(r *T) *[]float32 { return &at(r).Logprob }, packFloats, unpackFloats, nil),
		strs(prefix+".text", func(r *T) *[]string { return &at(r).Text }),
		strs(prefix+".hashes", func(r *T) *[]string { return &at(r).Hashes }),
	}
}

func sliceOffsets(delta bool) func(*value) ([]int64, error) {
	return func(s *value) ([]int64, error) {
		out := make([]int64, 0, s.len())
		sum := int64(0)
		err := s.each(func(i int, v *value) error {
			if err := v.want(pcommon.ValueTypeInt); err != nil {
				return fmt.Errorf("entry %d %w", i, err)
			}
			if delta {
				sum += v.int()
			} else {
				sum = v.int()
			}
			out = append(out, sum)
			return nil
		})
		return out, err
	}
}

func sliceUints(s *value) ([]uint32, error) {
	out := make([]uint32, 0, s.len())
	err := s.each(func(i int, v *value) error {
		if err := v.want(pcommon.ValueTypeInt); err != nil {
			return fmt.Errorf("entry %d %w", i, err)
		}
		if v.int() < 0 || v.int() > math.MaxUint32 {
			return fmt.Errorf("entry %d is out of range (%d)", i, v.int())
		}
		out = append(out, uint32(v.int())) //nolint:gosec // bounded above
		return nil
	})
	return out, err
}

func sliceKinds(s *value) ([]wire.Kind, error) {
	out := make([]wire.Kind, 0, s.len())
	err := s.each(func(i int, v *value) error {
		k, ok := wire.ParseKind(v.str)
		if !ok || v.typ != pcommon.ValueTypeStr {
			return fmt.Errorf("entry %d is not a kind of chunk", i)
		}
		out = append(out, k)
		return nil
	})
	return out, err
}

// jsonField carries a short list of structs as a JSON string.
func jsonField[T, E any](key string, at func(*T) *[]E) field[T] {
	return field[T]{
		key: key,
		put: func(key string, r *T, m *attributes) {
			if l := *at(r); len(l) > 0 {
				b, _ := json.Marshal(l) // plain structs of strings and numbers: can't fail
				m.AppendEmpty(key).SetStr(string(b))
			}
		},
		set: func(r *T, v *value, most int) error {
			if err := v.want(pcommon.ValueTypeStr); err != nil {
				return err
			}
			var l []E
			if err := json.Unmarshal([]byte(v.str), &l); err != nil {
				return fmt.Errorf("is not JSON of the expected form: %w", err)
			}
			if len(l) > most {
				return ErrTooMany
			}
			*at(r) = l
			return nil
		},
	}
}

func concat[T any](parts ...[]field[T]) []field[T] {
	var out []field[T]
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

type (
	stream  = wire.Stream
	gateway = wire.Gateway
	client  = wire.Client
	finding = wire.Finding
)

var streamTable = newTable(concat([]field[stream]{
	str(KeyRequestID, func(s *stream) *string { return &s.RequestID }),
	str(KeyTenant, func(s *stream) *string { return &s.Tenant }),
	str("fermata.tier", func(s *stream) *wire.Tier { return &s.Tier }),
	num("fermata.attempt", func(s *stream) *uint32 { return &s.Attempt }),
	str("fermata.emitter", func(s *stream) *string { return &s.Emitter }),
	num(KeySeq, func(s *stream) *uint32 { return &s.Seq }),
	boolean(KeyFinal, func(s *stream) *bool { return &s.Final }),
	str("fermata.route", func(s *stream) *string { return &s.Route }),
	str("fermata.app", func(s *stream) *string { return &s.App }),
	str("cloud.region", func(s *stream) *string { return &s.Region }),
	str("fermata.query_type", func(s *stream) *string { return &s.QueryType }),
	opt("gen_ai.usage.input_tokens", func(s *stream) *wire.Opt[int64] { return &s.PromptTokens }),
	opt("gen_ai.usage.output_tokens", func(s *stream) *wire.Opt[int64] { return &s.OutputTokens }),
	opt("gen_ai.usage.reasoning.output_tokens", func(s *stream) *wire.Opt[int64] { return &s.ReasoningTokens }),
	opt("gen_ai.usage.cache_read.input_tokens", func(s *stream) *wire.Opt[int64] { return &s.CachedTokens }),
	str("fermata.cache_hit", func(s *stream) *string { return &s.CacheHit }),
	str("fermata.cache_level", func(s *stream) *string { return &s.CacheLevel }),
	str("fermata.cache_key_version", func(s *stream) *string { return &s.CacheKeyVersion }),
	opt("fermata.chunk_size", func(s *stream) *wire.Opt[int64] { return &s.ChunkSize }),
	opt("fermata.max_num_batched_tokens", func(s *stream) *wire.Opt[int64] { return &s.MaxNumBatchedTokens }),
	opt("fermata.speculative.draft", func(s *stream) *wire.Opt[int64] { return &s.SpecDraft }),
	opt("fermata.speculative.accepted", func(s *stream) *wire.Opt[int64] { return &s.SpecAccepted }),
	opt("fermata.batch_size", func(s *stream) *wire.Opt[int64] { return &s.BatchSize }),
	opt("fermata.queue_us", func(s *stream) *wire.Opt[int64] { return &s.QueueUS }),
	opt("fermata.prefill_us", func(s *stream) *wire.Opt[int64] { return &s.PrefillUS }),
	opt("fermata.decode_us", func(s *stream) *wire.Opt[int64] { return &s.DecodeUS }),
	num("fermata.started_at", func(s *stream) *int64 { return &s.StartedAt }),
	flag("fermata.start_unknown", func(s *stream) *bool { return &s.StartUnknown }),
	opt("fermata.headers_us", func(s *stream) *wire.Opt[int64] { return &s.HeadersUS }),
	opt("fermata.end_us", func(s *stream) *wire.Opt[int64] { return &s.EndUS }),
	opt("fermata.observed_us", func(s *stream) *wire.Opt[int64] { return &s.ObservedUS }),
	opt("fermata.lost_chunks", func(s *stream) *wire.Opt[int64] { return &s.LostChunks }),
	flag("fermata.synthetic", func(s *stream) *bool { return &s.Synthetic }),
	str("gen_ai.response.finish_reason", func(s *stream) *string { return &s.FinishReason }),
	str("fermata.stop_reason", func(s *stream) *string { return &s.StopReason }),
	str("error.type", func(s *stream) *string { return &s.ErrorType }),
	num("http.response.status_code", func(s *stream) *int32 { return &s.Status }),
	str("gen_ai.response.id", func(s *stream) *string { return &s.ResponseID }),
	str("fermata.trace_id", func(s *stream) *string { return &s.TraceID }),
	str("fermata.span_id", func(s *stream) *string { return &s.SpanID }),
	strs("fermata.aliases", func(s *stream) *[]string { return &s.Aliases }),
},
	target(func(s *stream) *wire.Target { return &s.Target }),
	reported(func(s *stream) *wire.Reported { return &s.Reported }),
	chunks("fermata.chunks", func(s *stream) *wire.Chunks { return &s.Chunks }),
)...)

var gatewayTable = newTable(concat([]field[gateway]{
	str(KeyRequestID, func(g *gateway) *string { return &g.RequestID }),
	str(KeyTenant, func(g *gateway) *string { return &g.Tenant }),
	str("fermata.emitter", func(g *gateway) *string { return &g.Emitter }),
	str("fermata.route", func(g *gateway) *string { return &g.Route }),
	str("fermata.app", func(g *gateway) *string { return &g.App }),
	str("cloud.region", func(g *gateway) *string { return &g.Region }),
	str("fermata.query_type", func(g *gateway) *string { return &g.QueryType }),
	num("fermata.received_at", func(g *gateway) *int64 { return &g.ReceivedAt }),
	num("fermata.upstream_sent_at", func(g *gateway) *int64 { return &g.UpstreamSentAt }),
	num("fermata.first_byte_at", func(g *gateway) *int64 { return &g.FirstByteAt }),
	num("fermata.last_byte_at", func(g *gateway) *int64 { return &g.LastByteAt }),
	num("fermata.cancelled_at", func(g *gateway) *int64 { return &g.CancelledAt }),
	num("fermata.upstream_closed_at", func(g *gateway) *int64 { return &g.UpstreamClosedAt }),
	opt("fermata.queue_wait_us", func(g *gateway) *wire.Opt[int64] { return &g.QueueWaitUS }),
	opt("fermata.cache_lookup_us", func(g *gateway) *wire.Opt[int64] { return &g.CacheLookupUS }),
	str("fermata.cache_result", func(g *gateway) *string { return &g.CacheResult }),
	opt("fermata.route_decision_us", func(g *gateway) *wire.Opt[int64] { return &g.RouteDecisionUS }),
	opt("fermata.overhead_us", func(g *gateway) *wire.Opt[int64] { return &g.OverheadUS }),
	str("fermata.route_decision.policy", func(g *gateway) *string { return &g.RouteDecision.Policy }),
	strs("fermata.route_decision.candidates", func(g *gateway) *[]string { return &g.RouteDecision.Candidates }),
	str("fermata.route_decision.chosen", func(g *gateway) *string { return &g.RouteDecision.Chosen }),
	str("fermata.route_decision.reason", func(g *gateway) *string { return &g.RouteDecision.Reason }),
	opt("fermata.retries", func(g *gateway) *wire.Opt[int64] { return &g.Retries }),
	opt("fermata.fallbacks", func(g *gateway) *wire.Opt[int64] { return &g.Fallbacks }),
	opt("fermata.priority", func(g *gateway) *wire.Opt[int64] { return &g.Priority }),
	opt("fermata.in_flight", func(g *gateway) *wire.Opt[int64] { return &g.InFlight }),
	opt("fermata.queue_depth", func(g *gateway) *wire.Opt[int64] { return &g.QueueDepth }),
	num("http.response.status_code", func(g *gateway) *int32 { return &g.Status }),
	str("error.type", func(g *gateway) *string { return &g.ErrorType }),
	jsonField("fermata.attempts", func(g *gateway) *[]wire.Attempt { return &g.Attempts }),
	opt("gen_ai.usage.input_tokens", func(g *gateway) *wire.Opt[int64] { return &g.PromptTokens }),
	opt("gen_ai.usage.output_tokens", func(g *gateway) *wire.Opt[int64] { return &g.OutputTokens }),
	str("gen_ai.response.id", func(g *gateway) *string { return &g.ResponseID }),
	str("fermata.trace_id", func(g *gateway) *string { return &g.TraceID }),
	str("fermata.span_id", func(g *gateway) *string { return &g.SpanID }),
	strs("fermata.aliases", func(g *gateway) *[]string { return &g.Aliases }),
},
	target(func(g *gateway) *wire.Target { return &g.Target }),
	reported(func(g *gateway) *wire.Reported { return &g.Reported }),
)...)

var clientTable = newTable(concat([]field[client]{
	str(KeyRequestID, func(c *client) *string { return &c.RequestID }),
	str(KeyTenant, func(c *client) *string { return &c.Tenant }),
	str("session.id", func(c *client) *string { return &c.SessionID }),
	num("fermata.seq", func(c *client) *uint32 { return &c.Seq }),
	num("fermata.beacon_seq", func(c *client) *uint32 { return &c.BeaconSeq }),
	flag("fermata.final", func(c *client) *bool { return &c.Final }),
	opt("fermata.attempt", func(c *client) *wire.Opt[int64] { return &c.Attempt }),
	str("fermata.page", func(c *client) *string { return &c.Page }),
	str("fermata.app", func(c *client) *string { return &c.App }),
	str("service.version", func(c *client) *string { return &c.Release }),
	str("browser.name", func(c *client) *string { return &c.Browser }),
	str("os.name", func(c *client) *string { return &c.OS }),
	str("device.type", func(c *client) *string { return &c.Device }),
	str("geo.country.iso_code", func(c *client) *string { return &c.Country }),
	str("fermata.query_type", func(c *client) *string { return &c.QueryType }),
	str("fermata.content_kind", func(c *client) *string { return &c.ContentKind }),
	str("fermata.protocol", func(c *client) *string { return &c.Protocol }),
	str("fermata.paint_source", func(c *client) *string { return &c.PaintSource }),
	opt("fermata.connection.rtt_ms", func(c *client) *wire.Opt[int64] { return &c.ConnRTTMS }),
	str("fermata.connection.type", func(c *client) *string { return &c.ConnType }),
	opt("fermata.connection.downlink_kbit", func(c *client) *wire.Opt[int64] { return &c.ConnDownlinkKb }),
	num("fermata.clock.time_origin", func(c *client) *int64 { return &c.TimeOrigin }),
	opt("fermata.clock.now_us", func(c *client) *wire.Opt[int64] { return &c.ClockNow }),
	num("fermata.clock.wall_now", func(c *client) *int64 { return &c.WallNow }),
	num("fermata.received_at", func(c *client) *int64 { return &c.ReceivedAt }),
	opt("fermata.submit_us", func(c *client) *wire.Opt[int64] { return &c.Submit }),
	opt("fermata.first_feedback_us", func(c *client) *wire.Opt[int64] { return &c.FirstFeedback }),
	opt("fermata.request_sent_us", func(c *client) *wire.Opt[int64] { return &c.RequestSent }),
	opt("fermata.headers_us", func(c *client) *wire.Opt[int64] { return &c.Headers }),
	opt("fermata.first_meaningful_paint_us", func(c *client) *wire.Opt[int64] { return &c.FirstPaint }),
	opt("fermata.aborted_us", func(c *client) *wire.Opt[int64] { return &c.Aborted }),
	opt("fermata.done_us", func(c *client) *wire.Opt[int64] { return &c.Done }),
	opt("fermata.closed_us", func(c *client) *wire.Opt[int64] { return &c.Closed }),
	str("error.type", func(c *client) *string { return &c.ErrorType }),
	str("gen_ai.response.finish_reason", func(c *client) *string { return &c.FinishReason }),
	jsonField("fermata.visibility", func(c *client) *[]wire.VisibilityChange { return &c.Visibility }),
	jsonField("fermata.long_frames", func(c *client) *[]wire.LongFrame { return &c.LongFrames }),
	jsonField("fermata.retractions", func(c *client) *[]wire.Retraction { return &c.Retractions }),
	opt("fermata.reconnects", func(c *client) *wire.Opt[int64] { return &c.Reconnects }),
	opt("fermata.lost_beacons", func(c *client) *wire.Opt[int64] { return &c.LostBeacons }),
	opt("fermata.bytes_total", func(c *client) *wire.Opt[int64] { return &c.BytesTotal }),
	double("fermata.sample_weight", func(c *client) *float64 { return &c.SampleWeight }),
	str("gen_ai.response.id", func(c *client) *string { return &c.ResponseID }),
	str("fermata.trace_id", func(c *client) *string { return &c.TraceID }),
	strs("fermata.aliases", func(c *client) *[]string { return &c.Aliases }),
},
	chunks("fermata.recv", func(c *client) *wire.Chunks { return &c.Recv }),
	chunks("fermata.dom", func(c *client) *wire.Chunks { return &c.DOM }),
	chunks("fermata.paint", func(c *client) *wire.Chunks { return &c.Paint }),
)...)

var findingTable = newTable(concat([]field[finding]{
	str("fermata.finding.id", func(f *finding) *string { return &f.ID }),
	str("fermata.finding.kind", func(f *finding) *wire.FindingKind { return &f.Kind }),
	str("fermata.finding.grade", func(f *finding) *string { return &f.Grade }),
	str(KeyTenant, func(f *finding) *string { return &f.Tenant }),
	str(KeyRequestID, func(f *finding) *string { return &f.RequestID }),
	str("fermata.tier", func(f *finding) *wire.Tier { return &f.Tier }),
	num("fermata.attempt", func(f *finding) *uint32 { return &f.Attempt }),
	str("fermata.emitter", func(f *finding) *string { return &f.Emitter }),
	num("fermata.started_at", func(f *finding) *int64 { return &f.StartedAt }),
	str("fermata.finding.channel", func(f *finding) *string { return &f.Channel }),
	opt("fermata.finding.chunk", func(f *finding) *wire.Opt[int64] { return &f.Chunk }),
	num("fermata.finding.start_us", func(f *finding) *int64 { return &f.StartUS }),
	num("fermata.finding.duration_us", func(f *finding) *int64 { return &f.DurationUS }),
	flag("fermata.finding.open", func(f *finding) *bool { return &f.Open }),
	str("fermata.finding.severity", func(f *finding) *string { return &f.Severity }),
	str("fermata.finding.attribution", func(f *finding) *string { return &f.Attribution }),
	double("fermata.finding.confidence", func(f *finding) *float64 { return &f.Confidence }),
	rawJSON("fermata.finding.evidence", func(f *finding) *json.RawMessage { return &f.Evidence }),
	flag("fermata.finding.withdrawn", func(f *finding) *bool { return &f.Withdrawn }),
	num("fermata.finding.revision", func(f *finding) *int64 { return &f.Revision }),
	str("fermata.query_type", func(f *finding) *string { return &f.QueryType }),
},
	target(func(f *finding) *wire.Target { return &f.Target }),
)...)

// PutFinding writes f into an empty log record.
func PutFinding(lr plog.LogRecord, f *wire.Finding) {
	put(lr, EventFinding, f.StartedAt, findingTable, f, 20)
}

// Finding reads a record whose event name is EventFinding.
func Finding(lr plog.LogRecord) (wire.Finding, error) {
	f := wire.Finding{Tenant: wire.DefaultTenant}
	err := findingTable.read(&f, lr.Attributes(), 0)
	return f, err
}

// PutStream writes s into an empty log record.
func PutStream(lr plog.LogRecord, s *wire.Stream) {
	put(lr, EventStream, s.StartedAt, streamTable, s, 18)
}

// PutGateway writes g into an empty log record.
func PutGateway(lr plog.LogRecord, g *wire.Gateway) {
	put(lr, EventGateway, g.ReceivedAt, gatewayTable, g, 18)
}

// PutClient writes c into an empty log record.
func PutClient(lr plog.LogRecord, c *wire.Client) {
	put(lr, EventClient, c.ReceivedAt, clientTable, c, 36)
}

// put writes a record; usual is how many attributes one usually has.
func put[T any](lr plog.LogRecord, event string, at int64, t *table[T], r *T, usual int) {
	lr.SetEventName(event)
	if at > 0 && at < math.MaxInt64/1000 {
		lr.SetTimestamp(pcommon.Timestamp(at * 1000))
	}
	var m attributes
	m.EnsureCapacity(usual)
	t.write(r, &m)
	m.UnsafeIntoMap(lr.Attributes())
}

// Stream reads a record whose event name is EventStream. Arrays longer than maxChunks are refused. It does
// not validate.
func Stream(lr plog.LogRecord, maxChunks int) (wire.Stream, error) {
	var s wire.Stream
	err := ReadStream(lr, &s, maxChunks)
	return s, err
}

// ReadStream does what Stream does, with the room of s's arrays used again. What s held before is gone.
func ReadStream(lr plog.LogRecord, s *wire.Stream, maxChunks int) error {
	emptyStream(s)
	return streamTable.read(s, lr.Attributes(), maxChunks)
}

// emptyStream sets what a record has that says nothing, and keeps the room of s's arrays.
func emptyStream(s *wire.Stream) {
	c := &s.Chunks
	*s = wire.Stream{
		Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1,
		Chunks: wire.Chunks{
			T: c.T[:0], Kind: c.Kind[:0], Bytes: c.Bytes[:0], Tokens: c.Tokens[:0], Choice: c.Choice[:0], Logprob: c.Logprob[:0],
		},
	}
}

// Gateway reads a record whose event name is EventGateway.
func Gateway(lr plog.LogRecord, most int) (wire.Gateway, error) {
	g := wire.Gateway{Tenant: wire.DefaultTenant}
	err := gatewayTable.read(&g, lr.Attributes(), most)
	return g, err
}

// Client reads a record whose event name is EventClient.
func Client(lr plog.LogRecord, maxChunks int) (wire.Client, error) {
	c := wire.Client{Tenant: wire.DefaultTenant}
	err := clientTable.read(&c, lr.Attributes(), maxChunks)
	return c, err
}

// View reads a record straight from the bytes of a request, whose attributes it is given.
type View struct {
	Attrs   otlpwire.Attrs
	Most    int // entries of an array
	Strings Strings
}

// Stream does what ReadStream does.
func (v View) Stream(s *wire.Stream) error {
	emptyStream(s)
	return streamTable.view(s, v)
}

// Gateway does what the function Gateway does.
func (v View) Gateway() (g wire.Gateway, err error) {
	g.Tenant = wire.DefaultTenant
	err = gatewayTable.view(&g, v)
	return g, err
}

// Client does what the function Client does.
func (v View) Client() (c wire.Client, err error) {
	c.Tenant = wire.DefaultTenant
	err = clientTable.view(&c, v)
	return c, err
}

// Finding does what the function Finding does.
func (v View) Finding() (f wire.Finding, err error) {
	f.Tenant = wire.DefaultTenant
	err = findingTable.view(&f, v)
	return f, err
}
