package repetition_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/processors/repetition"
)

// answer is what a small model really said, chunk by chunk.
type answer struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Prompt string   `json:"prompt"`
	Temp   float64  `json:"temp"`
	Finish string   `json:"finish"` // stop, length
	Chunks []string `json:"x"`
}

// verdict is a label given by reading, where the offline oracle and the detector disagreed.
type verdict struct {
	loop   bool
	reason string
}

func answers(t testing.TB) []answer { return answersOf(t, "testdata/answers.jsonl.gz") }

func answersOf(t testing.TB, path string) []answer {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	var out []answer
	for sc.Scan() {
		var a answer
		require.NoError(t, json.Unmarshal(sc.Bytes(), &a))
		out = append(out, a)
	}
	require.NoError(t, sc.Err())
	return out
}

func verdicts(t testing.TB) map[string]verdict {
	b, err := os.ReadFile("testdata/verdicts.tsv")
	require.NoError(t, err)
	out := map[string]verdict{}
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		f := strings.Split(l, "\t")
		require.Len(t, f, 3, l)
		out[f[0]] = verdict{f[1] == "loop", f[2]}
	}
	return out
}

var (
	digitsOrSpace = regexp.MustCompile(`\p{Nd}+|\s+`)
	lineEnd       = regexp.MustCompile(`\n+|[.!?。！？] *`)
)

func masked(s string) string {
	return digitsOrSpace.ReplaceAllStringFunc(s, func(m string) string {
		if r, _ := utf8.DecodeRuneInString(m); unicode.IsDigit(r) {
			return "#"
		}
		return " "
	})
}

// offline labels a whole answer by other means than the detector's: the Z function on the text, on the text
// with digits and white space masked, and the likeness of neighbouring lines and sentences. Where an answer
// ended by itself there is no loop: it was asked for, or it stopped.
func offline(a answer) (loop bool, how string) {
	if a.Finish != "length" {
		return false, "ended by itself"
	}
	text := strings.Join(a.Chunks, "")
	r := []rune(text)
	for drop := 0; drop <= min(8, len(r)/2); drop++ { // a quote or a line end may follow
		if p, _ := tailPeriod(r[:len(r)-drop], 3, 60); p > 0 {
			return true, "exact"
		}
	}
	m := []rune(masked(text))
	if p, _ := tailPeriod(m, 3, 60); p > 0 {
		if unit := string(m[len(m)-p:]); wordsIn(unit) >= 2 { // more than numbers in a frame
			return true, "masked"
		}
	}
	return alikeAtEnd(text)
}

func wordsIn(s string) int {
	n := 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80 }) {
		if utf8.RuneCountInString(w) >= 3 {
			n++
		}
	}
	return n
}

// alikeAtEnd compares each of the last lines or sentences with that one, two or three before it: a drifting
// loop is a row of five that are nearly the same.
func alikeAtEnd(text string) (bool, string) {
	parts := lineEnd.Split(text, -1)
	var seg [][]string
	for _, p := range parts {
		if w := strings.Fields(masked(p)); len(w) >= 4 {
			seg = append(seg, w)
		}
	}
	if len(seg) > 0 {
		seg = seg[:len(seg)-1] // cut
	}
	for step := 1; step <= 3; step++ {
		alike := 0
		for i := len(seg) - 1; i >= step && likeness(seg[i], seg[i-step]) >= 0.8; i-- {
			alike++
		}
		if alike >= 4*step {
			return true, "drifting"
		}
	}
	return false, "none"
}

// likeness is twice the longest common subsequence of words by the number of words.
func likeness(a, b []string) float64 {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diag := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diag = up
		}
	}
	return 2 * float64(row[len(b)]) / float64(len(a)+len(b))
}

func detect(a answer) collector {
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	var c collector
	for i, x := range a.Chunks {
		c.take(d.Write(repetition.Content, int64(i), x, nil))
	}
	c.take(d.Finish(finishOf(a.Finish), nil))
	return c
}

// TestRealAnswers scores the detector on what two small models said: labelled by the offline oracle, and by
// reading wherever the two disagreed.
func TestRealAnswers(t *testing.T) {
	n, precision, recall := score(t, answers(t))
	require.GreaterOrEqual(t, n, 600)
	require.GreaterOrEqual(t, precision, 0.99)
	require.GreaterOrEqual(t, recall, 0.98)
}

// TestHeldOutAnswers does the same with answers to other questions, on which no threshold was tuned.
func TestHeldOutAnswers(t *testing.T) {
	_, precision, recall := score(t, answersOf(t, "testdata/heldout.jsonl.gz"))
	require.GreaterOrEqual(t, precision, 0.95)
	require.GreaterOrEqual(t, recall, 0.93)
}

func score(t *testing.T, all []answer) (n int, precision, recall float64) {
	read := verdicts(t)
	var hit, miss, falseAlarm, silent int
	for _, a := range all {
		want, how := offline(a)
		if v, ok := read[a.ID]; ok {
			require.NotEqual(t, want, v.loop, "%s: the verdict says what the oracle says", a.ID)
			want, how = v.loop, v.reason
		}
		got := detect(a)
		switch {
		case want && len(got.list) > 0:
			hit++
		case want:
			miss++
			t.Logf("missed %s (%s)", a.ID, how)
		case len(got.list) > 0:
			falseAlarm++
			t.Logf("false alarm %s (%s): %v", a.ID, how, got.list[0].Evidence)
		default:
			silent++
		}
	}
	precision, recall = float64(hit)/float64(hit+falseAlarm), float64(hit)/float64(hit+miss)
	t.Logf("%d answers, %d loops found, %d missed, %d false alarms, %d rightly silent: precision %.3f, recall %.3f",
		len(all), hit, miss, falseAlarm, silent, precision, recall)
	return len(all), precision, recall
}
