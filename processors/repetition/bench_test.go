package repetition_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fermata-io/fermata/internal/corpus"
	"github.com/fermata-io/fermata/processors/repetition"
	"github.com/fermata-io/fermata/processors/stall"
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

// BenchmarkChunk is the cost of a chunk of about four characters: its loops alone, and with its stalls and slow
// episodes (gaps as in the reference workload: lognormal, 30 ms, σ 0.5, one stall in 40 000 chunks).
func BenchmarkChunk(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	gaps := make([]int64, 1<<15)
	for i := range gaps {
		gaps[i] = int64(30_000 * math.Exp(0.5*r.NormFloat64()))
	}
	gaps[1<<14] = 3_000_000
	for _, x := range benchTexts() {
		chunks := corpus.Chunks(x.text, r)
		for _, both := range []bool{false, true} {
			name := x.name + "/loop"
			if both {
				name = x.name + "/stall+loop"
			}
			b.Run(name, func(b *testing.B) {
				loops, pauses := repetition.NewDefaultConfig(), stall.NewDefaultConfig()
				d, tr := repetition.New(&loops), stall.New(&pauses)
				evs, stalls := make([]repetition.Event, 0, 8), make([]stall.Event, 0, 8)
				b.ReportAllocs()
				k, at := 0, int64(0)
				for n := int64(0); b.Loop(); n++ {
					if k == len(chunks) {
						k = 0
					}
					if both {
						at += gaps[n&(1<<15-1)]
						stalls = tr.Add(stall.Chunk{AtUS: at, Bytes: uint32(len(chunks[k])), Tokens: 1}, stalls[:0])
					}
					evs = d.Write(repetition.Content, n, chunks[k], evs[:0])
					k++
				}
				b.ReportMetric(float64(len(x.text))/float64(len(chunks)), "B/chunk")
			})
		}
	}
}
