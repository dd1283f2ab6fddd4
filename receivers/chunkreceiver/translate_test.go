package chunkreceiver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/ingest/ingesttest"
	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/internal/wire/schema"
)

func TestGolden(t *testing.T) {
	ingesttest.Golden(t, decode, nil, schema.Chunks())
}

func TestForwardText(t *testing.T) {
	for _, forward := range []bool{false, true} {
		cfg := serving()
		cfg.ForwardText = forward
		sink := new(consumertest.LogsSink)
		url := ingesttest.Start(t, NewFactory(), cfg, sink)
		got := ingesttest.Do(t, url+"/v1/chunks", ingesttest.Request{
			Body: []byte(`{"request_id":"a","started_at":1760000000000000,"chunks":{"t":[1,2]},"text":["hé","llo"]}`),
		})
		require.Equal(t, 200, got.Status)
		lr := sink.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		s, err := streamlog.Stream(lr, 100)
		require.NoError(t, err)
		require.Equal(t, []uint32{3, 3}, s.Chunks.Bytes)
		if forward {
			require.Equal(t, []string{"hé", "llo"}, s.Chunks.Text)
		} else {
			require.Empty(t, s.Chunks.Text, "text leaves no trace unless it is asked for")
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"request_id":"a","started_at":1760000000000000,"chunks":{"t":[1,2],"kind":["role","content"]},"text":["a","b"]}`), false)
	f.Add([]byte("{\"request_id\":\"a\",\"started_at\":1760000000000000}\n{}\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		opt := wire.NewDefaultDecodeOptions()
		opt.Now, opt.NDJSON, opt.KeepText = ingesttest.Now, lines, true
		b := ingest.NewBatch(ingesttest.Now, true)
		decode(nil, body, opt, b)
		require.Equal(t, b.Answer().Accepted, b.Logs().LogRecordCount())
		// Whatever is accepted can be read from the pipeline, and is valid there.
		for _, rl := range b.Logs().ResourceLogs().All() {
			for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
				s, err := streamlog.Stream(lr, opt.Limits.MaxChunks)
				require.NoError(t, err)
				require.NoError(t, s.Validate(ingesttest.Now, opt.Limits))
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	const streams, chunks = 100, 200
	body := make([]byte, 0, 1<<20)
	s := wire.Stream{RequestID: "0b6a8c1e-7f1e-4d7b-9c1f-0e6b5c2a1d3f", Tenant: "default", Tier: "server", Attempt: 1, Emitter: "tap", Final: true, StartedAt: 1760000000000000}
	for i := range chunks {
		s.Chunks.T = append(s.Chunks.T, int64(200_000+i*31_417))
		s.Chunks.Bytes = append(s.Chunks.Bytes, uint32(1+i%9))
		s.Chunks.Tokens = append(s.Chunks.Tokens, 1)
	}
	for range streams {
		body = append(wire.AppendStreamJSON(body, &s), '\n')
	}
	opt := wire.NewDefaultDecodeOptions()
	opt.Now, opt.NDJSON = ingesttest.Now, true
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		batch := ingest.NewBatch(ingesttest.Now, false)
		decode(nil, body, opt, batch)
		if batch.Answer().Accepted != streams {
			b.Fatal(batch.Answer())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/streams/chunks, "ns/chunk")
}
