package llmstream

import (
	"bytes"
	"strconv"
)

// maxWanted bounds a captured value of a request.
const maxWanted = 256

// Request is what a generation request asks for, as far as its top level tells.
type Request struct {
	Model     string
	MaxTokens int64 // 0: not given
	N         int64 // 0: not given
	Stream    bool
}

// RequestScanner reads a JSON request body as it passes, in pieces of any size, and keeps only what Request
// holds. It never fails; what is no JSON object gives an empty Request.
type RequestScanner struct {
	req     Request
	left    int // bytes still to be looked at
	started bool
	off     bool // nothing more to learn
	depth   int
	inStr   bool
	escape  bool
	value   bool // at depth 1: behind the colon
	want    wanted
	tok     []byte // key or value being captured
	over    bool   // tok is too long to matter
}

type wanted uint8

const (
	wantNone wanted = iota
	wantModel
	wantMaxTokens
	wantN
	wantStream
)

// DefaultMaxScan is how much of a request body is looked at when Reset is given 0.
const DefaultMaxScan = 1 << 20

// Reset makes the scanner ready for another body, of which at most limit bytes are looked at.
func (s *RequestScanner) Reset(limit int) {
	if limit <= 0 {
		limit = DefaultMaxScan
	}
	*s = RequestScanner{tok: s.tok[:0], left: limit}
}

// Request returns what was found so far.
func (s *RequestScanner) Request() Request { return s.req }

// Write looks at the next bytes of the body. It always takes all of them.
func (s *RequestScanner) Write(b []byte) (int, error) {
	n := len(b)
	if len(b) > s.left {
		b = b[:s.left]
	}
	s.left -= len(b)
	for i := 0; i < len(b) && !s.off; {
		if s.inStr && !s.escape && (s.depth > 1 || s.over) { // skip text quickly
			j := bytes.IndexAny(b[i:], `"\`)
			if j < 0 {
				break
			}
			i += j
		}
		s.step(b[i])
		i++
	}
	return n, nil
}

func (s *RequestScanner) step(c byte) {
	switch {
	case !s.started:
		switch c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		case '{':
			s.started, s.depth = true, 1
		default:
			s.off = true
		}
	case s.escape:
		s.escape = false
		s.capture(c)
	case s.inStr:
		switch c {
		case '\\':
			s.escape = true
			s.capture(c)
		case '"':
			s.inStr = false
			s.capture(c)
		default:
			s.capture(c)
		}
	default:
		s.structure(c)
	}
}

// structure reads a byte outside of strings.
func (s *RequestScanner) structure(c byte) {
	switch c {
	case '"':
		s.inStr = true
		s.capture(c)
	case '{', '[':
		s.depth++
		s.over = true
	case '}', ']':
		if s.depth == 1 {
			s.take()
			s.off = true
			return
		}
		s.depth--
	case ':':
		if s.depth == 1 {
			s.want = keyWanted(s.tok)
			s.value, s.over, s.tok = true, s.want == wantNone, s.tok[:0]
		}
	case ',':
		if s.depth == 1 {
			s.take()
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.capture(c)
	}
}

func (s *RequestScanner) capture(c byte) {
	if s.depth != 1 || s.over {
		return
	}
	if len(s.tok) >= maxWanted {
		s.over = true
		return
	}
	s.tok = append(s.tok, c)
}

func keyWanted(key []byte) wanted {
	switch string(key) {
	case `"model"`:
		return wantModel
	case `"max_tokens"`, `"max_completion_tokens"`, `"max_output_tokens"`, `"n_predict"`:
		return wantMaxTokens
	case `"n"`:
		return wantN
	case `"stream"`:
		return wantStream
	}
	return wantNone
}

// take ends the value of a key of the top level.
func (s *RequestScanner) take() {
	t := raw(s.tok)
	if s.value && !s.over {
		switch s.want {
		case wantModel:
			if len(t) > 2 && t.str() && t[len(t)-1] == '"' {
				s.req.Model = string(appendText(nil, t))
			}
		case wantMaxTokens:
			s.req.MaxTokens, _ = strconv.ParseInt(string(t), 10, 64)
		case wantN:
			s.req.N, _ = strconv.ParseInt(string(t), 10, 64)
		case wantStream:
			s.req.Stream = t.truth()
		}
	}
	s.value, s.want, s.over, s.tok = false, wantNone, false, s.tok[:0]
}
