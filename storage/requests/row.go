package requests

import (
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/table"
)

// Table is the requests table: joined requests as the joiner wrote them.
var Table = table.Of[Row]("requests")

// Row is one row of the requests table; its tags are the only list of the table's columns. It is what windows are asked
// about one request: scalars of the served attempt's server, its gateway and its page. Durations and offsets are in µs; an
// Opt is NULL and a string empty where nothing is known.
type Row struct {
	Tenant    string       `ch:"tenant" type:"LowCardinality(String)"`
	StartedAt table.Micros `ch:"started_at"`
	RequestID string       `ch:"request_id"`
	Version   uint64       `ch:"version" rank:"-"` // of the rows of one tenant, StartedAt and RequestID the greatest holds
	Gone      bool         `ch:"gone"`             // StartedAt moved: the request is elsewhere

	State        string `ch:"state" type:"LowCardinality(String)"`
	Provider     string `ch:"provider" type:"LowCardinality(String)"`
	Deployment   string `ch:"deployment" type:"LowCardinality(String)"`
	Model        string `ch:"model" type:"LowCardinality(String)"`
	ModelVersion string `ch:"model_version" type:"LowCardinality(String)"`
	Route        string `ch:"route" type:"LowCardinality(String)"`
	Region       string `ch:"region" type:"LowCardinality(String)"`
	App          string `ch:"app" type:"LowCardinality(String)"`
	QueryType    string `ch:"query_type" type:"LowCardinality(String)"`
	Page         string `ch:"page" type:"LowCardinality(String)"`
	Browser      string `ch:"browser" type:"LowCardinality(String)"`
	Country      string `ch:"country" type:"LowCardinality(String)"`
	FinishReason string `ch:"finish_reason" type:"LowCardinality(String)"`
	ErrorType    string `ch:"error_type" type:"LowCardinality(String)"`
	CacheHit     string `ch:"cache_hit" type:"LowCardinality(String)"`    // prefix cache of the engine
	CacheResult  string `ch:"cache_result" type:"LowCardinality(String)"` // response cache of the gateway

	ServedAttempt uint16 `ch:"served_attempt"` // 0: not known
	Attempts      uint16 `ch:"attempts"`
	HasServer     bool   `ch:"has_server"`
	HasGateway    bool   `ch:"has_gateway"`
	HasClient     bool   `ch:"has_client"`
	Synthetic     bool   `ch:"synthetic"`

	TTFBUS             table.Opt[uint64] `ch:"ttfb_us"`
	TTFTUS             table.Opt[uint64] `ch:"ttft_us"`
	TTFAUS             table.Opt[uint64] `ch:"ttfa_us"`
	EndUS              table.Opt[uint64] `ch:"end_us"`
	NChunks            table.Opt[uint32] `ch:"n_chunks"`
	NContent           table.Opt[uint32] `ch:"n_content"`
	Tokens             table.Opt[uint64] `ch:"tokens"`
	PromptTokens       table.Opt[uint32] `ch:"prompt_tokens"`
	MaxGapUS           table.Opt[uint64] `ch:"max_gap_us"`
	QueueWaitUS        table.Opt[uint64] `ch:"queue_wait_us"`
	CacheLookupUS      table.Opt[uint64] `ch:"cache_lookup_us"`
	RouteDecisionUS    table.Opt[uint64] `ch:"route_decision_us"`
	GatewayFirstByteUS table.Opt[int64]  `ch:"gateway_first_byte_us"`
	ClientTTFTUS       table.Opt[int64]  `ch:"client_ttft_us"`
	PerceivedTTFTUS    table.Opt[int64]  `ch:"perceived_ttft_us"`
	GapUS              table.Opt[int64]  `ch:"gap_us"`
	// Parts of GapUS, which add up to it.
	GapPageUS         table.Opt[int64] `ch:"gap_page_us"`
	GapUplinkUS       table.Opt[int64] `ch:"gap_uplink_us"`
	GapGatewayQueueUS table.Opt[int64] `ch:"gap_gateway_queue_us"`
	GapRetriesUS      table.Opt[int64] `ch:"gap_retries_us"`
	GapUpstreamUS     table.Opt[int64] `ch:"gap_upstream_us"`
	GapReasoningUS    table.Opt[int64] `ch:"gap_reasoning_us"`
	GapDownlinkUS     table.Opt[int64] `ch:"gap_downlink_us"`
	GapNetworkUS      table.Opt[int64] `ch:"gap_network_us"`
	GapDriftUS        table.Opt[int64] `ch:"gap_drift_us"`
	GapRenderUS       table.Opt[int64] `ch:"gap_render_us"`

	ClockOffsetUS      table.Opt[int64]  `ch:"clock_offset_us"`
	ClockUncertaintyUS table.Opt[uint64] `ch:"clock_uncertainty_us"`
}

