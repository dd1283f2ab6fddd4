package simulate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// sound makes an answer of at least n characters that repeats nothing without a good reason.
func sound(r *rand.Rand, n int) string {
	s := scriptOf(r)
	switch r.IntN(10) {
	case 0:
		return "Here is the table.\n\n| name | qty | note |\n|---|---|---|\n" + rows(n, func(int) string {
			return fmt.Sprintf("| %s %s | %d | %s |\n", pick(r, s.words), pick(r, s.words), r.IntN(5000), s.some(r, 3))
		})
	case 1:
		return rows(n, func(i int) string { return fmt.Sprintf("%d. %s\n", i+1, strings.TrimSpace(s.sentence(r))) })
	case 2:
		return "```python\n" + rows(n, func(int) string {
			a, b := ident(r), ident(r)
			return fmt.Sprintf("def %s(%s):\n    %s = %s(%d)\n    return %s + %d\n\n", ident(r), a, b, ident(r), r.IntN(900), b, r.IntN(99))
		}) + "```\n"
	case 3:
		return "id,name,place,score\n" + rows(n, func(i int) string {
			return fmt.Sprintf("%d,%s,%s,%.3f\n", i, ident(r), ident(r), r.Float64()*100)
		})
	default:
		return s.prose(r, n)
	}
}

// refrain makes texts that do repeat for a good reason and end by themselves.
func refrain(r *rand.Rand, n int) string {
	s := scriptOf(r)
	switch r.IntN(4) {
	case 0: // a song
		chorus := "\n" + s.sentence(r) + "\n" + s.sentence(r) + "\n\n"
		return rows(n, func(int) string { return s.sentence(r) + "\n" + s.sentence(r) + "\n" + s.sentence(r) + chorus })
	case 1: // somebody asked for the same line, not too often
		return strings.Repeat(strings.TrimSpace(s.sentence(r))+"\n", 8+r.IntN(20))
	case 2:
		return strings.Repeat("=", 60) + "\n" + s.prose(r, n/2) + strings.Repeat("=", 60) + "\n" + s.prose(r, n/2)
	default:
		k := 2 + r.IntN(12)
		return rows(n, func(i int) string { return fmt.Sprintf("%d x %d = %d\n", k, i, k*i) })
	}
}

func rows(n int, row func(i int) string) string {
	var b strings.Builder
	for i, c := 0, 0; c < n; i++ {
		t := row(i)
		c += chars(t)
		b.WriteString(t)
	}
	return b.String()
}

func ident(r *rand.Rand) string { return pick(r, scripts[0].words) + "_" + pick(r, scripts[1].words) }

// loopText is a text that ends in a loop.
type loopText struct {
	text   string
	start  int // characters in front of the first copy
	period int // characters; 0 where copies differ in length
	copies int // whole copies, about
	match  string
	long   bool
}

// loop makes a text that turns into a loop; room is the number of characters after the head that the loop fills at least.
func loop(r *rand.Rand, room int) loopText {
	s := scriptOf(r)
	head := s.prose(r, 60+r.IntN(500))
	switch r.IntN(12) {
	case 0, 1:
		return exactLoop(head, s.space+s.some(r, 2+r.IntN(3)), room)
	case 2, 3, 4:
		return exactLoop(head, s.sentence(r), room)
	case 5:
		return exactLoop(head, "\n- "+s.some(r, 3+r.IntN(5)), room)
	case 6:
		return exactLoop(head, s.paragraph(r, 3+r.IntN(3))+"\n\n", room)
	case 7:
		return exactLoop(head, s.paragraph(r, 4)+"\n\n"+s.paragraph(r, 3+r.IntN(3))+"\n\n", room)
	case 8:
		return exactLoop(head, pick(r, []string{"!", "?", "ha", "no ", "ok "}), room)
	case 9, 10:
		return countedLoop(r, head, s, room)
	default:
		return driftingLoop(r, head, s, room)
	}
}

func exactLoop(head, unit string, room int) loopText {
	p := chars(unit)
	n := max(6, (room+p-1)/p)
	return loopText{head + strings.Repeat(unit, n), chars(head), p, n, "exact", p >= 200}
}

// countedLoop repeats a sentence whose number grows.
func countedLoop(r *rand.Rand, head string, s *script, room int) loopText {
	from, t := r.IntN(300), strings.TrimSpace(s.sentence(r))+" "+strings.TrimSpace(s.sentence(r))
	format := pick(r, []string{"%d. %s\n", "Step %d: %s\n", "(%d) %s "})
	var b strings.Builder
	n := 0
	for ; n < 12 || chars(b.String()) < room; n++ {
		fmt.Fprintf(&b, format, from+n, t)
	}
	return loopText{head + b.String(), chars(head), chars(b.String()) / n, n, "masked", false}
}

// driftingLoop repeats two sentences of which one word changes.
func driftingLoop(r *rand.Rand, head string, s *script, room int) loopText {
	a, z := s.some(r, 8), s.some(r, 9)
	var b strings.Builder
	n := 0
	for ; n < 14 || chars(b.String()) < room; n++ {
		b.WriteString(a + s.space + pick(r, s.words[:9]) + s.space + z + s.stop)
	}
	return loopText{head + b.String(), chars(head), chars(b.String()) / n, n, "drifting", false}
}

// tokens cuts a text into pieces of about four bytes, none of which splits a character.
func tokens(r *rand.Rand, text string) []string {
	var out []string
	for len(text) > 0 {
		n := min(1+r.IntN(7), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}
