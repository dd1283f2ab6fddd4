package llmstream_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/internal/llmstream"
)

func collect(opt llmstream.Options, body []byte, mould bool) ([]event, llmstream.Info) {
	var out []event
	opt.Text = true
	p := llmstream.New(opt, func(e *llmstream.Event) {
		c := event{Event: *e, Text: string(e.Text)}
		c.Event.Text = nil
		out = append(out, c)
	})
	if !mould {
		p.WithoutMould()
	}
	_, _ = p.Write(body)
	p.Close()
	return out, *p.Info()
}

// Recognising a frame by its mould gives what taking it apart gives.
func TestMouldChangesNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(t, err)
	for _, f := range files {
		tr := readTranscript(t, f)
		opt := llmstream.Options{Path: tr.path, ContentType: tr.contentType}
		want, wantInfo := collect(opt, tr.body, false)
		got, gotInfo := collect(opt, tr.body, true)
		require.Equal(t, want, got, f)
		require.Equal(t, wantInfo, gotInfo, f)
	}
	texts := []string{"a", "b", ``, `\n`, `\"`, `\\`, `\`, `"`, `é`, "\xff", `\ud83d`, `","x":"`, `"}`, `\u00e9`, " long text of some words"}
	frames := [][2]string{
		{`{"choices":[{"index":0,"delta":{"content":"`, `"}}]}`},
		{`{"choices":[{"index":0,"delta":{"content":"`, `"},"finish_reason":"stop"}]}`},
		{`{"choices":[{"index":1,"delta":{"content":"`, `"}}]}`},
		{`{"choices":[{"index":0,"delta":{"content":"`, `"}}],"usage":{"completion_tokens":1}}`},
		{`{"choices":[{"index":0,"delta":{"reasoning":"x","content":"`, `"}}]}`},
		{`{"choices":[{"index":0,"delta":{"reasoning_content":"`, `","content":null}}]}`},
		{`{"choices":[{"index":0,"delta":{"content":"`, `"},"logprobs":{"content":[{"token":"x","logprob":-1}]}}]}`},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`, `"}}`},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"`, `"}}`},
		{`{"type":"response.output_text.delta","delta":"`, `"}`},
		{`{"message":{"role":"assistant","content":"`, `"},"done":false}`},
		{`{"response":"`, `","done":true,"eval_count":3}`},
		{`{"token":{"text":"`, `","special":false}}`},
		{`{"content":"`, `","stop":false,"tokens_predicted":2}`},
		{`{"candidates":[{"content":{"parts":[{"text":"`, `"}]}}]}`},
		{`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"`, `"}}]}}]}`},
	}
	rapid.Check(t, func(t *rapid.T) {
		var body []byte
		for range rapid.IntRange(1, 30).Draw(t, "runs") {
			f := rapid.SampledFrom(frames).Draw(t, "frame")
			for range rapid.IntRange(1, 4).Draw(t, "times") {
				body = append(body, "data: "+f[0]+rapid.SampledFrom(texts).Draw(t, "text")+f[1]+"\n\n"...)
			}
		}
		opt := llmstream.Options{ContentType: "text/event-stream"}
		want, wantInfo := collect(opt, body, false)
		got, gotInfo := collect(opt, body, true)
		require.Equal(t, want, got)
		require.Equal(t, wantInfo, gotInfo)
	})
}
