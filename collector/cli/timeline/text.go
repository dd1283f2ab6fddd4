package timeline

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// clean makes a value from a record fit for a terminal: whatever could move the cursor or change its state is replaced.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// clip shortens s to n columns.
func (p *painter) clip(s string, n int) string {
	if uniseg.StringWidth(s) <= n {
		return s
	}
	var b strings.Builder
	used := 0
	rest := s
	for rest != "" {
		c, r, w, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		if used+w > n-uniseg.StringWidth(p.ell) {
			break
		}
		b.WriteString(c)
		used += w
		rest = r
	}
	return b.String() + p.ell
}

// pad fills s to n columns; to the left when right is set.
func pad(s string, n int, right bool) string {
	fill := n - uniseg.StringWidth(s)
	if fill <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", fill) + s
	}
	return s + strings.Repeat(" ", fill)
}

// span writes a time with three or four digits.
func (p *painter) span(us int64) string {
	neg := ""
	if us < 0 {
		neg, us = "-", -us
	}
	f := float64(us)
	switch {
	case us < 1000:
		return fmt.Sprintf("%s%d %s", neg, us, p.micro)
	case us < 99_950:
		return fmt.Sprintf("%s%.1f ms", neg, f/1e3)
	case us < 999_500:
		return fmt.Sprintf("%s%.0f ms", neg, f/1e3)
	case us < 99_995_000:
		return fmt.Sprintf("%s%.2f s", neg, f/1e6)
	case us < 3600_000_000:
		return fmt.Sprintf("%s%d m %02d s", neg, us/60_000_000, us/1_000_000%60)
	default:
		return fmt.Sprintf("%s%d h %02d m", neg, us/3600_000_000, us/60_000_000%60)
	}
}

func (p *painter) opt(us *int64) string {
	if us == nil {
		return p.dash
	}
	return p.span(*us)
}

// plusMinus writes an uncertainty.
func (p *painter) plusMinus(us int64) string { return " " + p.pm + " " + p.span(us) }

// wrap writes parts one after the other, on as many lines as needed; later lines are indented. A part that is wider than a
// line is broken between words.
func (p *painter) wrap(indent int, sep string, parts []string) {
	at := indent
	fresh := func() {
		p.nl()
		p.WriteString(strings.Repeat(" ", indent))
		at = indent
	}
	put := func(s string) {
		s = p.clip(s, p.width-indent)
		p.WriteString(s)
		at += uniseg.StringWidth(s)
	}
	for i, part := range parts {
		w := uniseg.StringWidth(part)
		switch {
		case i == 0:
		case at+uniseg.StringWidth(sep)+w > p.width:
			fresh()
		default:
			p.put(dim, sep)
			at += uniseg.StringWidth(sep)
		}
		if at+w <= p.width {
			put(part)
			continue
		}
		for j, word := range strings.Fields(part) {
			switch {
			case j == 0:
			case at+1+uniseg.StringWidth(word) > p.width:
				fresh()
			default:
				put(" ")
			}
			put(word)
		}
	}
	p.nl()
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return clean(*s)
}
