package llmstream

import (
	"mime"
	"strings"
)

// Dialect is the protocol an answer is written in.
type Dialect uint8

// The dialects.
const (
	DialectUnknown Dialect = iota
	DialectOpenAIChat
	DialectOpenAICompletions
	DialectOpenAIResponses
	DialectOpenAIRealtime
	DialectAnthropic
	DialectGemini
	DialectOllama
	DialectTGI
	DialectLlamaCpp
)

var dialectNames = [...]string{
	"unknown", "openai_chat", "openai_completions", "openai_responses", "openai_realtime",
	"anthropic", "gemini", "ollama", "tgi", "llamacpp",
}

// String returns the dialect's name, for instance "openai_chat".
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return dialectNames[0]
}

// Framing is how an answer is cut into frames.
type Framing uint8

// The framings.
const (
	FramingUnknown Framing = iota // told by the content type and the first bytes
	FramingSSE
	FramingNDJSON    // JSON values, one a line
	FramingJSON      // JSON values in a row, or elements of one array, or a single document
	FramingWebSocket // fed with Message
	FramingIgnored   // neither: no events
)

var framingNames = [...]string{"unknown", "sse", "ndjson", "json", "websocket", "ignored"}

// String returns the framing's name, for instance "sse".
func (f Framing) String() string {
	if int(f) < len(framingNames) {
		return framingNames[f]
	}
	return framingNames[0]
}

// pathDialects maps the end of a request path to what is served there, longest first where one ends another.
var pathDialects = [...]struct {
	suffix string
	d      Dialect
}{
	{"/chat/completions", DialectOpenAIChat},
	{"/completions", DialectOpenAICompletions},
	{"/responses", DialectOpenAIResponses},
	{"/realtime", DialectOpenAIRealtime},
	{"/messages", DialectAnthropic},
	{":streamGenerateContent", DialectGemini},
	{":generateContent", DialectGemini},
	{"/api/chat", DialectOllama},
	{"/api/generate", DialectOllama},
	{"/generate_stream", DialectTGI},
	{"/generate", DialectTGI},
	{"/completion", DialectLlamaCpp},
	{"/infill", DialectLlamaCpp},
}

// DialectOfPath guesses the dialect from a request's path (without query). DialectUnknown means that the path
// is no known place where text is generated.
func DialectOfPath(path string) Dialect {
	path = strings.TrimRight(path, "/")
	for _, p := range pathDialects {
		if strings.HasSuffix(path, p.suffix) {
			return p.d
		}
	}
	return DialectUnknown
}

// FramingOfContentType tells the framing that a response's Content-Type announces; FramingUnknown when it
// says nothing about it.
func FramingOfContentType(contentType string) Framing {
	mt, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mt = strings.ToLower(strings.TrimSpace(strings.SplitN(contentType, ";", 2)[0]))
	}
	switch mt {
	case "text/event-stream":
		return FramingSSE
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
		"application/jsonlines", "application/stream+json", "application/json-seq", "application/x-json-stream":
		return FramingNDJSON
	case "application/json":
		return FramingJSON
	}
	if strings.HasSuffix(mt, "+json") {
		return FramingJSON
	}
	return FramingUnknown
}
