package repetition_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/processors/repetition"
)

// TestRealLoopsAreRaisedEarly: of the exact loops that small models really ran into, those with a period of
// 24 characters or more are raised before the fifth copy ends, or the third from 200 characters on, while
// the stream runs.
func TestRealLoopsAreRaisedEarly(t *testing.T) {
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	early, late := 0, 0
	for _, a := range answers(t) {
		d.Reset()
		var read, at, start int64
		var last repetition.Finding
		raised := map[int64]int64{}
		for i, x := range a.Chunks {
			read += int64(utf8.RuneCountInString(x))
			for _, e := range d.Write(repetition.Content, int64(i), x, nil) {
				if e.Op == repetition.Raise {
					raised[e.Finding.Chunk] = read
				}
			}
		}
		for _, e := range d.Finish(finishOf(a.Finish), nil) {
			if e.Op != repetition.Withdraw {
				last = e.Finding
			}
		}
		e := last.Evidence
		if e.Match != repetition.Exact || e.PeriodChars < 24 {
			continue
		}
		copies := int64(5)
		if e.PeriodChars >= 200 {
			copies = 3
		}
		if e.Chars < copies*e.PeriodChars {
			continue // it ended before
		}
		at, start = raised[last.Chunk], e.StartChar
		if at > 0 && at <= start+copies*e.PeriodChars+8 {
			early++
		} else {
			late++
			t.Logf("%s: raised at %d: %v", a.ID, at, e)
		}
	}
	t.Logf("%d raised early, %d late", early, late)
	require.GreaterOrEqual(t, early, 40)
	require.LessOrEqual(t, 100*late, early)
}
