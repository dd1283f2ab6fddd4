// Package llmstream reads the answers of LLM servers as they pass by: it is fed the bytes of a response body
// in whatever pieces they arrive and reports each delivered unit (SSE event, NDJSON line, array element,
// WebSocket message, whole JSON answer) as an [Event], and what holds for the whole answer as an [Info].
//
// It is an observer. It never fails and never asks for a byte more than it is given: an unreadable frame is
// counted and reported as an event of kind error, and reading goes on with the next one. The pieces do not
// matter: any split of the same bytes gives the same events. Memory is bounded by Options.MaxEventBytes and
// is a few hundred bytes while frames arrive whole.
//
// Framings: SSE (https://html.spec.whatwg.org/multipage/server-sent-events.html), NDJSON and any other run
// of JSON values, JSON arrays that are streamed element by element, WebSocket messages, one JSON document.
//
// Dialects: OpenAI chat completions, completions, responses and realtime (with the additions of vLLM, SGLang,
// llama.cpp, Azure, Groq and others), Anthropic messages, Gemini, Ollama, TGI, llama.cpp's own /completion.
// Each frame is told by its shape; the request's path only settles the framing of frames that say nothing.
package llmstream
