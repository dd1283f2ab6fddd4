package ingestbench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

// ChunksPerStream is workload W's: streams of 200 chunks, gaps log-normal around 30 ms with σ 0.5, 0.5 % of the streams with
// one stall of 1.2 to 8 s, 8 models.
const ChunksPerStream = 200

// Workload holds all streams of a run, made before anything is measured.
type Workload struct {
	start time.Time
	step  time.Duration // between the starts of two streams
	seed  uint64
	ttft  []uint32
	gaps  []uint32 // ChunksPerStream - 1 of each stream
	model []uint8
}

// NewWorkload makes streams that start evenly within span, which begins at start. Equal seeds give equal streams.
func NewWorkload(streams int, seed uint64, start time.Time, span time.Duration) *Workload {
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same streams every time
	w := &Workload{start: start.UTC(), step: span / time.Duration(max(streams, 1)), seed: seed}
	for range streams {
		w.ttft = append(w.ttft, uint32(200_000+rnd.IntN(300_000))) //nolint:gosec // below 2^32
		w.model = append(w.model, uint8(rnd.IntN(8)))              //nolint:gosec // below 8
		stall := -1
		if rnd.Float64() < 0.005 {
			stall = rnd.IntN(ChunksPerStream - 1)
		}
		for i := range ChunksPerStream - 1 {
			gap := uint32(30_000 * math.Exp(0.5*rnd.NormFloat64()))
			if i == stall {
				gap = uint32(1_200_000 + rnd.IntN(6_800_000)) //nolint:gosec // below 2^32
			}
			w.gaps = append(w.gaps, gap)
		}
	}
	return w
}

// Yesterday returns noon of the day before: an hour from it lies in one day's partition.
func Yesterday() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour) }

// Len is the number of streams.
func (w *Workload) Len() int { return len(w.ttft) }

func (w *Workload) gapsOf(i int) []uint32 {
	const n = ChunksPerStream - 1
	return w.gaps[i*n : (i+1)*n]
}

func (w *Workload) startOf(i int) time.Time {
	return w.start.Add(time.Duration(i) * w.step)
}

// Messages returns the OTLP log requests that carry the streams as packed records, perMessage in each.
func (w *Workload) Messages(perMessage int) ([][]byte, error) {
	var out [][]byte
	for from := 0; from < w.Len(); from += perMessage {
		logs := plog.NewLogs()
		records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := from; i < min(from+perMessage, w.Len()); i++ {
			s := w.Stream(i)
			streamlog.PutStream(records.AppendEmpty(), &s)
		}
		b, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
		if err != nil {
			return nil, fmt.Errorf("make messages: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

func (w *Workload) id(i int) uint64 { return (w.seed<<32 + uint64(i)) * 0x9e3779b97f4a7c15 } //nolint:gosec // an index

// Stream returns stream i as a record.
func (w *Workload) Stream(i int) wire.Stream {
	s := wire.Stream{
		RequestID: fmt.Sprintf("%016x", w.id(i)), Tenant: wire.DefaultTenant, Tier: wire.TierServer, Attempt: 1,
		Emitter: "bench", Final: true, Target: wire.Target{Provider: "bench", Model: fmt.Sprintf("model-%d", w.model[i])},
		PromptTokens: wire.Some(int64(100)), StartedAt: w.startOf(i).UnixMicro(), FinishReason: "stop", Status: 200,
	}
	t := int64(w.ttft[i])
	s.Chunks.T = append(make([]int64, 0, ChunksPerStream), t)
	for _, g := range w.gapsOf(i) {
		t += int64(g)
		s.Chunks.T = append(s.Chunks.T, t)
	}
	s.EndUS = wire.Some(t)
	return s
}
