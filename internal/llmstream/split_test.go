package llmstream_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/llmstream"
)

// pieces of bodies, whole and broken ones, that a generated body is put together from.
var fragments = []string{
	`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"\u00e9\n"}}]}`,
	`{"choices":[],"usage":{"completion_tokens":3}}`, `{"type":"ping"}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"z"}}`,
	`{"message":{"content":"h"},"done":false}`, `{"response":"","done":true,"eval_count":2}`, `{"error":{"type":"x"}}`,
	`{"token":{"text":"t","special":false}}`, `{"content":"q","stop":false,"tokens_predicted":4}`, `[DONE]`, `{"a`, `"}`, `x`, `{}`, `[]`, `[{"candidates":[]}`,
	"data: ", "data:", ": c", "event: ping", "event: error", "event: x", "id: 3", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", " ", ",", "\xef\xbb\xbf", "\x1e", "\\", `"`, "é", "\xff",
}

// Any split of the same bytes gives the same events.
func TestSplitsDoNotMatter(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(t, err)
	var bodies []transcript
	for _, f := range files {
		bodies = append(bodies, readTranscript(t, f))
	}
	types := []string{"text/event-stream", "application/x-ndjson", "application/json", ""}
	rapid.Check(t, func(t *rapid.T) {
		var tr transcript
		if i := rapid.IntRange(-len(bodies), len(bodies)-1).Draw(t, "transcript"); i >= 0 {
			tr = bodies[i]
		} else {
			tr.contentType = rapid.SampledFrom(types).Draw(t, "type")
			for _, f := range rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 40).Draw(t, "fragments") {
				tr.body = append(tr.body, f...)
			}
		}
		opt := llmstream.Options{
			Path: tr.path, ContentType: tr.contentType,
			MaxEventBytes: rapid.SampledFrom([]int{0, 20, 60, 300}).Draw(t, "limit"),
		}
		want, wantInfo := parse(opt, tr.body)
		var pieces [][]byte
		for rest := tr.body; len(rest) > 0; {
			n := min(rapid.IntRange(1, 1+len(tr.body)/rapid.IntRange(1, 30).Draw(t, "share")).Draw(t, "n"), len(rest))
			pieces = append(pieces, append([]byte(nil), rest[:n]...))
			rest = rest[n:]
		}
		got, gotInfo := parse(opt, pieces...)
		require.Equal(t, want, got)
		require.Equal(t, wantInfo, gotInfo)
	})
}

// The parser must not hold on to the bytes it is given.
func TestInputIsNotKept(t *testing.T) {
	tr := readTranscript(t, "testdata/transcripts/vllm_chat_stream_logprobs.txt")
	opt := llmstream.Options{Path: tr.path, ContentType: tr.contentType}
	want, _ := parse(opt, tr.body)
	var got []event
	opt.Text = true
	p := llmstream.New(opt, func(e *llmstream.Event) {
		c := event{Event: *e, Text: string(e.Text)}
		c.Event.Text = nil
		got = append(got, c)
	})
	buf := make([]byte, 97)
	for rest := tr.body; len(rest) > 0; {
		n := copy(buf, rest)
		rest = rest[n:]
		_, _ = p.Write(buf[:n])
		for i := range buf {
			buf[i] = '#'
		}
	}
	p.Close()
	require.Equal(t, want, got)
}
