package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/fermata-io/fermata/storage/clients"
	"github.com/fermata-io/fermata/storage/gateways"
	"github.com/fermata-io/fermata/storage/streams"
	"github.com/fermata-io/fermata/storage/table"
)

// startUS is the first request's instant, 2026-10-01 10:00 UTC.
const startUS = 1_790_848_800_000_000

var (
	modelNames  = []string{"m-large", "m-small", "m-code", "m-mini", "m-pro", "m-flash", "m-edge", "m-long"}
	deployments = []string{"openai-eu", "openai-us", "azure-we", "bedrock-fra", "self-a100", "self-h100"}
	countries   = []string{"DE", "FR", "US", "GB", "IN", "BR", "JP"}
	pages       = []string{"/chat", "/assistant", "/doc/edit", "/search"}
)

// request is one generated request with the slots in which its records arrive.
type request struct {
	server          streams.Row
	gateway         gateways.Row
	client          clients.Row
	hasGW, hasRUM   bool
	aS, aG, aR, end int64 // arrival, µs
}

func (b *bench) id(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 77)) //nolint:gosec // a reproducible workload
	var u uuid.UUID
	for k := range 2 {
		v := r.Uint64()
		for j := range 8 {
			u[k*8+j] = byte(v >> (8 * j)) //nolint:gosec // its lowest byte
		}
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u.String()
}

//nolint:gosec // a reproducible workload, small numbers
func (b *bench) generate(i int) request {
	r := rand.New(rand.NewPCG(uint64(i), 78))
	logn := func(median, sigma float64) int64 { return int64(median * math.Exp(sigma*r.NormFloat64())) }
	var q request
	id := b.id(i)
	ts := startUS + int64(float64(i)*b.hours*3600e6/float64(b.n))
	model, dep := modelNames[min(r.IntN(8), r.IntN(8))], deployments[r.IntN(6)]
	ttft := logn(400e3, 0.5)
	n := 50 + r.IntN(400)
	dur := int64(n) * 33000
	maxGap := logn(120e3, 0.5)
	end := ttft + dur
	q.end = ts + end
	q.server = streams.Row{
		Tenant: "default", RequestID: id, Tier: "server", Attempt: 1, Emitter: "tap", StartedAt: table.Micros(ts), Final: true,
		Version:  1<<40 | uint64(n)<<16 | uint64(r.Uint32()>>16),
		Provider: "openai", Deployment: dep, Model: model, Route: "/v1/chat/completions", App: "shop", QueryType: "short_qa",
		PromptTokens: table.Some(uint32(logn(600, 1))), OutputTokens: table.Some(uint32(n)),
		TTFBUS: table.Some(uint64(ttft - logn(4e3, 0.5)/2)), EndUS: table.Some(uint64(end)), FinishReason: "stop", Status: 200,
		OffsetUS: uint64(ttft),
	}
	q.server.Scalars = streams.Scalars{
		NChunks: uint32(n), NContent: uint32(n - 2), FirstUS: table.Some(uint64(ttft)),
		AnswerUS: table.Some(uint64(ttft)), MaxGapUS: uint32(maxGap),
	}
	queue, lookup, route := logn(3e3, 1), logn(500, 0.3), logn(200, 0.3)
	first := ttft + logn(5e3, 0.7)
	q.hasGW, q.hasRUM = r.Float64() < 0.99, r.Float64() < 0.70
	q.gateway = gateways.Row{
		Tenant: "default", RequestID: id, Emitter: "litellm", ReceivedAt: table.Micros(ts - queue - 2000),
		Version: 1<<40 | 1<<16 | uint64(r.Uint32()>>16), Deployment: dep, Model: model,
		UpstreamSentUS: table.Some(queue + 2000), FirstByteUS: table.Some(first + queue), LastByteUS: table.Some(end + queue + 5000),
		QueueWaitUS: table.Some(uint64(queue)), CacheLookupUS: table.Some(uint64(lookup)), RouteDecisionUS: table.Some(uint64(route)),
		Status: 200, ServedAttempt: 1, Attempts: []uint16{1}, AttemptDeployments: []string{dep}, AttemptProviders: []string{"openai"},
		AttemptModels: []string{model}, AttemptStartsUS: []*int64{ptr(queue + 2000)}, AttemptEndsUS: []*int64{ptr(end + queue + 4000)},
		AttemptStatuses: []int32{200}, AttemptErrorTypes: []string{""}, AttemptServed: []bool{true},
	}
	rtt := logn(60e3, 0.6)
	paint := first + rtt + logn(20e3, 0.8)
	late := 0.0
	if r.Float64() < 0.05 {
		late = r.Float64() * 1800e6
	}
	q.aS, q.aG, q.aR = q.end, q.end+int64(r.Float64()*2e6), q.end+int64(r.ExpFloat64()*30e6+late)
	submit := logn(90e6, 1)
	q.client = clients.Row{
		Tenant: "default", RequestID: id, SessionID: fmt.Sprintf("s%06x", i/7), HasSubmit: true, SubmitUS: uint64(submit), Final: true,
		ReceivedAt: table.Micros(q.aR), Version: 1<<40 | uint64(n)<<16 | uint64(r.Uint32()>>16),
		Page: pages[rtt%4], App: "shop", Browser: "chrome", OS: "linux", Device: "desktop", Country: countries[rtt%7],
		QueryType: "short_qa", ContentKind: "markdown", Protocol: "fetch", PaintSource: "frame",
		TimeOrigin: uint64(ts - submit - rtt/2), RequestSentUS: table.Some(logn(3e3, 0.5)), HeadersUS: table.Some(first + rtt/2),
		FirstPaintUS: table.Some(paint), DoneUS: table.Some(end + rtt), FinishReason: "stop",
		RecvFirstUS: first + rtt/2,
	}
	q.client.Scalars = clients.Scalars{
		NRecv: uint32(n), NDOM: uint32(n / 2), NPaint: uint32(n / 2), TTFTUS: table.Some(first + rtt/2), TTFAUS: table.Some(first + rtt/2),
		RecvMaxGapUS: uint32(maxGap), PaintMaxGapUS: uint32(maxGap + 16000),
	}
	return q
}

func ptr(v int64) *int64 { return &v }
