package corpus

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

func lines(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// ended makes a sample that ended by itself or, half of the time, by the limit.
func ended(r *rand.Rand, text string) Sample { return Sample{Text: text, Limit: r.IntN(2) == 0} }

// done makes a sample that ended by itself.
func done(text string) Sample { return Sample{Text: text} }

// Sound makes texts that repeat things for good reasons. Those that a user asked to repeat end by themselves.
var Sound = []Maker{
	{"prose", func(r *rand.Rand) Sample { return ended(r, Prose(r, 5+r.IntN(60))) }},
	{"Markdown table", func(r *rand.Rand) Sample {
		return ended(r, "| name | type | need | note |\n|---|---|---|---|\n"+lines(10+r.IntN(60), func(i int) string {
			return fmt.Sprintf("| field_%02d | %s | required | see note %d |", i, pick(r, []string{"string", "integer", "boolean"}), i)
		}))
	}},
	{"table in turn", func(r *rand.Rand) Sample {
		t := []string{"integer", "boolean", "string"}
		return done("| name | type |\n|---|---|\n" + lines(10+r.IntN(60), func(i int) string {
			return fmt.Sprintf("| field_%02d | %s | required | see note %d |", i, t[i%3], i)
		}))
	}},
	{"price table", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(int) string {
			return fmt.Sprintf("| %s | %d | %s | %d.99 |", pick(r, objects), r.IntN(50), pick(r, []string{"red", "blue", "green"}), r.IntN(90))
		}))
	}},
	{"number table", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(i int) string { return fmt.Sprintf("| %d | %d | %d |", i, i*5, i*i) }))
	}},
	{"distinct objects", func(r *rand.Rand) Sample {
		return ended(r, "["+lines(10+r.IntN(60), func(i int) string {
			return fmt.Sprintf(`  {"id": %d, "name": "%s", "qty": %d, "bin": "%s"},`, i, pick(r, objects), r.IntN(50), letters(r, "ABC123", 3))
		}))
	}},
	{"CSV", func(r *rand.Rand) Sample {
		return ended(r, "t,value\n"+lines(30+r.IntN(150), func(i int) string { return fmt.Sprintf("%.1f,%.3f", float64(i)/10, 3+r.Float64()) }))
	}},
	{"small functions", func(r *rand.Rand) Sample {
		return ended(r, "```python\n"+lines(20+r.IntN(100), func(i int) string { return fmt.Sprintf("def step_%d():\n    print(\"step %d\")\n", i, i) })+"```\n")
	}},
	{"getters", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(30), func(int) string {
			n := pick(r, verbs) + letters(r, "XYZ", 2)
			return fmt.Sprintf("    public String get%s() {\n        return this.%s;\n    }\n", n, n)
		}))
	}},
	{"unit tests", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(40), func(i int) string {
			return fmt.Sprintf("def test_add_%d():\n    assert add(%d, %d) == %d\n", i, i, r.IntN(99), r.IntN(99))
		}))
	}},
	{"log", func(r *rand.Rand) Sample {
		at := time.Date(2024, 5, 3, 10, 0, 0, 0, time.UTC)
		return ended(r, lines(20+r.IntN(80), func(int) string {
			at = at.Add(time.Duration(r.IntN(90_000)) * time.Millisecond)
			return at.Format("2006-01-02 15:04:05.000") + fmt.Sprintf(" INFO request done status=%d bytes=%d path=/%s", 200+r.IntN(5), r.IntN(99_999), pick(r, verbs))
		}))
	}},
	{"SQL inserts", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(i int) string {
			return fmt.Sprintf("INSERT INTO users (id, name, age) VALUES (%d, '%s', %d);", i, pick(r, subjects), 18+r.IntN(60))
		}))
	}},
	{"two SQL blocks", func(r *rand.Rand) Sample {
		q := "SELECT region,\n  COUNT(*) FILTER (WHERE weight IS NULL) AS no_weight,\n  COUNT(*) FILTER (WHERE colour IS NULL) AS no_colour\nFROM %s\nGROUP BY region\nORDER BY region;\n\n"
		return ended(r, fmt.Sprintf(q, "spring_orders")+Sentence(r)+"\n"+fmt.Sprintf(q, "autumn_orders"))
	}},
	{"SVG path", func(r *rand.Rand) Sample {
		return ended(r, `<path d="`+row(r, []string{"C", "L", "M"}, 1, "")+lines(40, func(int) string {
			return fmt.Sprintf("C %d.%d %d.%d, %d.%d", r.IntN(99), r.IntN(99), r.IntN(99), r.IntN(99), r.IntN(99), r.IntN(99))
		}))
	}},
	{"SVG circles", func(r *rand.Rand) Sample {
		return ended(r, lines(20+r.IntN(40), func(int) string {
			return fmt.Sprintf(`<circle cx="%d" cy="%d" r="%d" fill="#%s" />`, r.IntN(500), r.IntN(500), r.IntN(40), letters(r, "0123456789abcdef", 6))
		}))
	}},
	{"base64", func(r *rand.Rand) Sample {
		b := make([]byte, 600+r.IntN(5000))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return ended(r, base64.StdEncoding.EncodeToString(b))
	}},
	{"base64 with zeros", func(r *rand.Rand) Sample {
		b := make([]byte, 600+r.IntN(3000))
		for i := range b {
			if i%400 < 200 {
				b[i] = byte(r.Uint32())
			}
		}
		return ended(r, base64.StdEncoding.EncodeToString(b))
	}},
	{"DNA", func(r *rand.Rand) Sample { return ended(r, letters(r, "ACGT", 300+r.IntN(3000))) }},
	{"hex dump", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(40), func(i int) string {
			return fmt.Sprintf("%08x  %s", i*16, row(r, []string{"00", "48", "8B", "??", "C3", "E8"}, 16, " "))
		}))
	}},
	{"byte patterns", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(20), func(i int) string {
			return fmt.Sprintf("pattern %d: 48 8B %02X %sE8 %02X C3", i, i, strings.Repeat("?? ", 20), r.IntN(256))
		}))
	}},
	{"song", func(r *rand.Rand) Sample {
		refrain := "\n\nRow for the lantern and row for the bar,\nrow till the lamp is a faraway star,\nturn with the tide and turn once more,\nnobody waits on the other shore.\n\n"
		var b strings.Builder
		for range 3 + r.IntN(5) {
			b.WriteString(lines(4, func(int) string { return Sentence(r) }) + refrain)
		}
		return ended(r, b.String()+Sentence(r))
	}},
	{"nursery rhyme", func(r *rand.Rand) Sample {
		return done(lines(2+r.IntN(3), func(int) string {
			return pick(r, subjects) + " had a farm, E-I-E-I-O,\nand on his farm he had " + pick(r, objects) + ", E-I-E-I-O.\nLa la la la la la la la la."
		}))
	}},
	{"multiplication table", func(r *rand.Rand) Sample {
		k := 2 + r.IntN(12)
		return ended(r, lines(20+r.IntN(80), func(i int) string { return fmt.Sprintf("%d x %d = %d", k, i, k*i) }))
	}},
	{"primes", func(r *rand.Rand) Sample {
		var out []string
		for n := 2; len(out) < 60+r.IntN(200); n++ {
			p := true
			for d := 2; d*d <= n; d++ {
				p = p && n%d != 0
			}
			if p {
				out = append(out, fmt.Sprint(n))
			}
		}
		return ended(r, strings.Join(out, ", "))
	}},
	{"counting", func(r *rand.Rand) Sample {
		return ended(r, lines(50+r.IntN(300), func(i int) string { return fmt.Sprint(i + 1) }))
	}},
	{"counting in lists", func(r *rand.Rand) Sample {
		return ended(r, lines(20+r.IntN(100), func(i int) string { return fmt.Sprintf("%d. %d", i+1, i+1) }))
	}},
	{"squares", func(r *rand.Rand) Sample {
		return ended(r, lines(20+r.IntN(80), func(i int) string { return fmt.Sprintf("The square of %d is %d.", i, i*i) }))
	}},
	{"numbered list", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(i int) string { return fmt.Sprintf("%d. %s", i+1, Sentence(r)) }))
	}},
	{"short list", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(int) string { return "- " + pick(r, objects) }))
	}},
	{"addresses", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(60), func(int) string {
			return fmt.Sprintf("%d %s Street, Springfield, IL 627%02d, USA", 1+r.IntN(999), pick(r, []string{"Oak", "Elm", "Main", "Hill", "Lake"}), r.IntN(99))
		}))
	}},
	{"shared prefix", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(40), func(i int) string {
			return fmt.Sprintf("- regions/north-harbour-4471/yards/west-quay-02/services/%s-%s-%d", pick(r, verbs), letters(r, "abcdefghij", 5), i)
		}))
	}},
	{"contents", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(40), func(i int) string {
			return fmt.Sprintf("%d. %s %s %d", i+1, pick(r, objects), strings.Repeat(".", 20), i*7+r.IntN(6))
		}))
	}},
	{"unit table", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(40), func(i int) string { return fmt.Sprintf("%d miles = %.2f kilometres", i, float64(i)*1.609) }))
	}},
	{"schedule", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(25), func(i int) string {
			return fmt.Sprintf("Day %d: %s %s in the morning, rest in the afternoon.", i+1, pick(r, verbs), pick(r, objects))
		}))
	}},
	{"asked-for word", func(r *rand.Rand) Sample {
		return done(strings.TrimSpace(strings.Repeat(pick(r, verbs)+" ", 5+r.IntN(110))))
	}},
	{"asked-for line", func(r *rand.Rand) Sample { return done(strings.Repeat("I will not be late.\n", 5+r.IntN(96))) }},
	{"asked-for numbered line", func(r *rand.Rand) Sample {
		return done(lines(5+r.IntN(96), func(i int) string { return fmt.Sprintf("%d. I will not be late.", i+1) }))
	}},
	{"alphabets", func(*rand.Rand) Sample {
		return done(strings.Repeat("A B C D E F G H I J K L M N O P Q R S T U V W X Y Z\n", 10))
	}},
	{"weeks", func(*rand.Rand) Sample {
		return done(strings.Repeat("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday\n", 5))
	}},
	{"loop that stops by itself", func(r *rand.Rand) Sample {
		return ended(r, head(r)+strings.Repeat(" "+Sentence(r), 4+r.IntN(5))+" "+Prose(r, 4+r.IntN(9)))
	}},
	{"drawing", func(r *rand.Rand) Sample {
		w := 10 + r.IntN(30)
		edge := "+" + strings.Repeat("-", w) + "+\n"
		return ended(r, "```\n"+edge+strings.Repeat("|"+strings.Repeat(" ", w)+"|\n", 4+r.IntN(8))+edge+"```\nFigure: the empty tank. "+Sentence(r))
	}},
	{"chess board", func(*rand.Rand) Sample {
		return done(strings.Repeat("+---+---+---+---+---+---+---+---+\n|   | # |   | # |   | # |   | # |\n+---+---+---+---+---+---+---+---+\n| # |   | # |   | # |   | # |   |\n", 4))
	}},
	{"rulers", func(r *rand.Rand) Sample {
		var b strings.Builder
		for range 3 + r.IntN(9) {
			b.WriteString(strings.Repeat(pick(r, []string{"-", "=", "%", "*", "─", "#"}), 72) + "\n" + Prose(r, 2) + "\n")
		}
		return ended(r, b.String())
	}},
	{"CSS", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(50), func(int) string {
			return fmt.Sprintf(".%s-%s {\n  margin: %dpx;\n  color: #%s;\n}\n", pick(r, verbs), letters(r, "abcde", 3), r.IntN(40), letters(r, "0123456789abcdef", 6))
		}))
	}},
	{"YAML", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(30), func(i int) string {
			return fmt.Sprintf("  %s-%d:\n    image: registry/%s:%d\n    restart: always\n    ports:\n      - \"%d:80\"", pick(r, verbs), i, letters(r, "abcdefgh", 6), i, 8000+r.IntN(900))
		}))
	}},
	{"matrix", func(r *rand.Rand) Sample {
		return ended(r, lines(8+r.IntN(24), func(int) string { return row(r, []string{"0", "1", "0", "0"}, 24, " ") }))
	}},
	{"dialogue", func(r *rand.Rand) Sample {
		return ended(r, lines(10+r.IntN(30), func(i int) string {
			return pick(r, []string{"Anna: ", "Ben: "}) + pick(r, []string{"Yes. ", "No. ", "Perhaps. "}) + Sentence(r)
		}))
	}},
	{"clauses", func(r *rand.Rand) Sample {
		return ended(r, lines(5+r.IntN(20), func(i int) string {
			return fmt.Sprintf("%d.%d The Licensee shall not, without the prior written consent of the Licensor, %s %s %s.", 1+i/5, 1+i%5, pick(r, verbs), pick(r, objects), pick(r, tails))
		}))
	}},
	{"Han prose", func(r *rand.Rand) Sample { return ended(r, row(r, hanUnits, 20+r.IntN(60), "")) }},
	{"Kana prose", func(r *rand.Rand) Sample { return ended(r, row(r, kanaUnits, 20+r.IntN(40), "")) }},
	{"emoji row", func(r *rand.Rand) Sample { return done(row(r, emoji, 20+r.IntN(80), "")) }},
	{"laughter", func(r *rand.Rand) Sample { return ended(r, "Ha"+strings.Repeat("ha", 4+r.IntN(10))+"! "+Prose(r, 3)) }},
}
