package llmstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/llmstream"
	"github.com/fermata-io/fermata/internal/wire"
)

// brief writes events as "kind", with choice, text and tokens where there are any: content#1(Hi)/2.
func brief(events []event) string {
	var b strings.Builder
	for i, e := range events {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(e.Kind.String())
		if e.Choice > 0 {
			fmt.Fprintf(&b, "#%d", e.Choice)
		}
		if e.Bytes > 0 {
			fmt.Fprintf(&b, "(%s)", e.Text)
		}
		if e.TokensKnown {
			fmt.Fprintf(&b, "/%d", e.Tokens)
		}
	}
	return b.String()
}

func sse(datas ...string) string {
	return "data: " + strings.Join(datas, "\n\ndata: ") + "\n\n"
}

func TestDialects(t *testing.T) {
	type want struct {
		events string
		info   llmstream.Info
	}
	check := func(name, path, contentType, body string, w want) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			events, info := parse(llmstream.Options{Path: path, ContentType: contentType}, []byte(body))
			require.Equal(t, w.events, brief(events))
			w.info.Framing = info.Framing
			w.info.Frames = info.Frames
			require.Equal(t, w.info, info)
		})
	}
	const es, nd, js = "text/event-stream", "application/x-ndjson", "application/json"

	check("two choices interleaved, one with tools", "/v1/chat/completions", es, sse(
		`{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}},{"index":1,"delta":{"role":"assistant","content":""}}]}`,
		`{"id":"c1","choices":[{"index":0,"delta":{"content":"a"}}]}`,
		`{"id":"c1","choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"get","arguments":""}}]}}]}`,
		`{"id":"c1","choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}}]}`,
		`{"id":"c1","choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"id":"c1","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`,
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":2}}}`,
		`[DONE]`), want{
		`role role#1 content(a) tool#1(get) tool#1({"x":1}) role#1 content(b) usage done`,
		llmstream.Info{
			Dialect: llmstream.DialectOpenAIChat, ResponseID: "c1", Model: "m", FinishReason: "stop", Done: true, Choices: 2, Finished: 2,
			PromptTokens: wire.Some[int64](3), OutputTokens: wire.Some[int64](9), ReasoningTokens: wire.Some[int64](2),
		},
	})
	check("reasoning under both names, then refusal", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}`,
		`{"choices":[{"index":0,"delta":{"reasoning":"so","content":null}}]}`,
		`{"choices":[{"index":0,"delta":{"reasoning":"x","content":"y"}}]}`,
		`{"choices":[{"index":0,"delta":{"refusal":"no"},"finish_reason":"content_filter"}]}`), want{
		`reasoning(hm) reasoning(so) reasoning(x) content(y) refusal(no)`,
		llmstream.Info{Dialect: llmstream.DialectOpenAIChat, FinishReason: "content_filter", Choices: 1, Finished: 1},
	})
	check("Azure: filter frame with empty choices first", "/openai/deployments/d/chat/completions", es, sse(
		`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}`,
		`{"choices":[{"content_filter_results":{},"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0}],"id":"c","model":"gpt"}`,
		`{"choices":[{"content_filter_results":{},"delta":{"content":"Why"},"index":0}],"id":"c","model":"gpt"}`), want{
		`role role content(Why)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, ResponseID: "c", Model: "gpt", Choices: 1},
	})
	check("vLLM stops a loop", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"content":"la"},"finish_reason":"repetition","stop_reason":"repetition_detected"}],"system_fingerprint":"vllm-0.32.0"}`), want{
		`content(la)`, llmstream.Info{
			Dialect: llmstream.DialectOpenAIChat, FinishReason: "repetition", StopReason: "repetition_detected",
			Fingerprint: "vllm-0.32.0", Choices: 1, Finished: 1,
		},
	})
	check("a stop string stays out", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop","stop_reason":"my secret words"}]}`), want{
		`content(a)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, FinishReason: "stop", StopReason: "stop_string", Choices: 1, Finished: 1},
	})
	check("continuous usage with two choices and half a character", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":3,"completion_tokens":0}}`,
		`{"choices":[{"index":1,"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":3,"completion_tokens":0}}`,
		`{"choices":[{"index":0,"delta":{"content":"ab"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
		`{"choices":[{"index":1,"delta":{"content":"c"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
		`{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"prompt_tokens":3,"completion_tokens":3}}`,
		`{"choices":[{"index":0,"delta":{"content":"é"},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}`), want{
		`role role#1 content(ab)/2 content#1(c)/1 role/1 content(é)/1 usage`,
		llmstream.Info{
			Dialect: llmstream.DialectOpenAIChat, FinishReason: "length", Choices: 2, Finished: 1,
			PromptTokens: wire.Some[int64](3), OutputTokens: wire.Some[int64](5),
		},
	})
	check("error inside a stream", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"content":"a"}}]}`,
		`{"error":{"message":"secret","type":"server_error","code":500}}`, `[DONE]`), want{
		`content(a) error done`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, ErrorType: "server_error", Error: true, Done: true, Choices: 1},
	})
	check("error as SSE event with plain data", "/v1/chat/completions", es, "event: error\ndata: out of memory\n\n", want{
		`error`, llmstream.Info{ErrorType: "error", Error: true},
	})
	check("Mistral's typed parts", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]}}]}`), want{
		`reasoning(hm) content(ok)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Choices: 1},
	})
	check("Groq's times", "/openai/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"queue_time":0.25,"prompt_tokens":4,"prompt_time":0.002,"completion_tokens":7,"completion_time":0.014}}}`), want{
		`role`, llmstream.Info{
			Dialect: llmstream.DialectOpenAIChat, FinishReason: "stop", Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](4), OutputTokens: wire.Some[int64](7),
			QueueUS: wire.Some[int64](250_000), PrefillUS: wire.Some[int64](2000), DecodeUS: wire.Some[int64](14_000),
		},
	})
	check("whole chat answer with reasoning", "/v1/chat/completions", js,
		`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}}`,
		want{`reasoning(hm)/3 content(ok)/2`, llmstream.Info{
			Dialect: llmstream.DialectOpenAIChat, ResponseID: "c", Model: "m", FinishReason: "stop", Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](1), OutputTokens: wire.Some[int64](5), ReasoningTokens: wire.Some[int64](3),
		}})

	check("responses: reasoning, tool, refusal, incomplete", "/v1/responses", es, sse(
		`{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","usage":null}}`,
		`{"type":"response.output_item.added","item":{"type":"reasoning","id":"r"}}`,
		`{"type":"response.reasoning_summary_text.delta","delta":"hm"}`,
		`{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","delta":"{}"}`,
		`{"type":"response.function_call_arguments.done","arguments":"{}"}`,
		`{"type":"response.refusal.delta","delta":"no"}`,
		`{"type":"response.output_text.delta","delta":"hi","logprobs":[{"token":"h","logprob":-1},{"token":"i","logprob":-0.5}]}`,
		`{"type":"response.incomplete","response":{"id":"resp_1","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}}`), want{
		`role role reasoning(hm) tool(f) tool({}) role refusal(no) content(hi)/2 done`,
		llmstream.Info{
			Dialect: llmstream.DialectOpenAIResponses, ResponseID: "resp_1", Model: "m", FinishReason: "max_output_tokens", Done: true, Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](3), CachedTokens: wire.Some[int64](1), OutputTokens: wire.Some[int64](9), ReasoningTokens: wire.Some[int64](4),
		},
	})
	check("responses: failed", "/v1/responses", es, sse(
		`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}}`), want{
		`error`, llmstream.Info{
			Dialect: llmstream.DialectOpenAIResponses, ResponseID: "resp_1", FinishReason: "failed", ErrorType: "rate_limit_exceeded",
			Error: true, Done: true, Choices: 1, Finished: 1,
		},
	})

	check("Anthropic: thinking, signature, tool, ping, error", "/v1/messages", es, strings.Join([]string{
		"event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","model":"claude","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`,
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`,
		"event: ping\n" + `data: {"type": "ping"}`,
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"get","input":{}}}`,
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
		"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}`,
		"event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		"event: message_stop\n" + `data: {"type":"message_stop"}`, "",
	}, "\n\n"), want{
		`role role reasoning(hm) role keepalive tool(get) tool({"a") usage error done`,
		llmstream.Info{
			Dialect: llmstream.DialectAnthropic, ResponseID: "msg_1", Model: "claude", FinishReason: "tool_use", ErrorType: "overloaded_error",
			Error: true, Done: true, Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](17), CachedTokens: wire.Some[int64](5), OutputTokens: wire.Some[int64](89),
		},
	})

	gemini := []string{
		`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":2,"totalTokenCount":7},"modelVersion":"gemini-x","responseId":"g1"}`,
		`{"candidates":[{"content":{"parts":[{"text":"Hel"},{"text":"lo"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":2},"modelVersion":"gemini-x","responseId":"g1"}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"]"}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6,"thoughtsTokenCount":2}}`,
	}
	geminiInfo := llmstream.Info{
		Dialect: llmstream.DialectGemini, ResponseID: "g1", Model: "gemini-x", FinishReason: "STOP", Choices: 1, Finished: 1,
		PromptTokens: wire.Some[int64](5), OutputTokens: wire.Some[int64](8), ReasoningTokens: wire.Some[int64](2),
	}
	geminiEvents := `reasoning(hm)/2 content(Hello)/2 tool(f{"a":"]"})/4`
	check("Gemini as SSE", "/v1beta/models/g:streamGenerateContent", es, strings.ReplaceAll(sse(gemini...), "\n", "\r\n"), want{geminiEvents, geminiInfo})
	check("Gemini as an array", "/v1beta/models/g:streamGenerateContent", js, "["+strings.Join(gemini, "\n,\r\n")+"\n]\n", want{geminiEvents, geminiInfo})
	check("Gemini blocks the prompt", "/v1beta/models/g:streamGenerateContent", js, `[{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5}}]`, want{
		`error`, llmstream.Info{Dialect: llmstream.DialectGemini, FinishReason: "SAFETY", ErrorType: "prompt_blocked", Error: true, Choices: 1, Finished: 1, PromptTokens: wire.Some[int64](5)},
	})
	check("Gemini error", "/v1beta/models/g:streamGenerateContent", js, `[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}]`, want{
		`error`, llmstream.Info{ErrorType: "RESOURCE_EXHAUSTED", Error: true},
	})

	ollama := `{"model":"l","created_at":"2024-05-24T20:57:43.314639Z","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"model":"l","created_at":"2024-05-24T20:57:43.35235Z","message":{"role":"assistant","content":"Hi"},"done":false}
{"model":"l","created_at":"2024-05-24T20:57:43.36Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}
{"model":"l","created_at":"2024-05-24T20:57:44Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":500000000,"load_duration":1000000,"prompt_eval_count":11,"prompt_eval_duration":124000000,"eval_count":3,"eval_duration":300000000}
`
	ollamaWant := want{`reasoning(hm) content(Hi) tool(f{"a":1}) done`, llmstream.Info{
		Dialect: llmstream.DialectOllama, Model: "l", FinishReason: "stop", Done: true, Choices: 1, Finished: 1,
		PromptTokens: wire.Some[int64](11), OutputTokens: wire.Some[int64](3),
		LoadUS: wire.Some[int64](1000), PrefillUS: wire.Some[int64](124_000), DecodeUS: wire.Some[int64](300_000),
	}}
	check("Ollama chat", "/api/chat", nd, ollama, ollamaWant)
	check("Ollama pretty-printed", "/api/chat", nd, strings.ReplaceAll(ollama, `,"done`, ",\n  \"done"), ollamaWant)
	check("Ollama without a content type", "/api/chat", "", ollama, ollamaWant)
	check("Ollama generate, not streamed", "/api/generate", js, `{"model":"l","response":"Hello","done":true,"done_reason":"length","eval_count":4}`, want{
		`content(Hello)/4`, llmstream.Info{Dialect: llmstream.DialectOllama, Model: "l", FinishReason: "length", Done: true, Choices: 1, Finished: 1, OutputTokens: wire.Some[int64](4)},
	})
	check("Ollama error", "/api/chat", nd, `{"error":"model 'x' not found"}`, want{`error`, llmstream.Info{ErrorType: "error", Error: true}})

	check("TGI", "/generate_stream", es, "data:"+`{"index":1,"token":{"id":5,"text":" Hi","logprob":-0.5,"special":false},"generated_text":null,"details":null}`+"\n\n"+
		"data:"+`{"index":2,"token":{"id":2,"text":"</s>","logprob":-0.1,"special":true},"generated_text":" Hi","details":{"finish_reason":"eos_token","generated_tokens":2,"input_length":4}}`+"\n\n", want{
		`content( Hi)/1 role/1`, llmstream.Info{
			Dialect: llmstream.DialectTGI, FinishReason: "eos_token", Done: true, Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](4), OutputTokens: wire.Some[int64](2),
		},
	})
	check("TGI, not streamed, in an array", "/generate", js, `[{"generated_text":"Hi","details":{"finish_reason":"length","generated_tokens":2}}]`, want{
		`content(Hi)/2`, llmstream.Info{Dialect: llmstream.DialectTGI, FinishReason: "length", Done: true, Choices: 1, Finished: 1, OutputTokens: wire.Some[int64](2)},
	})
	check("llama.cpp completion", "/completion", es, sse(
		`{"index":0,"content":"a","tokens":[1],"stop":false,"tokens_predicted":1,"tokens_evaluated":4}`,
		`{"index":0,"content":"é","tokens":[1],"stop":false,"tokens_predicted":3,"tokens_evaluated":4}`,
		`{"index":0,"content":"","tokens":[],"stop":true,"tokens_predicted":3,"tokens_evaluated":4,"stop_type":"limit","model":"m"}`), want{
		`content(a)/1 content(é)/2 done/0`, llmstream.Info{
			Dialect: llmstream.DialectLlamaCpp, Model: "m", FinishReason: "limit", Done: true, Choices: 1, Finished: 1,
			PromptTokens: wire.Some[int64](4), OutputTokens: wire.Some[int64](3),
		},
	})

	check("comments, a mangled one, an empty event", "/v1/chat/completions", es,
		": ping\n\n\n\ndata: : keepalive\n\ndata:\n\nevent: ping\ndata: \n\nid: 7\nretry: 3\n\n"+sse(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`), want{
			`keepalive error keepalive keepalive content(a)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Malformed: 1, Choices: 1},
		})
	check("byte order mark, CR line ends, data over two lines, no final blank line", "/v1/chat/completions", es,
		"\xef\xbb\xbfdata: {\"choices\":[{\"index\":0,\rdata: \"delta\":{\"content\":\"a\"}}]}\r\rdata: [DONE]", want{
			`content(a) done`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Done: true, Choices: 1},
		})
	check("SSE cut off inside an event", "/v1/chat/completions", es, sse(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`)+`data: {"choices":[{"ind`, want{
		`content(a)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Truncated: true, Choices: 1},
	})
	check("a broken line of NDJSON", "/api/chat", nd, `{"response":"a","done":false}`+"\n"+`{"response":"b","do`+"\n"+`{"response":"c","done":false}`+"\n", want{
		`content(a) error content(c)`, llmstream.Info{Dialect: llmstream.DialectOllama, Malformed: 1, Choices: 1},
	})
	check("SSE sent as plain text", "/v1/chat/completions", "text/plain", sse(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`), want{
		`content(a)`, llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Choices: 1},
	})
	check("JSON error under an SSE content type", "/v1/chat/completions", es, `{"error":{"type":"x_error","message":"m"}}`, want{
		`error`, llmstream.Info{ErrorType: "x_error", Error: true},
	})
	check("a web page", "/", "text/html", "<html></html>", want{``, llmstream.Info{}})
	check("escapes, surrogates, half surrogates", "/v1/chat/completions", es, sse(
		`{"choices":[{"index":0,"delta":{"content":"\u00e9\ud83d\ude80\"\\\/\n\ud83dx"}}]}`), want{
		"content(é🚀\"\\/\n\uFFFDx)", llmstream.Info{Dialect: llmstream.DialectOpenAIChat, Choices: 1},
	})
}

func TestTooLongFramesAreSkipped(t *testing.T) {
	long := `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 5000) + `"}}]}`
	good := `{"choices":[{"index":0,"delta":{"content":"a"}}]}`
	for name, body := range map[string]string{
		"sse":    sse(long, good),
		"ndjson": long + "\n" + good + "\n",
		"array":  "[" + long + "," + good + "]",
	} {
		for _, step := range []int{1, 7, 1000, 1 << 20} {
			events, info := parse(llmstream.Options{MaxEventBytes: 4000}, cut([]byte(body), step)...)
			require.Equal(t, "error content(a)", brief(events), "%s in pieces of %d", name, step)
			require.EqualValues(t, 1, info.Oversized, name)
			require.EqualValues(t, 1, info.Malformed, name)
		}
	}
}

func cut(b []byte, step int) [][]byte {
	var out [][]byte
	for len(b) > step {
		out = append(out, b[:step])
		b = b[step:]
	}
	return append(out, b)
}

func TestWebSocketMessages(t *testing.T) {
	var got []event
	p := llmstream.New(llmstream.Options{Path: "/v1/realtime", Text: true}, func(e *llmstream.Event) {
		got = append(got, event{Event: *e, Text: string(e.Text)})
	})
	p.Message([]byte(`{"type":"session.created","session":{}}`), true)
	p.Message([]byte(`{"type":"response.created","response":{"id":"r1"}}`), true)
	p.Message([]byte(`{"type":"response.output_audio_`), false)
	p.Message([]byte(`transcript.delta","delta":"Hi"}`), true)
	p.Opaque()
	p.Message([]byte(`{"type":"response.done","response":{"id":"r1","status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}`), true)
	p.Close()
	require.Equal(t, "role role content(Hi) role done", brief(got))
	i := p.Info()
	require.Equal(t, llmstream.DialectOpenAIRealtime, i.Dialect)
	require.Equal(t, llmstream.FramingWebSocket, i.Framing)
	require.Equal(t, "completed", i.FinishReason)
	require.True(t, i.Complete())
}

func TestOllamaStamps(t *testing.T) {
	var got []int64
	p := llmstream.New(llmstream.Options{CreatedAt: true}, func(e *llmstream.Event) { got = append(got, e.CreatedUS) })
	_, _ = p.Write([]byte(`{"created_at":"2024-05-24T20:57:43.314639Z","response":"a","done":false}
{"created_at":"2025-08-21T22:43:54.414696057+02:00","response":"b","done":false}`))
	require.Equal(t, []int64{1716584263314639, 1755809034414696}, got)
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]llmstream.Dialect{
		"/v1/chat/completions": llmstream.DialectOpenAIChat, "/openai/deployments/x/chat/completions/": llmstream.DialectOpenAIChat,
		"/v1/completions": llmstream.DialectOpenAICompletions, "/v1/responses": llmstream.DialectOpenAIResponses,
		"/v1/messages": llmstream.DialectAnthropic, "/v1beta/models/g:streamGenerateContent": llmstream.DialectGemini,
		"/api/chat": llmstream.DialectOllama, "/api/generate": llmstream.DialectOllama, "/generate": llmstream.DialectTGI,
		"/completion": llmstream.DialectLlamaCpp, "/v1/models": llmstream.DialectUnknown, "/": llmstream.DialectUnknown,
	} {
		require.Equal(t, want, llmstream.DialectOfPath(path), path)
	}
}
