package tap

import (
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/fermata-io/fermata/internal/wire"
)

// WebSocket opcodes (RFC 6455, 5.2).
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

// watchSocket follows an upgraded connection: what the upstream sends is recorded, message by message; of what
// the client sends only that it did. mu is held.
func (s *stream) watchSocket(res *http.Response) {
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		return
	}
	w := &socket{ReadWriteCloser: conn, s: s}
	if strings.Contains(res.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate") {
		s.aside = newAside(func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil }, true, s.inflated, s.markNow)
	}
	res.Body = w
}

// inflated takes what the side decoder made of a message.
func (s *stream) inflated(b []byte, end bool, at int64) { s.message(b, end, at) }

// socket is the connection to the upstream of an upgraded request. It passes bytes and reads frames.
type socket struct {
	io.ReadWriteCloser
	s      *stream
	frames frames
}

// Read passes bytes from the upstream to the client.
func (w *socket) Read(p []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(p)
	at := w.s.since()
	if n > 0 {
		w.frames.read(p[:n], func(f *frames, b []byte, end bool) { w.frame(f, b, end, at) })
	}
	if err != nil {
		w.s.bodyEnd(err, at)
	}
	return n, err
}

// frame takes a piece of a frame's payload over.
func (w *socket) frame(f *frames, b []byte, end bool, at int64) {
	s := w.s
	switch {
	case f.opcode == opClose:
		if end {
			s.closed(at)
		}
	case f.opcode == opPing || f.opcode == opPong:
		if end {
			s.mark(wire.KindKeepalive, at)
		}
	case f.message != opText:
		if end {
			s.mark(wire.KindRole, at)
		}
	case s.aside != nil:
		if !s.aside.put(piece{b: b, at: at, end: end, raw: !f.compressed}) {
			s.unfollowed()
		}
	default:
		s.message(b, end, at)
	}
}

// closed records the upstream's closing handshake as the end of the stream.
func (s *stream) closed(at int64) {
	s.mark(wire.KindDone, at)
	s.bodyEnd(io.EOF, at)
}

// frames finds the frames in one direction of a WebSocket, in pieces of any size.
type frames struct {
	head       [14]byte
	have       int
	left       uint64 // payload of the current frame still to come
	opcode     byte   // of the current frame
	message    byte   // opcode of the message that the current data frame belongs to
	fin        bool
	compressed bool // of the message (RSV1)
}

// read calls payload for each piece of each frame's payload; end tells the last piece of a message, or of a
// control frame.
func (f *frames) read(b []byte, payload func(f *frames, b []byte, end bool)) {
	for len(b) > 0 {
		if f.left == 0 {
			n := f.header(b)
			b = b[n:]
			if f.have > 0 { // header not complete
				return
			}
			if f.left == 0 {
				payload(f, nil, f.fin)
			}
			continue
		}
		n := len(b)
		if uint64(n) > f.left {
			n = int(f.left) //nolint:gosec // below len(b)
		}
		f.left -= uint64(n)
		payload(f, b[:n], f.left == 0 && f.fin)
		b = b[n:]
	}
}

// header collects a frame's head and returns the bytes used. have is 0 once it is complete.
func (f *frames) header(b []byte) int {
	used := 0
	for used < len(b) {
		f.head[f.have] = b[used]
		f.have++
		used++
		if f.have < 2 {
			continue
		}
		need := 2
		size := uint64(f.head[1] & 0x7f)
		switch size {
		case 126:
			need += 2
		case 127:
			need += 8
		}
		ext := need
		if f.head[1]&0x80 != 0 { // masked; servers must not, but it is their connection
			need += 4
		}
		if f.have < need {
			continue
		}
		if size >= 126 {
			size = 0
			for _, c := range f.head[2:ext] {
				size = size<<8 | uint64(c)
			}
		}
		f.have, f.left = 0, size
		f.fin, f.opcode = f.head[0]&0x80 != 0, f.head[0]&0x0f
		if f.opcode != 0 && f.opcode < opClose {
			f.message, f.compressed = f.opcode, f.head[0]&0x40 != 0
		}
		return used
	}
	return used
}
