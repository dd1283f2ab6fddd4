package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fermata-io/fermata/internal/wire"
)

// Case is one case of processors/testdata/cases.jsonl: streams as they were seen, and the right answer.
type Case struct {
	ID      string       `json:"case"`
	Title   string       `json:"title"`
	Stalls  []CaseStall  `json:"stalls"`
	Loop    *CaseLoop    `json:"loop"`
	Streams []CaseStream `json:"streams"`
	CaseLabel
}

// CaseStall is a gap that must be found.
type CaseStall struct {
	Stream int     `json:"stream"`
	Chunk  int64   `json:"chunk"`
	GapMS  float64 `json:"gap_ms"`
}

// CaseLoop is the loop of a case.
type CaseLoop struct {
	Stream int    `json:"s"`
	Start  int64  `json:"start"`
	Unit   string `json:"unit"`
	Reps   int64  `json:"reps"`
	ToEnd  bool   `json:"to_end"`
}

// CaseStream is one stream of a case. Kinds is run-length coded; C is made from it and T.
type CaseStream struct {
	Source        string          `json:"src"`
	Request       string          `json:"req"`
	T0            float64         `json:"t0"`
	T             []float64       `json:"t"` // ms
	Kinds         [][2]any        `json:"k"`
	Texts         []string        `json:"x"`
	Tokens        []uint32        `json:"n"`
	Finish        string          `json:"finish"`
	ObservedUntil float64         `json:"observed_until"`
	Hidden        json.RawMessage `json:"hidden"`
	Usage         struct {
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"usage"`
	CaseFacts

	C       wire.Chunks `json:"-"`
	Aborted bool        `json:"-"` // ends with a reset or abort
}

var caseKinds = map[string]wire.Kind{
	"c": wire.KindContent, "r": wire.KindReasoning, "t": wire.KindTool,
	"R": wire.KindRole, "e": wire.KindRole, "f": wire.KindRole, "u": wire.KindUsage, "p": wire.KindKeepalive,
	"b": wire.KindError, "D": wire.KindDone, "X": wire.KindError,
}

// LoadCases reads cases.jsonl.
func LoadCases(path string) ([]Case, error) {
	f, err := os.Open(path) //nolint:gosec // a test's own file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []Case
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var c Case
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("case after %d: %w", len(out), err)
		}
		for i := range c.Streams {
			if err := c.Streams[i].chunks(); err != nil {
				return nil, fmt.Errorf("case %s stream %d: %w", c.ID, i, err)
			}
		}
		out = append(out, c)
	}
	return out, sc.Err()
}

func (s *CaseStream) chunks() error {
	text := 0
	for _, run := range s.Kinds {
		name, _ := run[0].(string)
		n, _ := run[1].(float64)
		kind, ok := caseKinds[name]
		if !ok {
			if name == "q" { // paint
				return nil
			}
			return fmt.Errorf("unknown kind %q", name)
		}
		s.Aborted = name == "X"
		for range int(n) {
			i := s.C.Len()
			if i >= len(s.T) {
				return fmt.Errorf("more kinds than times")
			}
			s.C.T = append(s.C.T, int64(s.T[i]*1000+0.5))
			s.C.Kind = append(s.C.Kind, kind)
			var size, tokens uint32
			var x string
			if kind.ContentBearing() {
				size, tokens = 4, 0
				if text < len(s.Texts) {
					x = s.Texts[text]
					size = uint32(len(x)) //nolint:gosec // short
				}
				if text < len(s.Tokens) {
					tokens = s.Tokens[text]
				}
				text++
			}
			s.C.Bytes = append(s.C.Bytes, size)
			s.C.Text = append(s.C.Text, x)
			if len(s.Tokens) > 0 {
				s.C.Tokens = append(s.C.Tokens, tokens)
			}
		}
	}
	return nil
}

// Done reports whether the stream ended with a terminal event or a finish reason.
func (s *CaseStream) Done() bool {
	if s.Finish != "" && !s.Aborted {
		return true
	}
	n := s.C.Len()
	return n > 0 && s.C.Kind[n-1] == wire.KindDone
}
