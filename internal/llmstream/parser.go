package llmstream

import (
	"bytes"

	"github.com/fermata-io/fermata/internal/wire"
)

// keepBuffer is how much buffer an idle parser keeps; larger ones are given back after the frame that needed them.
const keepBuffer = 4 << 10

// Parser turns the bytes of one response body into events. Use New; feed it with Write (or Message, for
// WebSocket) and end with Close. It is not safe for concurrent use.
type Parser struct {
	sink    func(*Event)
	opt     Options
	hint    Dialect
	declare Framing // what the content type announces
	info    Info

	sniff  []byte // first bytes, until the framing is known
	buf    []byte // start of a frame that is not complete yet
	sse    sseState
	json   jsonState
	msgBad bool // rest of a WebSocket message is skipped

	ev      []Event
	scratch []byte // text of the events of one frame
	last    raw    // the string that the last staged text came from; nil when it came from several
	mould   mould

	finished   uint64 // choices that gave a finish reason, as bits
	seen       uint64
	prevTokens [8]uint32 // tokens so far of each choice, by continuous usage
	continuous tri
	usage      anthropicUsage
}

// tri is yes, no, or not known yet.
type tri int8

const (
	unknown tri = iota
	yes
	no
)

// New returns a parser that calls sink for each event, from within Write, Message and Close. The event is
// valid until sink returns.
func New(opt Options, sink func(*Event)) *Parser {
	p := &Parser{}
	p.Reset(opt, sink)
	return p
}

// Reset makes the parser ready for another answer and keeps its buffers.
func (p *Parser) Reset(opt Options, sink func(*Event)) {
	if opt.MaxEventBytes <= 0 {
		opt.MaxEventBytes = DefaultMaxEventBytes
	}
	*p = Parser{
		sink: sink, opt: opt, hint: DialectOfPath(opt.Path), declare: FramingOfContentType(opt.ContentType),
		sniff: p.sniff[:0], buf: p.buf[:0], ev: p.ev[:0], scratch: p.scratch[:0],
		sse: sseState{own: p.sse.own[:0]}, mould: mould{text: p.mould.text[:0], off: opt.CreatedAt || p.mould.never},
	}
	p.info.Framing = opt.Framing
	p.info.Dialect = DialectUnknown
}

// Info returns what is known so far. The pointer stays valid until Reset and its target changes with Write.
func (p *Parser) Info() *Info { return &p.info }

// Write reads the next bytes of the body. It always takes all of them.
func (p *Parser) Write(b []byte) (int, error) {
	n := len(b)
	if p.info.Framing == FramingUnknown {
		b = p.detect(b)
	}
	p.feed(b)
	return n, nil
}

func (p *Parser) feed(b []byte) {
	switch p.info.Framing {
	case FramingSSE:
		p.writeSSE(b)
	case FramingNDJSON, FramingJSON:
		p.writeJSON(b)
	}
}

// Message reads a piece of a WebSocket message; end tells that it is the last one.
func (p *Parser) Message(b []byte, end bool) {
	p.info.Framing = FramingWebSocket
	switch {
	case p.msgBad:
	case len(p.buf)+len(b) > p.opt.MaxEventBytes:
		p.msgBad = true
		p.oversized()
	case end && len(p.buf) == 0:
		p.value(b)
	default:
		if p.buf = append(p.buf, b...); end {
			p.value(p.buf)
		}
	}
	if end {
		p.msgBad = false
		p.buf = recycle(p.buf)
	}
}

// Opaque counts a message that holds no text, for instance a binary WebSocket message.
func (p *Parser) Opaque() {
	p.info.Frames++
	p.sink(&Event{Kind: wire.KindRole})
}

