package replay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fermata-io/fermata/internal/replay"
	"github.com/fermata-io/fermata/internal/wire"
)

// FuzzRead holds for any bytes read as any format: no panic, columns of one length, times that ascend, ids that are ids, and
// the same records when read again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		vllmSample, sseLogSample, fmt.Sprintf(ollamaLines, 5), "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,4,1\n",
		`{"timestamp": 0, "input_length": 8, "output_length": 3}`, `[{"ttft_s": 1, "number_output_tokens": 2}]`,
		`{"metadata":{"request_start_ns":1762551534797067827},"metrics":{"ttft":{"value":1},"inter_chunk_latency":{"value":[1,2]}}}`,
		`{"benchmarks":[{"requests":{"successful":[{"request_start_time":1795966385,"time_to_first_token_ms":1}]}}]}`,
		"interactions:\n- request: {uri: http://x/api/chat}\n  response: {body: {string: \"data: {}\\n\\n\"}, headers: {Content-Type: text/event-stream}, status: {code: 200}}\n",
		"# curl http://x/v1/chat/completions\nHTTP/1.1 200 OK\nContent-Type: text/event-stream\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`,
	} {
		for i := range replay.Formats() {
			f.Add([]byte(seed), uint8(i))
		}
	}
	formats := replay.Formats()
	f.Fuzz(func(t *testing.T, content []byte, format uint8) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := replay.Open(path)
		if err != nil {
			return // broken gzip
		}
		opt := replay.NewDefaultOptions()
		opt.Format = formats[int(format)%len(formats)][0]
		all := func() (out []string) {
			n := 0
			_, _ = replay.Read(context.Background(), src, opt, func(r replay.Record) error {
				if n++; n > 50 {
					return context.Canceled
				}
				if s := r.Stream; s != nil {
					check(t, &s.Chunks)
					if !wire.ValidID(s.RequestID) {
						t.Fatalf("id %q", s.RequestID)
					}
					if len(s.Chunks.T) < 10_000 {
						out = append(out, string(wire.AppendStreamJSON(nil, s)))
					}
				}
				if c := r.Client; c != nil {
					check(t, &c.Recv)
				}
				return nil
			})
			return out
		}
		if a, b := all(), all(); !slices.Equal(a, b) {
			t.Fatal("the second reading differs")
		}
	})
}

func check(t *testing.T, c *wire.Chunks) {
	t.Helper()
	n := len(c.T)
	for _, m := range []int{len(c.Bytes), len(c.Tokens), len(c.Kind), len(c.Choice), len(c.Logprob)} {
		if m != 0 && m != n {
			t.Fatalf("columns of %d and %d", n, m)
		}
	}
	if !slices.IsSorted(c.T) || n > 0 && c.T[0] < 0 {
		t.Fatal("times don't ascend from 0")
	}
}
