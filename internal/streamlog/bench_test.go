package streamlog

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/fermata-io/fermata/internal/wire"
)

// usual is a stream of 200 chunks as a server reports it.
func usual() wire.Stream {
	s := wire.Stream{
		RequestID: "0123456789abcdef", Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1, Emitter: "bench", Final: true,
		Target: wire.Target{Provider: "bench", Model: "m"}, PromptTokens: wire.Some(int64(100)), StartedAt: 1_760_000_000_000_000,
		FinishReason: "stop", Status: 200, EndUS: wire.Some(int64(6_400_000)),
	}
	rnd, at := rand.New(rand.NewPCG(1, 2)), int64(300_000)
	for range 200 {
		s.Chunks.T = append(s.Chunks.T, at)
		at += int64(30_000 * math.Exp(0.5*rnd.NormFloat64()))
	}
	return s
}

func BenchmarkPutStream(b *testing.B) {
	s := usual()
	b.ReportAllocs()
	for b.Loop() {
		PutStream(plog.NewLogRecord(), &s)
	}
}

func BenchmarkReadStream(b *testing.B) {
	s := usual()
	lr := plog.NewLogRecord()
	PutStream(lr, &s)
	b.ReportAllocs()
	for b.Loop() {
		if err := ReadStream(lr, &s, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	s := usual()
	lr := plog.NewLogRecord()
	PutStream(lr, &s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Stream(lr, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpackOffsets(b *testing.B) {
	s := usual()
	packed, out := PackOffsets(nil, s.Chunks.T), []int64(nil)
	for b.Loop() {
		out, _ = UnpackOffsets(out[:0], packed, 1000)
	}
}
