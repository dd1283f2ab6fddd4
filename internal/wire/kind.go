package wire

import "fmt"

// Kind says what a chunk carries.
type Kind uint8

// Kinds of chunk. The numbers are stored; never renumber them.
const (
	KindContent   Kind = 0 // answer text
	KindReasoning Kind = 1 // thinking text
	KindTool      Kind = 2 // tool call name or arguments
	KindRefusal   Kind = 3 // refusal text
	KindRole      Kind = 4 // opens the message, no payload; also empty deltas and content-filter frames
	KindUsage     Kind = 5 // token counts only
	KindKeepalive Kind = 6 // comment, ping
	KindError     Kind = 7 // error event or unreadable frame
	KindDone      Kind = 8 // terminal event

	kindCount = 9
)

var kindNames = [kindCount]string{
	"content", "reasoning", "tool", "refusal", "role", "usage", "keepalive", "error", "done",
}

// String returns the wire name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ContentBearing reports whether a chunk of this kind carries generated text, if its payload is not empty.
func (k Kind) ContentBearing() bool { return k <= KindRefusal }

// ParseKind reads a wire name.
func ParseKind(s string) (Kind, bool) {
	for i, n := range kindNames {
		if n == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// KindNames lists the wire names in the order of their stored numbers.
func KindNames() []string { return kindNames[:] }
