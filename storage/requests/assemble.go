package requests

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/clocks"
)

// Records are the deliveries that belong to one request, in any order and any number.
type Records struct {
	Streams  []wire.Stream
	Gateways []wire.Gateway
	Clients  []wire.Client
	// Session is what other requests of the page's session say of its clock, one row for each request and process. It may
	// hold more than belongs to it; rows of the request itself are not looked at.
	Session []clocks.Row
}

// Empty reports whether there is no record.
func (r *Records) Empty() bool { return len(r.Streams)+len(r.Gateways)+len(r.Clients) == 0 }

// Assemble joins the records of one request. It is the only place where the join is decided, a pure function
// of the set of records: neither their order nor how often one was delivered changes a byte of the answer.
//
// id is the request's id; a record under another id is one that an engine logged under its own (the response
// id of an attempt), and goes to that attempt.
func Assemble(tenant, id string, rec Records) *Request {
	a := assembly{id: id, gateways: orderGateways(dedupeGateways(rec.Gateways))}
	a.mergeStreams(dedupeStreams(rec.Streams))
	a.client = mergeClients(dedupeClients(rec.Clients), &a.conflicts)
	a.findGatewayConflicts()
	a.session = rec.Session
	a.alignClocks(tenant, &rec)

	r := &Request{
		RequestID: id, Tenant: tenant, Aliases: a.aliases(rec), QueryType: "other",
		Attempts: a.attempts(), Gateway: a.gateway(), Client: a.client.model(), Findings: []json.RawMessage{},
	}
	if r.Client != nil {
		r.Client.ArrivedAt, r.Client.BeganAt = a.client.arrival(rec.Clients)
	}
	served := a.servedStream
	if a.served > 0 {
		r.ServedAttempt = known(a.served)
	}
	r.State = a.state()
	r.Target = target(a.target())
	var server, gw, page struct{ queryType, app, route, region string }
	if s := served; s != nil {
		server.queryType, server.app, server.route, server.region = s.QueryType, s.App, s.Route, s.Region
	}
	for i := len(a.gateways) - 1; i >= 0; i-- {
		g := &a.gateways[i]
		overrideText(&gw.queryType, g.QueryType)
		overrideText(&gw.app, g.App)
		overrideText(&gw.route, g.Route)
		overrideText(&gw.region, g.Region)
	}
	if c := a.client; c != nil {
		page.queryType, page.app = c.QueryType, c.App
	}
	r.QueryType = first(page.queryType, gw.queryType, server.queryType, "other")
	r.App = text(first(page.app, gw.app, server.app))
	r.Route, r.Region = text(first(gw.route, server.route)), text(first(server.region, gw.region))
	r.Perceived = perceived(a.client, served)
	r.Perceived.Parts = a.gapParts(&r.Perceived)
	a.findClockConflicts()
	r.Clock = a.clock()
	if r.Gateway != nil {
		r.Gateway.Clock = a.gatewayClock()
	}
	r.clockRows, r.clockNeighbours = a.clockRows(), a.clockNeighbours()
	r.Conflicts = a.sortedConflicts()
	return r
}

// assembly is the state of one Assemble.
type assembly struct {
	id        string
	streams   []merged       // all, in the order of compareStreams
	gateways  []wire.Gateway // the record that represents the gateway first
	client    *mergedClient
	conflicts []Conflict

	served       uint32
	servedStream *merged // server tier

	session                 []clocks.Row
	pageServer, pageGateway *otherClock // nil where the page's clock can't be compared
	relayRule               string      // what a contradiction between page and gateway is told as
}

// mergeStreams groups segments into streams, gives records under other ids their attempt, and orders them.
func (a *assembly) mergeStreams(segs []wire.Stream) {
	for i := 0; i < len(segs); {
		j := i + 1
		for j < len(segs) && compareStreamIdentity(&segs[i], &segs[j]) == 0 {
			j++
		}
		m := mergeSegments(segs[i:j])
		if len(m.missing) > 0 {
			a.conflict(ConflictSegments, &m, "segments are missing", m.missing...)
		}
		if m.line.overlap {
			a.conflict(ConflictSegments, &m, "segments overlap in time")
		}
		a.streams = append(a.streams, m)
		i = j
	}
	a.numberAttempts()
	a.adopt()
	slices.SortStableFunc(a.streams, func(x, y merged) int { return compareStreams(&x, &y) })
	a.dropTwins()
	a.findStreamConflicts()
	a.serve()
}

