package semconv

import "strings"

// Names of events that mean one chunk or one token each, as senders are known to use them.
const (
	EventTokenGenerated = "gen_ai.token.generated" // LoongSuite conventions; one event for each token
	EventTokenScheduled = "gen_ai.token.scheduled" // not a chunk: tells the queue's end
)

// DefaultChunkEvents are the names of span events and log records that stand for one chunk each.
func DefaultChunkEvents() []string {
	return []string{
		"fermata.chunk",
		"gen_ai.chunk", "gen_ai.content.chunk", "gen_ai.response.chunk", "gen_ai.stream.chunk",
		"gen_ai.content.completion.chunk", // AgentOps, neatlogs
		EventTokenGenerated,
		"llm.content.completion.chunk", // OpenLLMetry, one for each item of the stream
		"llm.content.chunk", "llm.chunk", "llm.token", "llm.new_token",
		"chunk", "token", "new_token", "stream.chunk",
	}
}

// firstTokenEvents mark the first chunk only.
var firstTokenEvents = map[string]bool{
	"First Token Stream Event": true, // OpenInference, Envoy AI Gateway
	"ai.stream.firstChunk":     true, // Vercel AI SDK
	"gen_ai.first_token":       true,
	"llm.first_token":          true,
	"first_token":              true,
}

// FirstToken reports whether an event of that name marks the first chunk, without telling of the others.
func FirstToken(name string) bool { return firstTokenEvents[name] }

var doneEvents = map[string]bool{
	"fermata.done": true, "gen_ai.stream.done": true, "gen_ai.content.end": true, "gen_ai.stream.end": true,
	"llm.stream.done": true, "llm.stream.end": true, "ai.stream.finish": true,
}

// Done reports whether an event of that name says that the stream ended.
func Done(name string) bool { return doneEvents[name] }

// OwnName reports whether a name belongs to a GenAI namespace, so that it needs no other sign of what it is.
func OwnName(name string) bool {
	return strings.HasPrefix(name, "gen_ai.") || strings.HasPrefix(name, "llm.") || strings.HasPrefix(name, "fermata.")
}