// Row returns the request as the requests table keeps it, without its version.
func (r *Request) Row() Row {
	row := Row{
		Tenant: r.Tenant, StartedAt: table.Micros(r.startedAt()), RequestID: r.RequestID, State: string(r.State),
		Provider: or(r.Target.Provider), Deployment: or(r.Target.Deployment), Model: or(r.Target.Model), ModelVersion: or(r.Target.ModelVersion),
		Route: or(r.Route), Region: or(r.Region), App: or(r.App), QueryType: r.QueryType,
		Attempts:   uint16(min(len(r.Attempts), 1<<16-1)),
		HasGateway: r.Gateway != nil, HasClient: r.Client != nil,
		PerceivedTTFTUS: signed(r.Perceived.TTFTUS), GapUS: signed(r.Perceived.GapUS),
	}
	if r.ServedAttempt != nil {
		row.ServedAttempt = uint16(min(*r.ServedAttempt, 1<<16-1))
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		row.HasServer = row.HasServer || a.Server != nil
		if a.Served && a.Server != nil {
			row.served(a.Server)
		}
	}
	if g := r.Gateway; g != nil {
		row.CacheResult = or(g.CacheResult)
		row.QueueWaitUS, row.CacheLookupUS = unsigned[uint64](g.Phases.QueueWaitUS), unsigned[uint64](g.Phases.CacheLookupUS)
		row.RouteDecisionUS, row.GatewayFirstByteUS = unsigned[uint64](g.Phases.RouteDecisionUS), signed(g.FirstByteUS)
	}
	if c := r.Client; c != nil {
		row.Page, row.Browser, row.Country = or(c.Page), or(c.Browser), or(c.Country)
		if c.SubmitUS != nil {
			row.ClientTTFTUS = signed(c.TTFTUS)
		}
	}
	row.gap(r.Perceived.Parts)
	if r.Clock != nil {
		row.ClockOffsetUS, row.ClockUncertaintyUS = table.Some(r.Clock.OffsetUS), unsigned[uint64](&r.Clock.UncertaintyUS)
	}
	return row
}

// gap fills in the parts of the gap.
func (row *Row) gap(parts []GapPart) {
	if len(parts) == 0 {
		return
	}
	column := map[string]*table.Opt[int64]{
		PartPage:         &row.GapPageUS,
		PartUplink:       &row.GapUplinkUS,
		PartGatewayQueue: &row.GapGatewayQueueUS,
		PartRetries:      &row.GapRetriesUS,
		PartUpstream:     &row.GapUpstreamUS,
		PartReasoning:    &row.GapReasoningUS,
		PartDownlink:     &row.GapDownlinkUS,
		PartNetwork:      &row.GapNetworkUS,
		PartDrift:        &row.GapDriftUS,
		PartRender:       &row.GapRenderUS,
	}
	for _, p := range parts {
		*column[p.Part] = table.Some(p.US)
	}
}

// served fills in what the served attempt's server tells.
func (row *Row) served(s *Stream) {
	row.FinishReason, row.ErrorType, row.CacheHit, row.Synthetic = or(s.FinishReason), or(s.Error), or(s.Engine.CacheHit), s.Synthetic
	row.TTFBUS, row.TTFTUS, row.TTFAUS = unsigned[uint64](s.TTFBUS), unsigned[uint64](s.TTFTUS), unsigned[uint64](s.TTFAUS)
	row.EndUS, row.Tokens, row.MaxGapUS = unsigned[uint64](s.EndUS), unsigned[uint64](s.Tokens), unsigned[uint64](s.MaxGapUS)
	row.NChunks, row.NContent = table.Some(uint32(s.NChunks)), table.Some(uint32(s.NContent)) //nolint:gosec // bounded by Validate
	row.PromptTokens = unsigned[uint32](s.PromptTokens)
}

