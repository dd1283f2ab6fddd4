package llmstream

import "github.com/fermata-io/fermata/internal/wire"

// Event is one delivered unit of an answer. A frame that carries text of several kinds or of several choices
// makes one event for each.
type Event struct {
	Kind   wire.Kind
	Choice uint16 // index of the answer, for n > 1
	// Bytes is the number of UTF-8 bytes of generated text: answer, thinking, refusal, or a tool's name and
	// arguments. An event of kind content, reasoning, tool or refusal always has some.
	Bytes uint32
	// Tokens is the number of tokens in this event, where the server tells it (TokensKnown). An event without
	// text can have tokens: half a character that the server held back.
	Tokens      uint32
	TokensKnown bool
	// Logprob is the sum of the log-probabilities of the event's tokens, where sent (LogprobKnown).
	Logprob      float32
	LogprobKnown bool
	// CreatedUS is the server's own stamp of this frame, µs since the Unix epoch; 0: none. Only Ollama stamps
	// each frame finer than a second, so only its stamps are read, and only with Options.CreatedAt.
	CreatedUS int64
	// Text is the generated text, with Options.Text. It is valid until the sink returns.
	Text []byte
}

// Info is what holds for a whole answer, as far as it has been read.
type Info struct {
	Dialect Dialect
	Framing Framing

	ResponseID   string
	Model        string // the model that answered
	Fingerprint  string // the server's build or configuration, as it names it (system_fingerprint)
	FinishReason string // as the server said it; of choice 0 where it has one
	StopReason   string // engine's detail: repetition_detected, …
	ErrorType    string // of the last error frame: letters, digits and . _ : - only, "error" where unsuitable

	PromptTokens    wire.Opt[int64] // all tokens of the prompt, cached ones included
	OutputTokens    wire.Opt[int64] // all generated tokens, reasoning included
	ReasoningTokens wire.Opt[int64]
	CachedTokens    wire.Opt[int64] // prompt tokens that came from a cache
	SpecDraft       wire.Opt[int64]
	SpecAccepted    wire.Opt[int64]

	QueueUS   wire.Opt[int64] // phases as the server reports them
	LoadUS    wire.Opt[int64] // loading the model
	PrefillUS wire.Opt[int64]
	DecodeUS  wire.Opt[int64]

	Frames    uint64 // frames read, keepalives and malformed ones included
	Malformed uint64 // frames that could not be read, oversized ones included
	Oversized uint64 // frames longer than Options.MaxEventBytes
	Truncated bool   // the body ended inside a frame that can't be read

	Done     bool   // the protocol's terminal event was seen
	Choices  uint16 // number of choices seen
	Finished uint16 // number of choices that gave a finish reason
	Error    bool   // an error frame was seen
}

// Complete reports whether the answer came to its own end: terminal event seen, or every choice finished.
func (i *Info) Complete() bool { return i.Done || i.Finished > 0 && i.Finished >= i.Choices }

// Options of a Parser. The zero value is usable.
type Options struct {
	Path        string // of the request, without query; a hint
	ContentType string // of the response
	// MaxEventBytes bounds one frame, 1 MiB when 0. A longer one is skipped and counted as malformed.
	MaxEventBytes int
	// Text asks for Event.Text.
	Text bool
	// CreatedAt asks for Event.CreatedUS.
	CreatedAt bool
	// Framing, when not FramingUnknown, is taken as given.
	Framing Framing
}

// DefaultMaxEventBytes bounds one frame when Options says nothing.
const DefaultMaxEventBytes = 1 << 20
