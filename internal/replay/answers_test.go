package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/replay"
	"github.com/fermata-io/fermata/internal/wire"
)

const ollamaLines = `{"model":"m:1","created_at":"2025-08-21T20:43:54.414674259Z","response":"","done":false}
{"model":"m:1","created_at":"2025-08-21T20:43:54.514689932Z","response":"","thinking":"Wé","done":false}
{"model":"m:1","created_at":"2025-08-21T20:43:55.014689932Z","response":"Hi","done":false}
{"model":"m:1","created_at":"2025-08-21T20:43:55.024689932Z","response":"","done":true,"done_reason":"stop","total_duration":%d,"prompt_eval_count":81,"eval_count":3,"prompt_eval_duration":2000000}
`

func TestOllama(t *testing.T) {
	known := fmt.Sprintf(ollamaLines, 1_024_689_932)
	s := streams(t, file(t, "o.ndjson", known), replay.NewDefaultOptions())
	require.Len(t, s, 1)
	require.Equal(t, []wire.Kind{wire.KindRole, wire.KindReasoning, wire.KindContent, wire.KindDone}, s[0].Chunks.Kind)
	require.Equal(t, []uint32{0, 3, 2, 0}, s[0].Chunks.Bytes)
	require.Equal(t, time.Date(2025, 8, 21, 20, 43, 54, 0, time.UTC).UnixMicro(), s[0].StartedAt, "last stamp less total_duration")
	require.Equal(t, []int64{414_674, 514_689, 1_014_689, 1_024_689}, s[0].Chunks.T)
	require.False(t, s[0].StartUnknown)
	require.Equal(t, "stop", s[0].FinishReason)
	require.Equal(t, wire.Some(int64(3)), s[0].OutputTokens)
	require.Equal(t, wire.Some(int64(81)), s[0].PromptTokens)
	require.Equal(t, wire.Some(int64(2000)), s[0].PrefillUS)
	require.Equal(t, "ollama", s[0].Provider)
	require.Equal(t, "m:1", s[0].Model)

	short := fmt.Sprintf(ollamaLines, 5_000_000) // shorter than the stream itself: not to be believed
	s = streams(t, file(t, "o.ndjson", short), replay.NewDefaultOptions())
	require.True(t, s[0].StartUnknown)
	require.Equal(t, int64(0), s[0].Chunks.T[0])
	require.Equal(t, []int64{0, 100_015, 600_015, 610_015}, s[0].Chunks.T)
}

func TestOllamaMarkdown(t *testing.T) {
	pretty := strings.NewReplacer(`,"`, ",\n  \"", `{"`, "{\n  \"", "}\n", "\n}\n").Replace(fmt.Sprintf(ollamaLines, 1))
	md := "# Demo\n```bash\nollama run\n\n```\n```json\n" + pretty + "```\n\n```json\n[DEBUG] {\"not\": 1}\n" + pretty + "{broken\n" + "```\ntext {\"done\":true}\n"
	recs, rep := read(t, file(t, "demo.md", md), replay.NewDefaultOptions())
	require.Len(t, recs, 2)
	require.Equal(t, 1, rep.Skipped)
	require.NotEqual(t, recs[0].Stream.RequestID, recs[1].Stream.RequestID)
	require.Equal(t, recs[0].Stream.Chunks, recs[1].Stream.Chunks)
}

