package llmstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fermata-io/fermata/internal/llmstream"
)

// BenchmarkEvent reports the cost of one event, as it arrives: one piece an event.
func BenchmarkEvent(b *testing.B) {
	chat := "data: " + `{"id":"chatcmpl-a26f88f57034153e","object":"chat.completion.chunk","created":1795967216,"model":"smollm2","choices":[{"index":0,"delta":{"content":" Red"},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"
	anthropic := "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" Red"}}` + "\n\n"
	ollama := `{"model":"llama3","created_at":"2024-05-24T20:57:43.35235Z","message":{"role":"assistant","content":"'s"},"done":false}` + "\n"
	gemini := "data: " + `{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2},"modelVersion":"gemini-x","responseId":"g1"}` + "\r\n\r\n"
	logprobs := "data: " + `{"choices":[{"index":0,"delta":{"content":"1"},"logprobs":{"content":[` + strings.Repeat(`{"token":"1","logprob":-2.19,"bytes":[49],"top_logprobs":[{"token":"The","logprob":-2.19,"bytes":[84,104,101]},{"token":"There","logprob":-2.44,"bytes":[84]}]},`, 5) + `{"token":"1","logprob":-1}]},"finish_reason":null}]}` + "\n\n"
	for _, c := range []struct{ name, contentType, body string }{
		{"openai", "text/event-stream", chat},
		{"openai_text", "text/event-stream", chat},
		{"openai_split", "text/event-stream", chat},
		{"openai_logprobs", "text/event-stream", logprobs},
		{"anthropic", "text/event-stream", anthropic},
		{"ollama", "application/x-ndjson", ollama},
		{"gemini", "text/event-stream", gemini},
	} {
		b.Run(fmt.Sprintf("%s/%dB", c.name, len(c.body)), func(b *testing.B) {
			n := 0
			p := llmstream.New(llmstream.Options{ContentType: c.contentType, Text: c.name == "openai_text"}, func(*llmstream.Event) { n++ })
			body := []byte(c.body)
			half := len(body)
			if c.name == "openai_split" {
				half /= 2
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = p.Write(body[:half])
				if half < len(body) {
					_, _ = p.Write(body[half:])
				}
			}
			if n != b.N {
				b.Fatalf("%d events of %d", n, b.N)
			}
		})
	}
}
