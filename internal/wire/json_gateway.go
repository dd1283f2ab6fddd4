package wire

// gatewayDraft is a gateway's record while it is read, with the stream it may carry.
type gatewayDraft struct {
	*Gateway
	s                              Stream // only what a gateway's body says about its stream
	ch                             chunkDraft
	haveSeq, haveFinal, haveChunks bool
}

var routeTable = newJSONTable([]jsonField[RouteDecision]{
	strField("policy", func(r *RouteDecision) *string { return &r.Policy }),
	strsField("candidates", func(r *RouteDecision) *[]string { return &r.Candidates }),
	strField("chosen", func(r *RouteDecision) *string { return &r.Chosen }),
	strField("reason", func(r *RouteDecision) *string { return &r.Reason }),
})

var attemptTable = newJSONTable([]jsonField[Attempt]{
	smallField("attempt", 0, func(a *Attempt) *uint32 { return &a.Attempt }),
	strField("deployment", func(a *Attempt) *string { return &a.Deployment }),
	strField("provider", func(a *Attempt) *string { return &a.Provider }),
	strField("model", func(a *Attempt) *string { return &a.Model }),
	intField("start", wantInstant, func(a *Attempt) *int64 { return &a.Start }),
	intField("end", wantInstant, func(a *Attempt) *int64 { return &a.End }),
	smallField("status", 0, func(a *Attempt) *int32 { return &a.Status }),
	classField("error", func(a *Attempt) *string { return &a.ErrorType }),
	boolField("served", func(a *Attempt) *bool { return &a.Served }),
})

// maxListed bounds the attempts that are read; Validate allows fewer.
const maxListed = 4096

var emitterField = strField("emitter", func(g *gatewayDraft) *string { return &g.Emitter })

