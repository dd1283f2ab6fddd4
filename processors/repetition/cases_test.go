package repetition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/processors/repetition"
)

func channelOf(k wire.Kind) repetition.Channel {
	switch k {
	case wire.KindReasoning:
		return repetition.Reasoning
	case wire.KindTool:
		return repetition.Tool
	default:
		return repetition.Content
	}
}

func finishOf(s string) repetition.Finish {
	switch {
	case wire.AtLimit(s):
		return repetition.FinishLimit
	case wire.LoopStopped(s):
		return repetition.FinishRepetition
	case s == "stop", s == "tool_calls":
		return repetition.FinishStop
	}
	return repetition.FinishUnknown
}

// raisedAt is where a stream stood when its first loop was raised.
type raisedAt struct{ chunk, chars int64 }

func playCase(s *corpus.CaseStream) (collector, raisedAt) {
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	var f collector
	at := raisedAt{-1, -1}
	n, chars := int64(0), int64(0)
	for i := range s.C.T {
		if !s.C.ContentBearing(i) {
			continue
		}
		evs := d.Write(channelOf(s.C.Kind[i]), n, s.C.Text[i], nil)
		chars += int64(len([]rune(s.C.Text[i])))
		if len(evs) > 0 && at.chunk < 0 {
			at = raisedAt{n, chars}
		}
		f.take(evs)
		n++
	}
	f.take(d.Finish(finishOf(s.Finish), nil))
	return f, at
}

func TestLoopCases(t *testing.T) {
	list, err := corpus.LoadCases("../testdata/cases.jsonl")
	require.NoError(t, err)
	for i := range list {
		c := &list[i]
		if c.ID[0] != 'L' && c.ID[0] != 'N' {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			s := &c.Streams[0]
			f, at := playCase(s)
			if c.ID[0] == 'N' {
				require.Empty(t, f.list)
				require.Empty(t, f.withdrawn)
				return
			}
			require.Len(t, f.list, 1)
			require.Empty(t, f.withdrawn)
			got := f.list[0]
			t.Logf("%+v raised at %+v", got, at)
			e := got.Evidence
			require.True(t, e.ToEnd)
			require.True(t, e.HitLimit)
			require.False(t, got.Open)
			if c.ID == "L22" {
				require.Equal(t, repetition.Tool, got.Channel)
			}
			if c.ID == "L11" {
				require.EqualValues(t, 60, got.Chunk)
				require.InDelta(t, 45, e.PeriodChars, 1)
				require.InDelta(t, 120, e.Repeats, 1)
				require.Equal(t, repetition.Masked, e.Match)
				return
			}
			p := int64(len([]rune(c.Loop.Unit)))
			require.Equal(t, c.Loop.Start, got.Chunk)
			require.Equal(t, p, e.PeriodChars)
			require.Equal(t, c.Loop.Reps, e.Repeats)
			require.Equal(t, repetition.Exact, e.Match)
			if 5*p > 2*60 {
				require.LessOrEqual(t, at.chars, e.StartChar+5*p, "raised before the fifth repeat")
			}
		})
	}
}

// The further cases by the detector alone: each loop is found where it starts, and nothing else is told.
func TestFurtherLoopCases(t *testing.T) {
	for _, name := range []string{"cases_more.jsonl", "cases_held.jsonl"} {
		list, err := corpus.LoadCases("../testdata/" + name)
		require.NoError(t, err)
		for i := range list {
			c := &list[i]
			if c.ID[0] != 'L' && c.ID[0] != 'N' || len(c.May) > 0 || len(c.Streams[0].Texts) == 0 {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				f, _ := playCase(&c.Streams[0])
				want := c.Want["r1"]
				require.Len(t, f.list, len(want))
				for k, w := range want {
					require.InDelta(t, *w.Chunk, f.list[k].Chunk, float64(w.ChunkTol))
				}
			})
		}
	}
}
