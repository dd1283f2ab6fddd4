package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sample is a made text with its right answer.
type Sample struct {
	Kind  string
	Text  string
	Limit bool // ends by the length limit
	Loop  bool
	// of a loop:
	Start  int    // characters before the first repeat
	Period int    // characters; 0 when copies differ in length
	Match  string // exact, masked, drifting
}

// A Maker makes samples of one kind.
type Maker struct {
	Kind string
	Make func(r *rand.Rand) Sample
}

func runes(s string) int { return len([]rune(s)) }

// exact makes a text that begins with a sound part and then repeats a unit, at least least characters and
// three times, and is cut anywhere.
func exact(r *rand.Rand, head, unit string, least int) Sample {
	n := max(3, least/runes(unit)+1)
	n += r.IntN(n + 3)
	u := []rune(unit)
	text := head + strings.Repeat(unit, n) + string(u[:r.IntN(len(u))])
	return Sample{Text: text, Limit: true, Loop: true, Start: runes(head), Period: len(u), Match: "exact"}
}

func head(r *rand.Rand) string { return Prose(r, 1+r.IntN(12)) }

// Loops makes texts that end in a loop.
var Loops = []Maker{
	{"one mark", func(r *rand.Rand) Sample {
		return exact(r, head(r)+" ", pick(r, strings.Split("!|?|;|$|@|,", "|")), 170)
	}},
	{"one letter", func(r *rand.Rand) Sample { return exact(r, head(r)+" ", letters(r, "aAxzq07", 1), 120) }},
	{"two letters", func(r *rand.Rand) Sample {
		return exact(r, head(r)+" ", letters(r, "kno", 1)+letters(r, "aiu", 1), 120)
	}},
	{"ruler without end", func(r *rand.Rand) Sample {
		return exact(r, head(r)+"\n", pick(r, strings.Split("-|=|_|*|- |. |#", "|")), 450)
	}},
	{"line ends", func(r *rand.Rand) Sample { return exact(r, head(r), "\n", 450) }},
	{"blanks", func(r *rand.Rand) Sample { return exact(r, head(r), pick(r, []string{" ", "\t", " \n", "|  \n"}), 450) }},
	{"glued word", func(r *rand.Rand) Sample { return exact(r, head(r), "Pebble"+letters(r, "aeiou", r.IntN(4)), 90) }},
	{"word", func(r *rand.Rand) Sample { return exact(r, head(r), " lant"+letters(r, "aeiournst", 1+r.IntN(6)), 90) }},
	{"phrase", func(r *rand.Rand) Sample { return exact(r, head(r), " "+pick(r, subjects)+" and", 90) }},
	{"sentence", func(r *rand.Rand) Sample { return exact(r, head(r), " "+Sentence(r), 90) }},
	{"line", func(r *rand.Rand) Sample { return exact(r, head(r), "\n"+Sentence(r), 90) }},
	{"bullet", func(r *rand.Rand) Sample { return exact(r, head(r), "\n- "+pick(r, subjects), 90) }},
	{"paragraph", func(r *rand.Rand) Sample { return exact(r, head(r), "\n\n"+Prose(r, 3+r.IntN(5)), 90) }},
	{"paragraphs", func(r *rand.Rand) Sample {
		return exact(r, head(r), "\n\n"+Prose(r, 5)+"\n\n"+Prose(r, 4+r.IntN(6))+"\n\n"+Prose(r, 3+r.IntN(9)), 90)
	}},
	{"reasoning", func(r *rand.Rand) Sample {
		return exact(r, head(r), "\n\nWait, let me check that again. "+Sentence(r)+" So the answer is "+letters(r, "123456789", 2)+".", 90)
	}},
	{"Han word", func(r *rand.Rand) Sample {
		return exact(r, row(r, hanUnits, 6, ""), pick(r, []string{"书店", "好的", "灯塔老人"}), 90)
	}},
	{"Han sentence", func(r *rand.Rand) Sample {
		return exact(r, row(r, hanUnits, 6, ""), row(r, hanUnits, 1+r.IntN(2), ""), 90)
	}},
	{"Han paragraph", func(r *rand.Rand) Sample {
		return exact(r, row(r, hanUnits, 6, ""), "\n"+row(r, hanUnits, 5+r.IntN(40), ""), 90)
	}},
	{"Kana", func(r *rand.Rand) Sample {
		return exact(r, row(r, kanaUnits, 5, ""), row(r, kanaUnits, 2+r.IntN(6), ""), 90)
	}},
	{"Hangul", func(r *rand.Rand) Sample {
		return exact(r, row(r, hangul, 5, " "), " "+row(r, hangul, 2+r.IntN(6), " "), 90)
	}},
	{"Cyrillic", func(r *rand.Rand) Sample {
		return exact(r, row(r, cyrillic, 5, " "), " "+row(r, cyrillic, 1+r.IntN(9), " ")+".", 90)
	}},
	{"Arabic", func(r *rand.Rand) Sample {
		return exact(r, row(r, arabic, 5, " "), " "+row(r, arabic, 2+r.IntN(6), " "), 90)
	}},
	{"Devanagari", func(r *rand.Rand) Sample {
		return exact(r, row(r, devanagari, 5, " "), " "+row(r, devanagari, 2+r.IntN(6), " "), 90)
	}},
	{"Thai", func(r *rand.Rand) Sample { return exact(r, row(r, thai, 5, ""), row(r, thai, 2+r.IntN(6), ""), 90) }},
	{"emoji", func(r *rand.Rand) Sample { return exact(r, head(r)+" ", row(r, emoji, 1+r.IntN(3), ""), 90) }},
	{"same object", func(r *rand.Rand) Sample {
		return exact(r, `{"items": [`, fmt.Sprintf(` {"part": "%s", "qty": %d, "bin": "C%d"},`, pick(r, verbs), r.IntN(50), r.IntN(9)), 320)
	}},
	{"same pretty object", func(r *rand.Rand) Sample {
		return exact(r, "[\n", fmt.Sprintf("  {\n    \"name\": \"%s\",\n    \"price\": %d,\n    \"tags\": [\"%s\"]\n  },\n", pick(r, subjects), r.IntN(900), pick(r, verbs)), 320)
	}},
	{"same table row", func(r *rand.Rand) Sample {
		return exact(r, "| a | b | c |\n|---|---|---|\n", fmt.Sprintf("| %s | %s | %d |\n", pick(r, verbs), pick(r, objects), r.IntN(99)), 320)
	}},
	{"same CSV row", func(r *rand.Rand) Sample {
		return exact(r, "id,name,price\n", fmt.Sprintf("%d,%s,%d.50\n", r.IntN(99), pick(r, verbs), r.IntN(99)), 320)
	}},
	{"same log line", func(r *rand.Rand) Sample {
		return exact(r, "Log:\n", fmt.Sprintf("2024-05-%02d 10:00:00 INFO worker %s ok\n", 1+r.IntN(28), pick(r, verbs)), 320)
	}},
	{"code lines", func(r *rand.Rand) Sample {
		return exact(r, "```python\ndef load(rows):\n    out = []\n", fmt.Sprintf("    out.append(%s(rows[%d]))\n    log.info('%s')\n", pick(r, verbs), r.IntN(9), pick(r, verbs)), 320)
	}},
	{"closing tags", func(r *rand.Rand) Sample {
		return exact(r, "<p>"+head(r), pick(r, []string{"</div>", "</td></tr>", "))", "}\n"}), 320)
	}},
	{"minified code", func(r *rand.Rand) Sample {
		return exact(r, `!function(e,t){var n={};`, fmt.Sprintf(`n.%s=function(e){return t(e,%d)},`, pick(r, verbs), r.IntN(9)), 320)
	}},
	{"tool arguments", func(r *rand.Rand) Sample {
		return exact(r, `{"path": "notes.txt", "text": "`, pick(r, subjects)+` done. `, 90)
	}},
	{"address", func(r *rand.Rand) Sample {
		return exact(r, head(r), "\nhttps://example.org/"+pick(r, verbs)+"/"+letters(r, "abcdef", 5), 320)
	}},
	{"numbers", func(r *rand.Rand) Sample {
		return exact(r, "The row is ", fmt.Sprintf("%d, %d, %d, ", r.IntN(99), 100+r.IntN(99), r.IntN(9)), 400)
	}},
	{"DNA", func(r *rand.Rand) Sample {
		return exact(r, "The sequence is ", "A"+letters(r, "ACGT", 2+r.IntN(9)), 320)
	}},
	{"path", func(r *rand.Rand) Sample {
		return exact(r, `<path d="M0 0`, fmt.Sprintf(" L%d.%d %d.%d", r.IntN(99), r.IntN(99), r.IntN(99), r.IntN(99)), 320)
	}},
	{"starts in mid-word", func(r *rand.Rand) Sample {
		s := exact(r, head(r)+" The evid", "ence of the "+pick(r, verbs)+" evid", 90)
		return s
	}},
	{"rotating labels", func(r *rand.Rand) Sample {
		t := Sentence(r)
		return exact(r, head(r), "\nOption A: "+t+"\nOption B: "+t+"\nOption C: "+t, 90)
	}},
	{"numbered sentence", func(r *rand.Rand) Sample { return counted(r, "\n%d. "+Sentence(r)) }},
	{"numbered step", func(r *rand.Rand) Sample { return counted(r, "\n\nStep %d: "+pick(r, verbs)+" "+pick(r, objects)) }},
	{"numbered turn", func(r *rand.Rand) Sample {
		return counted(r, "\n<turn>helper%d\n"+pick(r, subjects)+" what can you tell me?</turn>")
	}},
	{"numbered paragraph", func(r *rand.Rand) Sample { return counted(r, "\n\n%d. **"+pick(r, objects)+"**: "+Prose(r, 2)) }},
	{"white space varies", func(r *rand.Rand) Sample {
		t, h := Sentence(r), head(r)
		var b strings.Builder
		for range 8 + r.IntN(20) {
			b.WriteString(pick(r, []string{" ", "\n", "\n\n", "  "}) + t)
		}
		return Sample{Text: h + b.String(), Limit: true, Loop: true, Start: runes(h), Match: "masked"}
	}},
	{"growing line", func(r *rand.Rand) Sample {
		h, line := head(r), "\nI see "+pick(r, objects)+" and I think about it for a long time"
		var b strings.Builder
		for range 9 + r.IntN(9) {
			b.WriteString(line)
			line += " again"
		}
		return Sample{Text: h + b.String(), Limit: true, Loop: true, Start: runes(h), Match: "drifting"}
	}},
	{"one word changes", func(r *rand.Rand) Sample {
		h, t := head(r), Prose(r, 2)
		var b strings.Builder
		for range 8 + r.IntN(12) {
			b.WriteString("\n" + pick(r, []string{"First", "Also", "Next", "Then", "Moreover"}) + ", " + t)
		}
		return Sample{Text: h + b.String(), Limit: true, Loop: true, Start: runes(h), Match: "drifting"}
	}},
}

func counted(r *rand.Rand, format string) Sample {
	h := head(r)
	var b strings.Builder
	from, n := r.IntN(200), 8+r.IntN(40)
	for i := range n {
		fmt.Fprintf(&b, format, from+i)
	}
	text := []rune(b.String())
	return Sample{Text: h + string(text[:len(text)-r.IntN(15)]), Limit: true, Loop: true, Start: runes(h), Match: "masked"}
}
