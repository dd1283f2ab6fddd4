package tap

import (
	"bufio"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fermata-io/fermata/internal/wire"
)

const (
	// maxAsideQueue bounds the raw bytes that wait for decompression. A decoder that lags behind more is given up,
	// the stream isn't.
	maxAsideQueue = 256 << 10
	// maxAsideOutput bounds what one answer may unpack to.
	maxAsideOutput = 512 << 20
	// maxWindow bounds what a zstd frame may ask to be kept.
	maxWindow = 8 << 20
)

var errAsideEnded = errors.New("decoder gave up")

// piece is what one raw read gave, and when.
type piece struct {
	b   []byte
	at  int64
	end bool // of a message
	raw bool // not compressed

	mark bool // no bytes: a chunk without text of this kind
	kind wire.Kind
}

// aside decompresses a copy of an answer in a goroutine of its own. The bytes that come out get the time of the
// raw read that made them possible: the decoder is fed one piece at a time and has given all it can of it before
// it asks for the next one.
type aside struct {
	emit   func(b []byte, end bool, at int64)
	mark   func(k wire.Kind, at int64)
	open   func(io.Reader) (io.Reader, error)
	framed bool // pieces are WebSocket messages (permessage-deflate)

	mu     sync.Mutex
	cond   sync.Cond
	queue  []piece
	size   int
	closed bool
	dead   bool   // given up, or ended
	idle   bool   // the decoder waits for a piece
	at     int64  // of the piece being decoded
	after  func() // called when all is read

	cur  piece // being read by the decoder
	rest []byte
	tail bool // the end of a message was fed, its end not yet told
}

// newAside starts a decoder. emit and mark are called from its goroutine.
func newAside(open func(io.Reader) (io.Reader, error), framed bool, emit func(b []byte, end bool, at int64), mark func(wire.Kind, int64)) *aside {
	a := &aside{emit: emit, mark: mark, open: open, framed: framed}
	a.cond.L = &a.mu
	go a.run()
	return a
}

// put hands a piece over, with a copy of its bytes. It never waits; false says that the decoder has given up.
func (a *aside) put(p piece) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead || a.closed {
		return false
	}
	if a.size+len(p.b) > maxAsideQueue {
		a.dead = true
		a.queue = nil
	} else {
		p.b = append([]byte(nil), p.b...)
		a.queue = append(a.queue, p)
		a.size += len(p.b)
	}
	a.cond.Signal()
	return !a.dead
}

// finish says that no more comes; after is called once everything has been read.
func (a *aside) finish(after func()) {
	a.mu.Lock()
	a.closed, a.after = true, after
	a.cond.Signal()
	a.mu.Unlock()
}

func (a *aside) run() {
	a.decode()
	a.mu.Lock()
	a.dead = true
	a.queue = nil
	for !a.closed {
		a.cond.Wait()
	}
	after := a.after
	a.mu.Unlock()
	after()
}

func (a *aside) decode() {
	for total := 0; ; {
		r, err := a.open(a)
		if err != nil {
			return
		}
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			if total += n; total > maxAsideOutput {
				return
			}
			if n > 0 {
				a.emit(buf[:n], false, a.cur.at)
			}
			if err != nil {
				if c, ok := r.(io.Closer); ok {
					_ = c.Close()
				}
				if !a.framed || !errors.Is(err, io.EOF) || a.over() {
					return
				}
				break // a message ended its deflate stream: the next one starts another
			}
		}
	}
}

// followed returns the time, at most now, up to which everything was decoded.
func (a *aside) followed(now int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.dead || !a.idle:
		return a.at
	case len(a.queue) > 0:
		return a.queue[0].at
	}
	return now
}

// over reports whether nothing is left to read.
func (a *aside) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead || a.closed && len(a.queue) == 0 && len(a.rest) == 0
}

// Read feeds the decoder from one piece at a time.
func (a *aside) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.tail {
			a.tail = false
			a.emit(nil, true, a.cur.at)
		}
		if err := a.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// syncTail is what permessage-deflate leaves out at the end of each message (RFC 7692, 7.2.1).
var syncTail = []byte{0, 0, 0xff, 0xff}

func (a *aside) fetch() error {
	a.mu.Lock()
	a.idle = true
	for len(a.queue) == 0 && !a.closed && !a.dead {
		a.cond.Wait()
	}
	a.idle = false
	if a.dead {
		a.mu.Unlock()
		return errAsideEnded
	}
	if len(a.queue) == 0 {
		a.mu.Unlock()
		return io.EOF
	}
	a.cur, a.at = a.queue[0], a.queue[0].at
	a.queue[0] = piece{}
	if a.queue = a.queue[1:]; len(a.queue) == 0 {
		a.queue = nil
	}
	a.size -= len(a.cur.b)
	a.mu.Unlock()
	switch {
	case a.cur.mark:
		a.mark(a.cur.kind, a.cur.at)
	case a.cur.raw:
		a.emit(a.cur.b, a.cur.end, a.cur.at)
	case a.framed && a.cur.end:
		a.cur.b = append(a.cur.b, syncTail...)
		a.rest = a.cur.b
		a.tail = true
	default:
		a.rest = a.cur.b
	}
	return nil
}

// decoderFor returns how to read a Content-Encoding; nil when it isn't known.
func decoderFor(encoding string) func(io.Reader) (io.Reader, error) {
	var chain []func(io.Reader) (io.Reader, error)
	for _, e := range strings.Split(encoding, ",") {
		switch strings.ToLower(strings.TrimSpace(e)) {
		case "", "identity":
		case "gzip", "x-gzip":
			chain = append(chain, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
		case "br":
			chain = append(chain, func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil })
		case "zstd":
			chain = append(chain, openZstd)
		case "deflate":
			chain = append(chain, openDeflate)
		default:
			return nil
		}
	}
	return func(r io.Reader) (io.Reader, error) {
		for i := len(chain) - 1; i >= 0; i-- {
			var err error
			if r, err = chain[i](r); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
}

func openZstd(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// openDeflate reads "deflate", which servers understand as zlib or as bare deflate.
func openDeflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
