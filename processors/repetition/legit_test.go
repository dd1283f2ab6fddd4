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

// TestLegitimateText counts false alarms on what this machine has installed. FERMATA_CORPUS_MB sets how much
// is read; unset, the test is left out, since it depends on the machine and takes minutes.
func TestLegitimateText(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv("FERMATA_CORPUS_MB"))
	if mb == 0 {
		t.Skip("set FERMATA_CORPUS_MB, for instance to 60")
	}
	seed, _ := strconv.ParseUint(os.Getenv("FERMATA_CORPUS_SEED"), 10, 64)
	texts := corpus.Machine(mb<<20/18, seed)
	cfg := repetition.NewDefaultConfig()
	d := repetition.New(&cfg)
	bytes, streams := map[string]int{}, map[string]int{}
	total, alarms, live := 0, 0, 0
	for _, x := range texts {
		r := rand.New(rand.NewPCG(uint64(len(x.Text)), 1))
		chunks := corpus.Chunks(x.Text, r)
		bytes[x.Kind] += len(x.Text)
		streams[x.Kind]++
		total += len(x.Text)
		for _, how := range []repetition.Finish{repetition.FinishLimit, repetition.FinishStop} {
			d.Reset()
			var f collector
			for i, c := range chunks {
				f.take(d.Write(repetition.Content, int64(i), c, nil))
			}
			f.take(d.Finish(how, nil))
			if how == repetition.FinishLimit {
				live += len(f.withdrawn)
				for _, w := range f.withdrawn {
					t.Logf("withdrawn %s %s %+v\n%s", x.Kind, x.Source, w, show(x.Text, w))
				}
			}
			for _, a := range f.list {
				alarms++
				t.Logf("ALARM %d %s %s %+v\n%s", how, x.Kind, x.Source, a, show(x.Text, a))
			}
		}
	}
	for k := range bytes {
		t.Logf("%-12s %6d streams %8.1f MB", k, streams[k], float64(bytes[k])/1e6)
	}
	t.Logf("%d streams, %.1f MB, %d alarms, %d raised and withdrawn", len(texts), float64(total)/1e6, alarms, live)
	require.Zero(t, alarms)
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