// Summary returns the row as a list shows it.
func (row *Row) Summary() Summary {
	s := Summary{
		RequestID: row.RequestID, Tenant: row.Tenant, StartedAt: int64(row.StartedAt), State: State(row.State),
		Target: target(wire.Target{Provider: row.Provider, Deployment: row.Deployment, Model: row.Model, ModelVersion: row.ModelVersion}),
		App:    text(row.App), QueryType: row.QueryType, Attempts: int(row.Attempts), FinishReason: text(row.FinishReason), Error: text(row.ErrorType),
		TTFTUS: pointer(row.TTFTUS), TTFAUS: pointer(row.TTFAUS), EndUS: pointer(row.EndUS), NChunks: pointer(row.NChunks), Tokens: pointer(row.Tokens),
		MaxGapUS: pointer(row.MaxGapUS), QueueWaitUS: pointer(row.QueueWaitUS), PerceivedTTFTUS: pointer(row.PerceivedTTFTUS), GapUS: pointer(row.GapUS),
		HasServer: row.HasServer, HasGateway: row.HasGateway, HasClient: row.HasClient,
	}
	if row.ServedAttempt > 0 {
		s.ServedAttempt = known(uint32(row.ServedAttempt))
	}
	return s
}

// Summary returns the request's scalars, as a list shows them.
func (r *Request) Summary() Summary {
	row := r.Row()
	return row.Summary()
}

// startedAt is the earliest stream of the server tier, else of the gateway tier, else the gateway's receipt of the request,
// else the page's submit event by the receiver's clock.
func (r *Request) startedAt() int64 {
	server, relay := int64(0), int64(0)
	earliest := func(at *int64, v int64) {
		if *at == 0 || v < *at {
			*at = v
		}
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.Server != nil {
			earliest(&server, a.Server.StartedAt)
		}
		if a.Gateway != nil && a.Gateway.Stream != nil {
			earliest(&relay, a.Gateway.Stream.StartedAt)
		}
		for j := range a.OtherStreams {
			o := &a.OtherStreams[j]
			if o.Tier == string(wire.TierServer) {
				earliest(&server, o.StartedAt)
			} else {
				earliest(&relay, o.StartedAt)
			}
		}
	}
	switch c := r.Client; {
	case server > 0:
		return server
	case relay > 0:
		return relay
	case r.Gateway != nil:
		return r.Gateway.StartedAt
	case c != nil:
		return c.BeganAt
	}
	return 0
}

func or(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func signed(p *int64) table.Opt[int64] {
	if p == nil {
		return table.Opt[int64]{}
	}
	return table.Some(*p)
}

// unsigned is for what is never negative, or else is not known.
func unsigned[T uint32 | uint64](p *int64) table.Opt[T] {
	if p == nil || *p < 0 {
		return table.Opt[T]{}
	}
	return table.Some(T(*p))
}

func pointer[T uint32 | uint64 | int64](o table.Opt[T]) *int64 {
	if !o.OK {
		return nil
	}
	return known(int64(o.V))
}

// Span returns the earliest and the latest instant at which a tier says that the request began or was told of, on the
// clocks of those tiers and the receiver's, µs since the Unix epoch.
func (r *Request) Span() (first, last int64) {
	first = r.startedAt()
	last = first
	add := func(at int64) { first, last = min(first, at), max(last, at) }
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.Server != nil {
			add(a.Server.StartedAt)
		}
		if a.Gateway != nil && a.Gateway.Stream != nil {
			add(a.Gateway.Stream.StartedAt)
		}
		for j := range a.OtherStreams {
			add(a.OtherStreams[j].StartedAt)
		}
	}
	if r.Gateway != nil {
		add(r.Gateway.StartedAt)
	}
	if c := r.Client; c != nil {
		add(c.ArrivedAt)
		add(c.BeganAt)
	}
	return first, last
}
