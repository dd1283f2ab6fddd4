package repetition_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
)

// TestLegitimateText counts false alarms on what this machine has installed. FERMATA_CORPUS_MB sets about how
// much is read; unset, the test is left out, since it depends on the machine and takes minutes. Each piece is
// played twice, as if cut off by a limit and as if ended by itself.
//
// A piece may be periodic itself right up to where it is cut: zero-filled binaries, generated code of equal
// lines. Where the Z function finds three copies and 300 characters at its end (of the text, or with digits
// and white space masked) an alarm is right, and counted apart.
func TestLegitimateText(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv("FERMATA_CORPUS_MB"))
	if mb == 0 {
		t.Skip("set FERMATA_CORPUS_MB, for instance to 100")
	}
	seed, _ := strconv.ParseUint(os.Getenv("FERMATA_CORPUS_SEED"), 10, 64)
	texts := corpus.Machine(mb<<20/20, seed)
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	bytes, streams := map[string]int{}, map[string]int{}
	total, alarms, periodic, raised := 0, 0, 0, 0
	for _, x := range texts {
		r := rand.New(rand.NewPCG(uint64(len(x.Text)), 1))
		chunks := corpus.Chunks(x.Text, r)
		bytes[x.Kind] += len(x.Text)
		streams[x.Kind]++
		total += len(x.Text)
		found := false
		for _, how := range []repetition.Finish{repetition.FinishLimit, repetition.FinishStop} {
			d.Reset()
			var f collector
			for i, c := range chunks {
				f.take(d.Write(repetition.Content, int64(i), c, nil))
			}
			f.take(d.Finish(how, nil))
			if how == repetition.FinishLimit {
				raised += len(f.withdrawn)
			}
			for _, a := range f.list {
				if periodicItself(x.Text) {
					found = true
					continue
				}
				alarms++
				t.Logf("false alarm (finish %d) in %s %s: %v\n%s", how, x.Kind, x.Source, a.Evidence, show(x.Text, a))
			}
		}
		if found {
			periodic++
			t.Logf("periodic itself: %s %s", x.Kind, x.Source)
		}
	}
	for k := range bytes {
		t.Logf("%-12s %6d streams %8.1f MB", k, streams[k], float64(bytes[k])/1e6)
	}
	t.Logf("%d streams, %.1f MB: %d false alarms, %d periodic themselves and told so, %d loops raised and withdrawn on the way",
		len(texts), float64(total)/1e6, alarms, periodic, raised)
	require.Zero(t, alarms)
}

func periodicItself(text string) bool {
	for _, r := range [][]rune{[]rune(text), []rune(masked(text))} {
		for drop := range 9 { // a line end or the like may follow
			if p, _ := tailPeriod(r[:len(r)-drop], 3, 300); p > 0 {
				return true
			}
		}
	}
	return false
}

func show(text string, f repetition.Finding) string {
	r := []rune(text)
	from := min(int(f.Evidence.StartChar), len(r))
	to := min(from+int(min(f.Evidence.Chars, 400)), len(r))
	return strconv.Quote(string(r[from:to]))
}

// collector keeps the last state of each finding.
type collector struct{ list, withdrawn []repetition.Finding }

func (c *collector) take(evs []repetition.Event) {
	for _, e := range evs {
		at := -1
		for i := range c.list {
			if c.list[i].Channel == e.Finding.Channel && c.list[i].Chunk == e.Finding.Chunk {
				at = i
			}
		}
		switch {
		case e.Op == repetition.Withdraw:
			c.withdrawn = append(c.withdrawn, e.Finding)
			if at >= 0 {
				c.list = append(c.list[:at], c.list[at+1:]...)
			}
		case at < 0:
			c.list = append(c.list, e.Finding)
		default:
			c.list[at] = e.Finding
		}
	}
}
