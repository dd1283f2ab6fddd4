package repetition

import "fmt"

// Channel is one of the texts of a stream that are judged apart.
type Channel uint8

// Channels.
const (
	Content Channel = iota
	Reasoning
	Tool

	channels = 3
)

// String returns the name used in findings.
func (c Channel) String() string {
	switch c {
	case Reasoning:
		return "reasoning"
	case Tool:
		return "tool"
	default:
		return "content"
	}
}

// Match says how the copies of a loop agree.
type Match uint8

// Matches, from the strictest.
const (
	Exact    Match = iota // character by character, or word by word
	Masked                // but for digits and white space
	Drifting              // nearly: a word changes, copies grow or shrink
)

// String returns the name used in findings.
func (m Match) String() string {
	switch m {
	case Masked:
		return "masked"
	case Drifting:
		return "drifting"
	default:
		return "exact"
	}
}

// MarshalText returns the name used in findings.
func (m Match) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Hash is a keyed hash of one repeat.
type Hash uint64

// MarshalText returns 16 hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// Finding is a loop: the tail of a channel's text is periodic. Channel and Chunk name it for good, and later
// states replace earlier ones; StartChar, PeriodChars and UnitHash stay as they were when it was raised.
type Finding struct {
	Channel    Channel
	Chunk      int64 // content-bearing chunk of the stream, from 0, in which the first repeat starts
	LastChunk  int64 // chunk seen last while it went on
	Open       bool
	Confidence float64
	Evidence   Evidence
}

// Evidence holds the numbers a loop rests on. Characters are Unicode code points.
type Evidence struct {
	StartChar   int64   `json:"start_char"`   // characters of the channel before the first repeat
	PeriodChars int64   `json:"period_chars"` // length of one repeat
	Repeats     int64   `json:"repeats"`      // full repeats, the first included
	UnitHash    Hash    `json:"unit_hash"`    // keyed hash of one repeat
	ToEnd       bool    `json:"to_end"`       // went on to the end of the channel's text; false while open
	HitLimit    bool    `json:"hit_limit"`    // the stream ended there by its length limit, or the engine stopped it
	Match       Match   `json:"match"`        // exact, masked, drifting
	Chars       int64   `json:"chars"`        // length of all repeats
	Quality     float64 `json:"quality"`      // share of words equal to those one repeat before
	// Words says that all lengths and places above count words, since only their hashes were given.
	Words bool `json:"words,omitempty"`
}

// Op says what happened to a finding.
type Op uint8

// Ops. A raised finding is either updated until it is closed (Open false) or withdrawn.
const (
	Raise Op = iota
	Update
	Withdraw
)

// Event is a change of one finding.
type Event struct {
	Op      Op
	Finding Finding
}

// Finish says how a stream ended.
type Finish uint8

// Ways to end.
const (
	FinishStop       Finish = iota // by itself: stop, tool_calls, a stop string
	FinishLimit                    // by its length limit
	FinishUnknown                  // no finish reason: cut, dead, aborted by whoever read it
	FinishRepetition               // the engine saw a loop itself and stopped it
)

// String tells the loop in words.
func (e Evidence) String() string {
	return fmt.Sprintf("%s loop of %d characters, %d times from %d", e.Match, e.PeriodChars, e.Repeats, e.StartChar)
}
