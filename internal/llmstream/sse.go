package llmstream

import (
	"bytes"

	"github.com/fermata-io/fermata/internal/wire"
)

// eventName is what an SSE event's name can tell when its data says nothing.
type eventName uint8

const (
	eventNone eventName = iota
	eventOther
	eventPing
	eventError
	eventDone
)

type sseState struct {
	data    []byte    // data of the event so far; points into the caller's memory until Write returns
	has     bool      // a data field was seen
	own     []byte    // memory for data that the caller's can't hold
	owned   bool      // data lies in own
	name    eventName // of the event field
	skipLF  bool      // the last byte was a CR that ended a line
	inLine  bool      // buf holds the start of a line
	badLine bool      // the rest of the line is skipped, it was too long
	bad     bool      // the event is too long
}

// writeSSE reads lines, ended by CR, LF or CRLF.
func (p *Parser) writeSSE(b []byte) {
	s := &p.sse
	for len(b) > 0 {
		if s.skipLF {
			s.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := bytes.IndexByte(b, '\n')
		head := b
		if end >= 0 {
			head = b[:end]
		}
		if cr := bytes.IndexByte(head, '\r'); cr >= 0 {
			end = cr
			s.skipLF = true
		}
		if end < 0 {
			p.partialLine(b)
			break
		}
		line := b[:end]
		b = b[end+1:]
		switch {
		case s.badLine:
			s.badLine, s.inLine = false, false
			p.buf = recycle(p.buf)
		case s.inLine:
			if len(p.buf)+len(line) > p.opt.MaxEventBytes {
				p.tooLong()
			} else {
				p.buf = append(p.buf, line...)
				p.line(p.buf, true)
			}
			s.inLine = false
			p.buf = recycle(p.buf)
		case len(line) > p.opt.MaxEventBytes:
			p.tooLong()
		default:
			p.line(line, false)
		}
	}
	if s.has && !s.owned { // the input is the caller's: keep the data of an event that goes on
		p.ownData(s.data)
	}
}

// ownData makes v the event's data, in the parser's own memory.
func (p *Parser) ownData(v []byte) {
	s := &p.sse
	s.own = append(s.own[:0], v...)
	s.data, s.owned = s.own, true
}

func (p *Parser) partialLine(b []byte) {
	s := &p.sse
	s.inLine = true
	if s.badLine {
		return
	}
	if len(p.buf)+len(b) > p.opt.MaxEventBytes {
		s.badLine = true
		p.buf = recycle(p.buf)
		p.tooLong()
		return
	}
	p.buf = append(p.buf, b...)
}

// tooLong drops the event that is being read.
func (p *Parser) tooLong() {
	s := &p.sse
	s.bad, s.has, s.data, s.owned, s.own = true, false, nil, false, nil
}

// line reads one whole line; passing tells that its memory will be used again.
func (p *Parser) line(l []byte, passing bool) {
	s := &p.sse
	if len(l) == 0 {
		p.dispatch()
		return
	}
	if l[0] == ':' {
		p.info.Frames++
		p.sink(&Event{Kind: wire.KindKeepalive})
		return
	}
	var v []byte
	name := l
	if i := bytes.IndexByte(l, ':'); i >= 0 {
		name, v = l[:i], l[i+1:]
		if len(v) > 0 && v[0] == ' ' {
			v = v[1:]
		}
	}
	switch string(name) {
	case "data":
		switch {
		case s.bad:
		case len(s.data)+len(v)+1 > p.opt.MaxEventBytes:
			p.tooLong()
		case !s.has:
			if s.has = true; passing {
				p.ownData(v)
			} else {
				s.data, s.owned = v, false
			}
		default:
			if !s.owned {
				p.ownData(s.data)
			}
			s.own = append(append(s.own, '\n'), v...)
			s.data = s.own
		}
	case "event":
		switch string(v) {
		case "ping", "heartbeat", "keepalive", "keep-alive", "keep_alive":
			s.name = eventPing
		case "error":
			s.name = eventError
		case "done", "end":
			s.name = eventDone
		default:
			s.name = eventOther
		}
	}
}

// dispatch reads the event that a blank line ended.
func (p *Parser) dispatch() {
	s := &p.sse
	name, has, bad, data := s.name, s.has, s.bad, s.data
	s.name, s.has, s.bad, s.data, s.owned = eventNone, false, false, nil, false
	switch {
	case bad:
		p.oversized()
	case !has && name == eventNone: // a second blank line, or id and retry fields only
	case name == eventPing, !has:
		p.info.Frames++
		p.sink(&Event{Kind: wire.KindKeepalive})
	case name == eventError && !jsonLike(data):
		p.info.Frames++
		p.info.Error = true
		p.info.ErrorType = "error"
		p.sink(&Event{Kind: wire.KindError})
	case name == eventDone && !jsonLike(data):
		p.info.Frames++
		p.info.Done = true
		p.sink(&Event{Kind: wire.KindDone})
	default:
		p.value(data)
	}
	s.own = recycle(s.own)
}

func jsonLike(b []byte) bool {
	i := skipSpace(b, 0)
	return i < len(b) && (b[i] == '{' || b[i] == '[')
}

// closeSSE reads an event that the end of the body left open, if it is whole.
func (p *Parser) closeSSE() {
	s := &p.sse
	if s.inLine && !s.badLine {
		p.line(p.buf, true)
	}
	s.inLine, s.badLine = false, false
	switch {
	case s.bad:
		p.dispatch()
	case !s.has:
		s.name = eventNone
	case jsonLike(s.data) && !whole(s.data):
		p.info.Truncated = true
		s.has, s.name, s.data = false, eventNone, nil
	default:
		p.dispatch()
	}
}

// whole reports whether b is one complete JSON value.
func whole(b []byte) bool {
	i := skipSpace(b, 0)
	j := skipValue(b, i)
	return j >= 0 && skipSpace(b, j) == len(b)
}