func TestCassette(t *testing.T) {
	const sample = `interactions:
- request:
    body: '{"stream": true}'
    uri: https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1
  response:
    body:
      string: 'data: {"choices":[],"id":"","prompt_filter_results":[]}


        data: {"choices":[{"delta":{"content":"","role":"assistant"},"index":0}],"id":"chatcmpl-1","model":"gpt-x","object":"chat.completion.chunk"}


        data: {"choices":[{"delta":{"content":"Wh"},"index":0}],"id":"chatcmpl-1","model":"gpt-x","object":"chat.completion.chunk"}


        data: {"choices":[{"delta":{"content":"y?"},"index":0}],"id":"chatcmpl-1","model":"gpt-x","object":"chat.completion.chunk"}


        data: {"choices":[{"delta":{},"finish_reason":"stop","index":0}],"id":"chatcmpl-1","model":"gpt-x","object":"chat.completion.chunk"}


        data: [DONE]


        '
    headers:
      Content-Type:
      - text/event-stream
      Date:
      - Thu, 25 Apr 2024 09:22:53 GMT
      x-request-id:
      - 06e46b67-e241
      apim-request-id:
      - 90ada254
      x-ms-deployment-name:
      - dep
    status:
      code: 200
- request:
    uri: http://127.0.0.1:11434/api/chat
  response:
    body: {string: '{"model":"llama3","created_at":"2024-05-24T20:57:43.314639Z","message":{"role":"assistant","content":"Here"},"done":false}

        {"model":"llama3","created_at":"2024-05-24T20:57:43.35235Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"eval_count":2}

        '}
    headers:
      Content-Type: application/x-ndjson
    status: {code: 200}
- request: {uri: https://api.openai.com/v1/chat/completions}
  response:
    body: {string: '{"choices":[]}'}
    headers: {Content-Type: application/json}
    status: {code: 200}
- request: {uri: https://api.openai.com/v1/chat/completions}
  response:
    body: {string: '{"error":{"type":"rate_limit"}}'}
    headers: {Content-Type: [application/json]}
    status: {code: 429}
`
	recs, rep := read(t, file(t, "c.yaml", sample), replay.NewDefaultOptions())
	require.Equal(t, "cassette", rep.Format)
	require.Len(t, recs, 3)
	require.Equal(t, 1, rep.Skipped)
	require.Equal(t, []string{"interactions[2]: was not streamed"}, rep.Reasons)

	s := recs[0].Stream
	require.Equal(t, "06e46b67-e241", s.RequestID)
	require.Equal(t, []string{"90ada254"}, s.Aliases)
	require.Equal(t, "chatcmpl-1", s.ResponseID)
	require.Equal(t, wire.Target{Provider: "azure", Deployment: "dep", Model: "gpt-x"}, s.Target)
	require.Equal(t, []wire.Kind{wire.KindRole, wire.KindRole, wire.KindContent, wire.KindContent, wire.KindRole, wire.KindDone}, s.Chunks.Kind)
	require.Equal(t, []uint32{0, 0, 2, 2, 0, 0}, s.Chunks.Bytes)
	require.True(t, s.Synthetic)
	require.Equal(t, time.Date(2024, 4, 25, 9, 22, 53, 0, time.UTC).UnixMicro(), s.StartedAt)
	require.Equal(t, s.Chunks.T[0], s.Chunks.T[2], "frames without text come with the next or last text")
	require.Less(t, s.Chunks.T[2], s.Chunks.T[3])
	require.Equal(t, s.Chunks.T[3], s.Chunks.T[5])

	s = recs[1].Stream
	require.Equal(t, "ollama", s.Provider)
	require.False(t, s.Synthetic, "created_at is measured")
	require.Equal(t, []int64{0, 37_711}, s.Chunks.T)

	s = recs[2].Stream
	require.Equal(t, "http_429", s.ErrorType)
	require.Equal(t, int32(429), s.Status)
	require.Equal(t, "openai", s.Provider)
}

const sseLogSample = `# Latency log

job_id=urn:job:1
status=success
submitted_at=2026-02-12T02:46:42.287Z
executing_at=2026-02-12T02:46:44.536Z
events_connected_at=2026-02-12T02:46:44.586Z
first_token_server_event_at=2026-02-12T02:46:56.846Z
finished_at=2026-02-12T02:47:44.050Z
submit_to_job_create_ms=1468 source=client

1. [2026-02-12T02:47:11.187Z] recv=2026-02-12T02:47:11.205Z step=chat:tokens:12 finished=false seq=00009932 msg="don’t say "x""
2. [2026-02-12T02:47:11.582Z] recv=2026-02-12T02:47:13.601Z step=chat:tokens:12 finished=true seq=00009933 msg="completed"
3. [2026-02-12T02:47:41.488Z] recv=2026-02-12T02:47:41.528Z step=job:status finished=true seq=00009970 msg="Job status: succeeded"
`

func TestSSELog(t *testing.T) {
	recs, rep := read(t, file(t, "log.md", sseLogSample), replay.NewDefaultOptions())
	require.Equal(t, "sse_log", rep.Format)
	require.Len(t, recs, 2)
	s, c := recs[0].Stream, recs[1].Client
	require.Equal(t, "urn:job:1", s.RequestID)
	require.Equal(t, s.RequestID, c.RequestID)
	kinds := []wire.Kind{wire.KindContent, wire.KindRole, wire.KindDone}
	require.Equal(t, kinds, s.Chunks.Kind)
	require.Equal(t, kinds, c.Recv.Kind)
	require.Equal(t, []uint32{15, 0, 0}, s.Chunks.Bytes)
	require.Equal(t, []int64{0, 395_000, 30_301_000}, s.Chunks.T)
	require.True(t, s.StartUnknown, "the log begins in the middle of the stream")
	require.Equal(t, wire.Some(int64(12_310_000)), s.Reported.TTFTUS)
	require.Equal(t, time.Date(2026, 2, 12, 2, 46, 42, 287e6, time.UTC).UnixMicro(), c.TimeOrigin)
	require.Equal(t, []int64{28_918_000, 31_314_000, 59_241_000}, c.Recv.T)
	require.Equal(t, wire.Some(int64(0)), c.Submit)
	require.Equal(t, wire.Some(int64(61_763_000)), c.Done)
	c.ReceivedAt = time.Now().UnixMicro()
	require.NoError(t, c.Validate(time.Now(), wire.NewDefaultLimits()))
}

