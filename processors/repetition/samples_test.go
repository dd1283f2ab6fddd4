package repetition_test

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
)

// played is a text fed chunk by chunk.
type played struct {
	collector
	chunkOf  []int64 // by character
	raisedAt int     // characters read when a loop was first raised; -1: never before the end
}

func play(text string, limit bool, r *rand.Rand) played {
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	p := played{raisedAt: -1}
	for i, c := range corpus.Chunks(text, r) {
		for range utf8.RuneCountInString(c) {
			p.chunkOf = append(p.chunkOf, int64(i))
		}
		evs := d.Write(repetition.Content, int64(i), c, nil)
		if len(evs) > 0 && p.raisedAt < 0 {
			p.raisedAt = len(p.chunkOf)
		}
		p.take(evs)
	}
	how := repetition.FinishStop
	if limit {
		how = repetition.FinishLimit
	}
	p.take(d.Finish(how, nil))
	return p
}

func TestMadeLoopsAreFound(t *testing.T) {
	for _, m := range corpus.Loops {
		t.Run(m.Kind, func(t *testing.T) {
			missed, far, late := 0, 0, 0
			const n = 60
			for seed := range uint64(n) {
				r := rand.New(rand.NewPCG(seed, 11))
				s := m.Make(r)
				p := play(s.Text, s.Limit, r)
				if len(p.list) != 1 {
					missed++
					if missed == 1 {
						t.Logf("seed %d: %d found, %d withdrawn: %q", seed, len(p.list), len(p.withdrawn), tail(s.Text, 300))
					}
					continue
				}
				f := p.list[0]
				require.True(t, f.Evidence.ToEnd)
				if s.Match == "exact" {
					require.Equal(t, int64(0), f.Evidence.PeriodChars%int64(s.Period)*int64(s.Period)%f.Evidence.PeriodChars, "%d %d", s.Period, f.Evidence.PeriodChars)
				}
				if first, last := starts(s); int(f.Evidence.StartChar) < first || int(f.Evidence.StartChar) > last ||
					f.Chunk < p.chunkOf[first]-1 || f.Chunk > p.chunkOf[last]+1 {
					far++
					if far == 1 {
						t.Logf("seed %d: start at %d (chunk %d), want %d (chunk %d): %v", seed, f.Evidence.StartChar, f.Chunk, s.Start, p.chunkOf[s.Start], f.Evidence)
					}
				}
				if s.Match == "exact" && s.Period >= 30 && len(p.chunkOf) > s.Start+5*s.Period {
					copies := 5
					if s.Period >= 200 {
						copies = 3
					}
					if p.raisedAt < 0 || p.raisedAt > s.Start+copies*s.Period+8 {
						late++
						if late == 1 {
							t.Logf("seed %d: raised at %d, loop of %d from %d", seed, p.raisedAt, s.Period, s.Start)
						}
					}
				}
			}
			if missed+far+late > 0 {
				t.Errorf("of %d: missed %d, start more than a chunk off %d, raised late %d", n, missed, far, late)
			}
		})
	}
}

// starts returns the first and the last character that may be called the start of a loop: the last is the
// maker's own, or a little later where copies differ; the first is where the period can be followed back to.
func starts(s corpus.Sample) (first, last int) {
	if s.Match != "exact" {
		return max(0, s.Start-25), s.Start + 14
	}
	x := []rune(s.Text)
	first = max(0, s.Start-2)
	for first > 0 && x[first-1] == x[first-1+s.Period] {
		first--
	}
	return first, min(s.Start+14, s.Start+s.Period/4)
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func TestSoundTextsAreSilent(t *testing.T) {
	for _, m := range corpus.Sound {
		t.Run(m.Kind, func(t *testing.T) {
			alarms, raised := 0, 0
			const n = 60
			for seed := range uint64(n) {
				r := rand.New(rand.NewPCG(seed, 12))
				s := m.Make(r)
				p := play(s.Text, s.Limit, r)
				raised += len(p.withdrawn)
				if len(p.list) > 0 {
					alarms++
					if alarms == 1 {
						t.Logf("seed %d limit %v: %v: %q", seed, s.Limit, p.list[0].Evidence, tail(s.Text, 200))
					}
				}
			}
			if raised > 0 {
				t.Logf("of %d: %d raised and withdrawn", n, raised)
			}
			if alarms > 0 {
				t.Errorf("of %d: %d false alarms", n, alarms)
			}
		})
	}
}
