package timeline

import "strings"

// Options of a drawing.
type Options struct {
	Width int  // columns; at least 60 are used
	ASCII bool // no characters beyond ASCII
	Color bool // ANSI colours
}

const (
	minWidth   = 60
	labelWidth = 11
)

// glyphs are the characters of a drawing.
type glyphs struct {
	levels                    []rune
	empty, wait, queue, fill  rune // nothing in this slice; before the first text; queued; prefill
	gap, line                 rune // inside a marked gap; known to run, chunk times unknown
	markL, markR              string
	axis, tick, corner        rune
	done, failed, cut, going  rune
	dot, dash, arrow, pm, ell string
	micro                     string
}

var unicodeGlyphs = glyphs{
	levels: []rune("▁▂▃▄▅▆▇█"), empty: '·', wait: '┄', queue: '░', fill: '▒', gap: '╍', line: '─',
	markL: "└", markR: "┘", axis: '─', tick: '┬', corner: '┌', done: '●', failed: '✗', cut: '⊘', going: '▶',
	dot: " · ", dash: "–", arrow: "→", pm: "±", ell: "…", micro: "µs",
}

var asciiGlyphs = glyphs{
	levels: []rune(".:-=+*#@"), empty: ' ', wait: '_', queue: 'q', fill: 'p', gap: '~', line: '-',
	markL: "<", markR: ">", axis: '-', tick: '+', corner: '+', done: 'o', failed: 'x', cut: '/', going: '>',
	dot: ", ", dash: "-", arrow: "->", pm: "+-", ell: "...", micro: "us",
}

// style is how a cell looks where colour is allowed.
type style uint8

const (
	plain style = iota
	dim
	bold
	good
	warn
	alert
	info
	styleCount
)

var ansi = [styleCount]string{plain: "", dim: "\x1b[2m", bold: "\x1b[1m", good: "\x1b[32m", warn: "\x1b[33m", alert: "\x1b[31m", info: "\x1b[36m"}

// painter writes styled text.
type painter struct {
	strings.Builder
	glyphs
	width int
	color bool
}

func newPainter(o Options) *painter {
	p := &painter{glyphs: unicodeGlyphs, width: max(o.Width, minWidth), color: o.Color}
	if o.ASCII {
		p.glyphs = asciiGlyphs
	}
	return p
}

func (p *painter) put(s style, text string) {
	if text == "" {
		return
	}
	if s == plain || !p.color {
		p.WriteString(text)
		return
	}
	p.WriteString(ansi[s])
	p.WriteString(text)
	p.WriteString("\x1b[0m")
}

func (p *painter) nl() { p.WriteByte('\n') }

type cell struct {
	r rune
	s style
}

// cells writes cells without the blanks at the end, and each run of one style once.
func (p *painter) cells(c []cell) {
	for len(c) > 0 && (c[len(c)-1].r == ' ' || c[len(c)-1].r == 0) {
		c = c[:len(c)-1]
	}
	for i := 0; i < len(c); {
		j := i
		var run strings.Builder
		for ; j < len(c) && c[j].s == c[i].s; j++ {
			if c[j].r == 0 {
				run.WriteByte(' ')
			} else {
				run.WriteRune(c[j].r)
			}
		}
		p.put(c[i].s, run.String())
		i = j
	}
}
