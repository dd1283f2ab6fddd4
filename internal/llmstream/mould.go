package llmstream

import "bytes"

const (
	maxMould  = 1024 // bytes of a frame around its text that are remembered
	maxMisses = 8    // frames in a row that don't fit before remembering is given up
)

// mould remembers the last frame that held nothing but one text, and where the text stood. Most frames of a stream
// differ in their text only: a frame with the same bytes in front of the text and behind it means the same, and
// need not be taken apart. It is used only where the frame's meaning doesn't depend on the frames before it.
type mould struct {
	text   []byte // what stood in front of the text, then what stood behind
	front  int    // length of the first part; 0: nothing remembered
	event  Event  // what the frame made, without its text
	misses int
	off    bool
	never  bool // for tests
}

// fits reports whether b is the remembered frame with another text.
func (m *mould) fits(b []byte) bool {
	if m.front == 0 || len(b) <= len(m.text) ||
		string(b[:m.front]) != string(m.text[:m.front]) || !bytes.HasSuffix(b, m.text[m.front:]) {
		return false
	}
	in := m.between(b)
	return in[len(in)-1] != '\\' && bytes.IndexByte(in, '"') < 0
}

// between returns the escaped text of a frame that fits.
func (m *mould) between(b []byte) []byte { return b[m.front : len(b)-len(m.text)+m.front] }

// take remembers a frame that made one event out of the string from.
func (m *mould) take(b []byte, e *Event, from raw) {
	switch {
	case m.off:
		return
	case m.front > 0:
		if m.misses++; m.misses == maxMisses {
			m.off, m.front, m.text = true, 0, nil
			return
		}
	}
	m.front = 0
	if !e.Kind.ContentBearing() || e.TokensKnown || e.LogprobKnown || !from.str() {
		return
	}
	start := cap(b) - cap(from) + 1 // from is a slice of b: behind its opening quote
	end := start + len(from) - 2
	if start <= 0 || end > len(b) || len(b)-(end-start) > maxMould {
		return
	}
	m.text = append(append(m.text[:0], b[:start]...), b[end:]...)
	m.front, m.event = start, *e
	m.event.Bytes, m.event.Text = 0, nil
}

// again reports the event of a frame that fits the mould, with its own text.
func (p *Parser) again(in []byte) {
	p.mould.misses = 0
	p.ev = append(p.ev[:0], p.mould.event)
	e := &p.ev[0]
	switch {
	case plain(in):
		e.Bytes, e.Text = uint32(len(in)), in //nolint:gosec // a frame is far below 4 GiB
	default:
		p.scratch = appendEscaped(p.scratch[:0], in)
		e.Bytes, e.Text = uint32(len(p.scratch)), p.scratch //nolint:gosec // likewise
		p.scratch = recycle(p.scratch)
	}
	if !p.opt.Text {
		e.Text = nil
	}
	p.sink(e)
}