// TestTranscripts reads the real servers' answers of internal/llmstream's corpus; what they hold is counted here by hand.
func TestTranscripts(t *testing.T) {
	for name, want := range map[string]struct {
		data, content int
		bytes         int
		tokens        int64
		finish        string
	}{
		"llamacpp_chat_stream_usage.txt":     {15, 11, 23, 12, "stop"},
		"llamacpp_chat_stream_unicode.txt":   {21, 19, 43, 24, "length"},
		"llamacpp_completion_stream.txt":     {9, 8, 38, 8, "limit"},
		"llamacpp_messages_stream.txt":       {16, 11, 23, 12, "end_turn"},
		"llamacpp_responses_stream.txt":      {19, 11, 23, 12, "completed"},
		"llamacpp_v1_completions_stream.txt": {10, 8, 38, 8, "length"},
		"vllm_chat_stream_usage.txt":         {15, 11, 23, 12, "stop"},
		"vllm_chat_stream_cont_usage.txt":    {9, 6, 9, 6, "length"},
		"vllm_router_chat_stream.txt":        {14, 10, 17, 10, "length"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "llmstream", "testdata", "transcripts", name)
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, want.data, strings.Count(string(raw), "\ndata:"), "the hand count itself")
			s := streams(t, path, replay.NewDefaultOptions())
			require.Len(t, s, 1)
			content, bytes := 0, 0
			for i := range s[0].Chunks.Len() {
				if s[0].Chunks.ContentBearing(i) {
					content++
					bytes += int(s[0].Chunks.Bytes[i])
				}
			}
			require.Equal(t, want.data, s[0].Chunks.Len())
			require.Equal(t, want.content, content)
			require.Equal(t, want.bytes, bytes)
			require.Equal(t, wire.Some(want.tokens), s[0].OutputTokens)
			require.Equal(t, want.finish, s[0].FinishReason)
			require.Equal(t, "smollm2", s[0].Model)
			require.True(t, s[0].Synthetic)
			require.True(t, slices.IsSorted(s[0].Chunks.T))
		})
	}
}

func TestTranscriptsWithoutStream(t *testing.T) {
	_, rep := read(t, filepath.Join("..", "llmstream", "testdata", "transcripts", "vllm_chat_nostream.txt"), replay.NewDefaultOptions())
	require.Zero(t, rep.Records)
	require.Equal(t, []string{"the answer: was not streamed"}, rep.Reasons)

	recs, _ := read(t, filepath.Join("..", "llmstream", "testdata", "transcripts", "vllm_error_model.txt"), replay.NewDefaultOptions())
	require.Equal(t, "http_404", recs[0].Stream.ErrorType)
	require.Zero(t, recs[0].Stream.Chunks.Len())
}

func TestOTLPAndNative(t *testing.T) {
	recs, rep := read(t, file(t, "otlp.json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}
{"resourceLogs":[]}`), replay.NewDefaultOptions())
	require.Equal(t, "otlp_json", rep.Format)
	require.Len(t, recs, 2)
	require.Equal(t, "/v1/logs", recs[0].Raw.Path)
	require.Equal(t, 2, recs[0].Raw.Items)
	require.Equal(t, "/v1/traces", recs[1].Raw.Path)
	require.Equal(t, 1, rep.Skipped)

	recs, rep = read(t, file(t, "native.ndjson", `{"request_id":"a","started_at":1,"chunks":{"t":[1]}}
{"request_id":"b","received_at":1}
{"request_id":"c","session_id":"s","clock":{}}
{"other":1}`), replay.NewDefaultOptions())
	require.Equal(t, "fermata", rep.Format)
	require.Equal(t, []string{"/v1/chunks", "/v1/gateway", "/v1/rum"}, []string{recs[0].Raw.Path, recs[1].Raw.Path, recs[2].Raw.Path})
	require.Equal(t, "a", rep.First)

	recs, rep = read(t, file(t, "litellm.json", `[{"id":"1","call_type":"acompletion","completionStartTime":1},{"id":"2"}]`), replay.NewDefaultOptions())
	require.Equal(t, "litellm", rep.Format)
	require.Len(t, recs, 2)
	require.Equal(t, "/v1/gateway/litellm", recs[0].Raw.Path)
}

func TestSegments(t *testing.T) {
	s := &wire.Stream{
		RequestID: "x", Final: true, EndUS: wire.Some(int64(9)), FinishReason: "stop",
		Chunks: wire.Chunks{T: []int64{1, 2, 3, 4, 5}, Bytes: []uint32{1, 1, 1, 1, 1}},
	}
	require.Equal(t, []*wire.Stream{s}, replay.Segments(s, 5))
	parts := replay.Segments(s, 2)
	require.Len(t, parts, 3)
	var all wire.Chunks
	for i, p := range parts {
		require.Equal(t, uint32(i), p.Seq)
		require.Equal(t, i == 2, p.Final)
		require.Equal(t, i == 2, p.EndUS.OK)
		require.Nil(t, p.Chunks.Kind)
		all.T = append(all.T, p.Chunks.T...)
		all.Bytes = append(all.Bytes, p.Chunks.Bytes...)
	}
	require.Equal(t, s.Chunks, all)
	require.Equal(t, "stop", parts[2].FinishReason)
	require.Empty(t, parts[0].FinishReason)
}