// Close tells that the body ended. An SSE event without its final blank line is still read.
func (p *Parser) Close() {
	switch p.info.Framing {
	case FramingSSE:
		p.closeSSE()
	case FramingNDJSON, FramingJSON:
		p.closeJSON()
	case FramingWebSocket:
		p.info.Truncated = p.info.Truncated || len(p.buf) > 0
	}
	p.buf = p.buf[:0]
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxLead is how much white space may stand in front of an answer.
const maxLead = 1024

// detect settles the framing by the first byte that is neither byte order mark nor white space, and returns
// the bytes to go on with.
func (p *Parser) detect(b []byte) []byte {
	if len(p.sniff) > 0 {
		p.sniff = append(p.sniff, b...)
		b = p.sniff
	}
	i := 0
	if bytes.HasPrefix(b, byteOrderMark) {
		i = len(byteOrderMark)
	}
	for i < len(b) && (b[i] == 0x1e || skipSpace(b, i) > i) {
		i++
	}
	switch {
	case i > maxLead:
		p.info.Framing = FramingIgnored
		return nil
	case i == len(b), b[i] == 0xef && i == 0 && len(b) < 3:
		if len(p.sniff) == 0 {
			p.sniff = append(p.sniff, b...)
		}
		return nil
	}
	p.info.Framing = p.guess(b[i])
	return b[i:]
}

func (p *Parser) guess(first byte) Framing {
	switch {
	case first == '{' || first == '[':
		if p.declare == FramingNDJSON {
			return FramingNDJSON
		}
		return FramingJSON
	case p.declare == FramingSSE:
		return FramingSSE
	case first == ':' || first == 'd' || first == 'e' || first == 'i' || first == 'r':
		return FramingSSE
	case p.declare == FramingNDJSON:
		return FramingNDJSON
	}
	return FramingIgnored
}

// recycle empties a buffer and gives a large one back.
func recycle(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// value reads one complete frame.
func (p *Parser) value(b []byte) {
	i := skipSpace(b, 0)
	b = b[i:]
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\n' || b[len(b)-1] == '\r' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	p.info.Frames++
	switch {
	case len(b) == 0:
		p.sink(&Event{Kind: wire.KindKeepalive})
	case string(b) == "[DONE]":
		p.info.Done = true
		p.sink(&Event{Kind: wire.KindDone})
	case b[0] == '{' && p.mould.fits(b):
		p.again(p.mould.between(b))
	case b[0] == '{' || b[0] == '[':
		if !p.read(b) {
			p.malformed()
		}
	default:
		p.malformed()
	}
}

// read reads an object, or each object of an array, and reports the events of all of it or none.
func (p *Parser) read(b []byte) bool {
	p.ev, p.scratch, p.last = p.ev[:0], p.scratch[:0], nil
	if b[0] == '{' {
		if !p.object(b) {
			return false
		}
	} else {
		e := list(b)
		for e.next() {
			if e.val.object() && !p.object(e.val) {
				return false
			}
		}
		if e.bad || skipSpace(b, skipValue(b, 0)) != len(b) {
			return false
		}
	}
	if len(p.ev) == 1 {
		p.mould.take(b, &p.ev[0], p.last)
	}
	off := 0
	for i := range p.ev {
		e := &p.ev[i]
		if p.opt.Text && e.Bytes > 0 {
			e.Text = p.scratch[off : off+int(e.Bytes) : off+int(e.Bytes)]
			off += int(e.Bytes)
		}
		p.sink(e)
	}
	if len(p.ev) > 16 {
		p.ev = nil
	}
	p.scratch = recycle(p.scratch)
	return true
}

func (p *Parser) malformed() {
	p.info.Malformed++
	p.sink(&Event{Kind: wire.KindError})
}

// oversized counts a frame that is too long to be kept, where its end has not been seen yet.
func (p *Parser) oversized() {
	p.info.Frames++
	p.info.Oversized++
	p.malformed()
}

// emit stages an event without text.
func (p *Parser) emit(k wire.Kind) *Event {
	p.ev = append(p.ev, Event{Kind: k})
	return &p.ev[len(p.ev)-1]
}

// text stages an event whose text is the given JSON strings in a row; nothing when they are empty.
func (p *Parser) text(k wire.Kind, choice uint16, parts ...raw) *Event {
	n := 0
	for _, r := range parts {
		if p.opt.Text {
			at := len(p.scratch)
			p.scratch = appendText(p.scratch, r)
			n += len(p.scratch) - at
		} else {
			n += textLen(r)
		}
	}
	if n > 0 {
		p.last = parts[0]
		if len(parts) > 1 {
			p.last = nil
		}
	}
	return p.sized(k, choice, n)
}

// sized stages an event whose n bytes of text are already at the end of scratch (if texts are asked for).
func (p *Parser) sized(k wire.Kind, choice uint16, n int) *Event {
	if n == 0 {
		return nil
	}
	p.ev = append(p.ev, Event{Kind: k, Choice: choice, Bytes: uint32(n)}) //nolint:gosec // a frame is far below 4 GiB
	return &p.ev[len(p.ev)-1]
}

// set takes a string value over if it is there; equal ones cost no allocation.
func set(dst *string, r raw) {
	s := r.inner()
	if len(s) == 0 || string(s) == *dst {
		return
	}
	if len(s) > 1024 {
		return
	}
	*dst = string(appendText(nil, r))
}

// label takes a short machine-made word over: letters, digits and . _ : - of at most 64 characters. Anything
// else could be a user's text and becomes other.
func label(r raw, other string) string {
	s := r.inner()
	if s == nil && len(r) > 0 && len(r) <= 16 && !r.object() && !r.array() {
		s = r // a number
	}
	if len(s) == 0 || len(s) > 64 {
		return other
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return other
		}
	}
	return string(s)
}

// choice notes that a choice was seen.
func (p *Parser) choice(n uint16) {
	if n < 64 {
		p.seen |= 1 << n
	}
	if n >= p.info.Choices {
		p.info.Choices = n + 1
	}
}

// finish notes a choice's finish reason; choice 0 decides what the whole answer says.
func (p *Parser) finish(n uint16, reason raw) bool {
	if !reason.str() || len(reason) == 2 {
		return false
	}
	if n < 64 && p.finished&(1<<n) == 0 {
		p.finished |= 1 << n
		p.info.Finished++
	}
	if n == 0 || p.info.FinishReason == "" {
		p.setReason(reason)
	}
	return true
}

func (p *Parser) setReason(reason raw) {
	if string(reason.inner()) != p.info.FinishReason {
		p.info.FinishReason = label(reason, "other")
	}
}

// fail notes an error frame and stages its event.
func (p *Parser) fail(class string) {
	p.info.Error = true
	p.info.ErrorType = class
	p.emit(wire.KindError)
}

// errorClass finds a short class in an error value of any server's making.
func errorClass(v raw, code raw) string {
	if !v.object() {
		return label(code, "error")
	}
	var typ, status, num raw
	f := walk(v)
	for f.next() {
		switch string(f.key) {
		case "type":
			typ = f.val
		case "status":
			status = f.val
		case "code":
			num = f.val
		}
	}
	for _, r := range [...]raw{typ, status, num, code} {
		if !r.null() {
			if l := label(r, ""); l != "" {
				return l
			}
		}
	}
	return "error"
}
