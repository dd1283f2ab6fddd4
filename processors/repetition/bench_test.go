package repetition_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
)

// texts that are hard on a detector, each about 64 kB.
func benchTexts() []struct{ name, text string } {
	const size = 1 << 16
	words := strings.Fields("the a harbour old clerk counted seven copper valves by night while nobody read an upper ledger for days and then some more of it went on to say what it was")
	r := rand.New(rand.NewPCG(1, 2))
	var prose strings.Builder
	for prose.Len() < size {
		prose.WriteString(words[r.IntN(len(words))])
		fmt.Fprintf(&prose, "%c ", 'a'+rune(r.IntN(26)))
	}
	out := []struct{ name, text string }{{"prose", prose.String()}}
	for _, p := range []int{1, 8, 50, 300, 1000, 2500} {
		out = append(out, struct{ name, text string }{fmt.Sprintf("period=%d", p), strings.Repeat(prose.String()[:p], size/p)})
	}
	a, b := "a", "ab"
	for len(b) < size {
		a, b = b, b+a
	}
	out = append(out, struct{ name, text string }{"fibonacci", b})
	m := "a"
	for len(m) < size {
		m += strings.Map(func(c rune) rune { return 'a' + 'b' - c }, m)
	}
	out = append(out, struct{ name, text string }{"thue-morse", m})
	line := []byte(prose.String()[:90])
	var drift strings.Builder
	for drift.Len() < size {
		line[r.IntN(len(line))] = byte('a' + r.IntN(26))
		drift.Write(line)
	}
	out = append(out, struct{ name, text string }{"one-letter", drift.String()})
	var table strings.Builder
	for i := 0; table.Len() < size; i++ {
		fmt.Fprintf(&table, "| field_%02d | %s | required | see note %d |\n", i, words[r.IntN(3)], i)
	}
	out = append(out, struct{ name, text string }{"table", table.String()})
	out = append(out, struct{ name, text string }{"cjk", strings.Repeat("海边的小城有三座灯塔，每座都由一位老人看守。春天渔船出港，秋天货船回来，", size/100)})
	return out
}

func BenchmarkChunk(b *testing.B) {
	for _, x := range benchTexts() {
		b.Run(x.name, func(b *testing.B) {
			var chunks []string
			r := rand.New(rand.NewPCG(1, 1))
			for _, c := range corpus.Chunks(x.text, r) {
				chunks = append(chunks, c)
			}
			cfg := repetition.NewDefaultConfig()
			d := repetition.New(&cfg)
			evs := make([]repetition.Event, 0, 8)
			b.ReportAllocs()
			k := 0
			n := 0
			for b.Loop() {
				if k == len(chunks) {
					k = 0
				}
				evs = d.Write(repetition.Content, int64(n), chunks[k], evs[:0])
				k++
				n++
			}
			b.ReportMetric(float64(len(x.text))/float64(len(chunks)), "B/chunk")
		})
	}
}