var gatewayTable = newJSONTable(
	[]jsonField[gatewayDraft]{
		strField("request_id", func(g *gatewayDraft) *string { return &g.RequestID }),
		strField("tenant", func(g *gatewayDraft) *string { return &g.Tenant }),
		emitterField,
		alias("gateway", emitterField),
	},
	targetFields(func(g *gatewayDraft) *Target { return &g.Target }),
	[]jsonField[gatewayDraft]{
		strField("route", func(g *gatewayDraft) *string { return &g.Route }),
		strField("app", func(g *gatewayDraft) *string { return &g.App }),
		strField("region", func(g *gatewayDraft) *string { return &g.Region }),
		strField("query_type", func(g *gatewayDraft) *string { return &g.QueryType }),
		intField("received_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.ReceivedAt }),
		intField("upstream_sent_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.UpstreamSentAt }),
		intField("first_byte_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.FirstByteAt }),
		intField("last_byte_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.LastByteAt }),
		intField("cancelled_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.CancelledAt }),
		intField("upstream_closed_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.UpstreamClosedAt }),
		optField("queue_wait_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.QueueWaitUS }),
		optField("cache_lookup_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.CacheLookupUS }),
		strField("cache_result", func(g *gatewayDraft) *string { return &g.CacheResult }),
		objField("route_decision", routeTable, func(g *gatewayDraft) *RouteDecision { return &g.RouteDecision }),
		optField("route_decision_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.RouteDecisionUS }),
		optField("overhead_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.OverheadUS }),
		optField("retries", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.Retries }),
		optField("fallbacks", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.Fallbacks }),
		optField("priority", wantInt, func(g *gatewayDraft) *Opt[int64] { return &g.Priority }),
		optField("in_flight", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.InFlight }),
		optField("queue_depth", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.QueueDepth }),
		smallField("status", 0, func(g *gatewayDraft) *int32 { return &g.Status }),
		classField("error", func(g *gatewayDraft) *string { return &g.ErrorType }),
		listField("attempts", maxListed, attemptTable,
			func(i int) Attempt { return Attempt{Attempt: uint32(i) + 1} },
			func(g *gatewayDraft) *[]Attempt { return &g.Attempts }),
		objField("reported", reportedTable, func(g *gatewayDraft) *Reported { return &g.Reported }),
		optField("prompt_tokens", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.PromptTokens }),
		optField("output_tokens", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.OutputTokens }),
		strField("response_id", func(g *gatewayDraft) *string { return &g.ResponseID }),
		hexField("trace_id", func(g *gatewayDraft) *string { return &g.TraceID }),
		hexField("span_id", func(g *gatewayDraft) *string { return &g.SpanID }),
		strsField("aliases", func(g *gatewayDraft) *[]string { return &g.Aliases }),
	},
	readOnly([]jsonField[gatewayDraft]{
		// The gateway's own stream, for gateways that see each chunk.
		smallField("attempt", 1, func(g *gatewayDraft) *uint32 { return &g.s.Attempt }),
		seqField(func(g *gatewayDraft) (*uint32, *bool) { return &g.s.Seq, &g.haveSeq }),
		finalField(func(g *gatewayDraft) (bool, *bool, *bool) { return g.s.Seq != 0, &g.s.Final, &g.haveFinal }),
		intField("started_at", wantInstant, func(g *gatewayDraft) *int64 { return &g.s.StartedAt }),
		optField("headers_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.s.HeadersUS }),
		optField("end_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.s.EndUS }),
		optField("observed_us", wantUS, func(g *gatewayDraft) *Opt[int64] { return &g.s.ObservedUS }),
		optField("lost_chunks", wantCount, func(g *gatewayDraft) *Opt[int64] { return &g.s.LostChunks }),
		strField("finish_reason", func(g *gatewayDraft) *string { return &g.s.FinishReason }),
		{name: "chunks", set: func(d *jsonDecoder, g *gatewayDraft) error {
			g.haveChunks = true
			return streamChunkTable.read(d, &g.ch)
		}},
		onChunks(textField, func(g *gatewayDraft) *chunkDraft { return &g.ch }),
	}),
)

// readOnly makes fields that a record of the table's own type never writes.
func readOnly[T any](fields []jsonField[T]) []jsonField[T] {
	for i := range fields {
		fields[i].add = nil
	}
	return fields
}

// AppendGatewayJSON appends g as a body of POST /v1/gateway.
func AppendGatewayJSON(dst []byte, g *Gateway) []byte {
	return gatewayTable.write(dst, &gatewayDraft{Gateway: g})
}

// EachGateway reads the body of POST /v1/gateway and calls yield for each item with the record and, when
// the body carries chunks, the gateway's stream; or with what is wrong with the item. Records and error are
// valid during the call only.
func EachGateway(body []byte, opt DecodeOptions, yield func(index int, g *Gateway, s *Stream, err *ItemError)) DecodeStats {
	d := &jsonDecoder{jsonReader: jsonReader{b: body}, opt: opt}
	var rec Gateway
	draft := gatewayDraft{Gateway: &rec}
	item := func() error {
		index, start := d.stats.Items, d.i
		rec = Gateway{Tenant: DefaultTenant}
		draft.s = Stream{Attempt: 1, Chunks: draft.s.Chunks}
		draft.ch.reset(&draft.s.Chunks)
		draft.haveSeq, draft.haveFinal, draft.haveChunks = false, false, false
		if err := gatewayTable.read(d, &draft); err != nil {
			return err
		}
		if rec.Tenant == "" {
			rec.Tenant = DefaultTenant
		}
		d.finishChunks(&draft.ch)
		s := draft.stream()
		d.stats.Items++
		problem := d.checked(start, rec.Validate)
		if problem == nil { // also without chunks: what is said about the stream must be right
			problem = d.checked(start, s.Validate)
		}
		if !draft.haveChunks {
			s = nil
		}
		if e := refused(index, rec.RequestID, problem); e != nil {
			yield(index, nil, nil, e)
			return nil
		}
		yield(index, &rec, s, nil)
		return nil
	}
	d.items(item, func(err error, inItem bool) {
		e := &ItemError{Index: d.stats.Items, Err: err}
		if inItem {
			e.RequestID = goodID(rec.RequestID)
		}
		yield(e.Index, nil, nil, e)
		d.stats.Items++
	})
	return d.stats
}

// stream makes the gateway's stream out of its record.
func (g *gatewayDraft) stream() *Stream {
	s := &g.s
	s.RequestID, s.Tenant, s.Tier, s.Emitter = g.RequestID, g.Tenant, TierGateway, g.Emitter
	s.Target, s.Route, s.App, s.Region, s.QueryType = g.Target, g.Route, g.App, g.Region, g.QueryType
	s.PromptTokens, s.OutputTokens = g.PromptTokens, g.OutputTokens
	s.ErrorType, s.Status = g.ErrorType, g.Status
	s.ResponseID, s.TraceID, s.SpanID, s.Aliases = g.ResponseID, g.TraceID, g.SpanID, g.Aliases
	for i := range g.Attempts {
		if a := &g.Attempts[i]; a.Attempt == s.Attempt && s.Target == (Target{}) {
			s.Target = Target{Provider: a.Provider, Deployment: a.Deployment, Model: a.Model}
		}
	}
	if s.StartedAt == 0 {
		s.StartedAt = g.ReceivedAt
	}
	if !g.haveSeq && !g.haveFinal {
		s.Final = true
	}
	n := s.Chunks.Len()
	if end := g.LastByteAt - s.StartedAt; !s.EndUS.OK && s.Final && g.LastByteAt > 0 && end >= 0 &&
		(n == 0 || end >= s.Chunks.T[n-1]) {
		s.EndUS = Some(end)
	}
	return s
}

// DecodeGateways reads the body of POST /v1/gateway: the good items in their order, the streams that some
// of them carry, and what is wrong with the others.
func DecodeGateways(body []byte, opt DecodeOptions) (items []Gateway, streams []Stream, errs []ItemError) {
	EachGateway(body, opt, func(_ int, g *Gateway, s *Stream, err *ItemError) {
		if err != nil {
			errs = append(errs, *err)
			return
		}
		items = append(items, *g)
		if s != nil {
			c := *s
			c.Chunks = s.Chunks.clone()
			streams = append(streams, c)
		}
	})
	return items, streams, errs
}