// adopt gives each stream under another id the attempt whose record, a stream's or a gateway's, carries that id as its response
// id or alias. What nobody claims keeps its own number.
func (a *assembly) adopt() {
	owner := map[string]uint32{}
	claim := func(name string, attempt uint32) {
		if name == "" || name == a.id {
			return
		}
		if was, ok := owner[name]; !ok || attempt < was {
			owner[name] = attempt
		}
	}
	for i := range a.streams {
		if m := &a.streams[i]; m.RequestID == a.id {
			claim(m.ResponseID, m.Attempt)
			for _, n := range m.Aliases {
				claim(n, m.Attempt)
			}
		}
	}
	for i := range a.gateways {
		if n := servedBy(&a.gateways[i]); n > 0 {
			claim(a.gateways[i].ResponseID, n)
			if len(a.gateways[i].Attempts) == 1 { // its names are those of this call
				for _, name := range a.gateways[i].Aliases {
					claim(name, n)
				}
			}
		}
	}
	for i := range a.streams {
		if n, ok := owner[a.streams[i].RequestID]; ok && a.streams[i].RequestID != a.id {
			a.streams[i].Attempt = n
		}
	}
}

// dropTwins counts a generation once that two emitters logged with the same times.
func (a *assembly) dropTwins() {
	var out []merged
	for i := range a.streams {
		m := &a.streams[i]
		twin := slices.ContainsFunc(out, func(o merged) bool {
			return o.Tier == m.Tier && o.Attempt == m.Attempt && o.Emitter != m.Emitter && same(&o, m)
		})
		if !twin {
			out = append(out, *m)
		}
	}
	a.streams = out
}

// findStreamConflicts reports different streams of one emitter under one id and attempt.
func (a *assembly) findStreamConflicts() {
	type key struct {
		id      string
		tier    wire.Tier
		attempt uint32
		emitter string
	}
	starts := map[key][]int64{}
	at := map[key]*merged{}
	for i := range a.streams {
		m := &a.streams[i]
		k := key{m.RequestID, m.Tier, m.Attempt, m.Emitter}
		starts[k] = append(starts[k], m.StartedAt)
		at[k] = m
	}
	for k, s := range starts {
		if len(s) > 1 {
			slices.Sort(s)
			a.conflict(ConflictID, at[k], "different streams have this request id, attempt and emitter", s[:min(len(s), maxEvidence)]...)
		}
	}
}

func (a *assembly) conflict(kind string, m *merged, detail string, evidence ...int64) {
	a.conflicts = append(a.conflicts, Conflict{
		Kind: kind, Tier: string(m.Tier), Attempt: known(m.Attempt), Emitter: text(m.Emitter), Detail: detail,
		Evidence: append([]int64{}, evidence...),
	})
}

func (a *assembly) sortedConflicts() []Conflict {
	slices.SortFunc(a.conflicts, func(x, y Conflict) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Tier, y.Tier), comparePtr(x.Attempt, y.Attempt),
			comparePtr(x.Emitter, y.Emitter), cmp.Compare(x.Detail, y.Detail), slices.Compare(x.Evidence, y.Evidence))
	})
	out := slices.CompactFunc(a.conflicts, func(x, y Conflict) bool {
		return x.Kind == y.Kind && x.Tier == y.Tier && comparePtr(x.Attempt, y.Attempt) == 0 &&
			comparePtr(x.Emitter, y.Emitter) == 0 && x.Detail == y.Detail && slices.Equal(x.Evidence, y.Evidence)
	})
	return append([]Conflict{}, out...)
}

func comparePtr[T cmp.Ordered](a, b *T) int {
	if a == nil || b == nil {
		return compareBool(a != nil, b != nil)
	}
	return cmp.Compare(*a, *b)
}

// aliases lists every other name the records carry.
func (a *assembly) aliases(rec Records) []string {
	names := []string{}
	add := func(ns ...string) {
		for _, n := range ns {
			if n != "" && n != a.id {
				names = append(names, n)
			}
		}
	}
	for i := range rec.Streams {
		s := &rec.Streams[i]
		add(s.RequestID, s.ResponseID, s.TraceID)
		add(s.Aliases...)
	}
	for i := range rec.Gateways {
		g := &rec.Gateways[i]
		add(g.RequestID, g.ResponseID, g.TraceID)
		add(g.Aliases...)
	}
	for i := range rec.Clients {
		c := &rec.Clients[i]
		add(c.RequestID, c.ResponseID, c.TraceID)
		add(c.Aliases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
