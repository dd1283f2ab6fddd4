package llmstream

import "bytes"

// jsonState is where a run of JSON values is being read. Commas, record separators (RFC 7464) and the
// brackets of an outermost array count as white space, so an array streams element by element.
type jsonState struct {
	depth   int  // 0: between values
	inStr   bool // inside a string
	escape  bool // behind a backslash in it
	newline bool // the last byte ended a line (NDJSON)
	skip    bool // the value is too long and not kept
	garbage bool // the rest of the line is skipped
}

func (p *Parser) writeJSON(b []byte) {
	s := &p.json
	start := 0 // of the value that is being read, in b
	lines := p.info.Framing == FramingNDJSON
	for i := 0; i < len(b); {
		c := b[i]
		if lines && s.newline && s.depth > 0 && c == '{' {
			p.cutOff(i - start)
		}
		s.newline = c == '\n'
		switch {
		case s.escape:
			s.escape = false
			i++
		case s.inStr:
			i += p.inString(b[i:])
		case s.depth == 0:
			if i = p.between(b, i); s.depth > 0 {
				start = i - 1
			}
		default:
			i++
			switch c {
			case '"':
				s.inStr = true
			case '{', '[':
				s.depth++
			case '}', ']':
				if s.depth--; s.depth == 0 {
					p.complete(b[start:i])
					start = i
				}
			}
		}
	}
	if s.depth > 0 {
		p.keep(b[start:])
	}
}

// cutOff drops a value that was not closed though a new one starts on a line of its own; n bytes of it came last.
func (p *Parser) cutOff(n int) {
	s := &p.json
	switch {
	case s.skip:
	case len(p.buf)+n > p.opt.MaxEventBytes:
		p.oversized()
	default:
		p.info.Frames++
		p.malformed()
	}
	s.depth, s.inStr, s.escape, s.skip = 0, false, false, false
	p.buf = recycle(p.buf)
}

// inString goes on to the end of the string, or to the next thing that matters in it, and returns how far.
func (p *Parser) inString(b []byte) int {
	s := &p.json
	for j, c := range b {
		switch c {
		case '"':
			s.inStr = false
			return j + 1
		case '\\':
			s.escape = true
			return j + 1
		case '\n':
			s.newline = true
			return j + 1
		}
	}
	return len(b)
}

// between reads what stands between values and returns the index to go on at. A bare word, number or string is
// no frame of any dialect: it is counted as one malformed frame, and reading goes on with the next line.
func (p *Parser) between(b []byte, i int) int {
	s := &p.json
	if !s.garbage {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',', '[', ']', 0x1e:
			return i + 1
		case '{':
			s.depth = 1
			return i + 1
		}
		s.garbage = true
		p.info.Frames++
		p.malformed()
	}
	n := bytes.IndexByte(b[i:], '\n')
	if n < 0 {
		return len(b)
	}
	s.garbage = false
	return i + n + 1
}

func (p *Parser) complete(b []byte) {
	s := &p.json
	switch {
	case s.skip:
		s.skip = false
	case len(p.buf)+len(b) > p.opt.MaxEventBytes:
		p.oversized()
	case len(p.buf) == 0:
		p.value(b)
	default:
		p.buf = append(p.buf, b...)
		p.value(p.buf)
	}
	p.buf = recycle(p.buf)
}

// keep stores the start of a value that goes on in the next piece.
func (p *Parser) keep(b []byte) {
	s := &p.json
	if s.skip {
		return
	}
	if len(p.buf)+len(b) > p.opt.MaxEventBytes {
		s.skip = true
		p.buf = recycle(p.buf)
		p.oversized()
		return
	}
	p.buf = append(p.buf, b...)
}

func (p *Parser) closeJSON() {
	if p.json.depth > 0 && !p.json.skip {
		p.info.Truncated = true
	}
	p.json = jsonState{}
}
