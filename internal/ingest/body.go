package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// A refusal is a request that is answered with a status and one error about the request as a whole.
type refusal struct {
	status int
	reason string // for counting
	field  string
	text   string
}

func (r *refusal) Error() string { return r.field + ": " + r.text }

func refuse(status int, reason, field, format string, args ...any) *refusal {
	return &refusal{status: status, reason: reason, field: field, text: fmt.Sprintf(format, args...)}
}

const fieldBody = "(body)"

// acceptEncoding is what an endpoint can decompress (RFC 9110, 15.5.16).
const acceptEncoding = "gzip, zstd, deflate, identity"

// What is reserved for a body at first, when its size is not known and when it is.
const (
	firstUnknown = 16 << 10
	firstMost    = 1 << 20
)

// keepBytes is the largest buffer kept for the next request.
const keepBytes = 256 << 10

// body holds a request's body in a pooled buffer that admission has accounted for.
type body struct {
	data  []byte
	held  int64
	adm   *admission
	buf   *[]byte
	wire  int64 // bytes as received
	pools *pools
}

type pools struct {
	bufs, gzips, zlibs, zstds sync.Pool
}

// release gives the buffer back. data is invalid from here on.
func (b *body) release() {
	b.adm.shrink(b.held)
	if cap(b.data) <= keepBytes {
		*b.buf = b.data[:0]
		b.pools.bufs.Put(b.buf)
	}
	b.data = nil
}

// counting counts what a body has as received, and remembers what ended it.
type counting struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// readBody reads and decompresses a body of at most maxBytes. With sniff a body that says nothing of its encoding but
// begins as gzip does is taken as that: a beacon can't name one. The body is to be released unless there is an error.
func (p *pools) readBody(r *http.Request, adm *admission, maxBytes int64, sniff bool) (*body, error) {
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if encoding == "identity" {
		encoding = ""
	}
	if encoding == "" && r.ContentLength > maxBytes {
		return nil, tooLarge("has", maxBytes)
	}
	b, err := p.read(r.Body, encoding, r.ContentLength, adm, maxBytes)
	if err != nil || !sniff || encoding != "" || !bytes.HasPrefix(b.data, gzipMagic) {
		return b, err
	}
	defer b.release()
	plain, err := p.read(bytes.NewReader(b.data), "gzip", -1, adm, maxBytes)
	if err != nil {
		return nil, err
	}
	plain.wire = b.wire
	return plain, nil
}

// gzipMagic begins every gzip stream (RFC 1952, 2.3.1), and no text.
var gzipMagic = []byte{0x1f, 0x8b}

// read reads r, which has length bytes (-1: not known), to its end.
func (p *pools) read(r io.Reader, encoding string, length int64, adm *admission, maxBytes int64) (_ *body, err error) {
	b := &body{adm: adm, pools: p}
	b.buf, _ = p.bufs.Get().(*[]byte)
	if b.buf == nil {
		b.buf = new([]byte)
	}
	b.data = (*b.buf)[:0]
	defer func() {
		if err != nil {
			b.release()
		}
	}()
	in := &counting{r: r}
	src, done, err := p.decompressor(encoding, in)
	if err != nil {
		return nil, bodyError(encoding, in, err)
	}
	defer done()
	first := int64(firstUnknown)
	if encoding == "" && length >= 0 {
		first = min(length+1, firstMost) // one more, to see the end without growing
	}
	if err := b.fill(src, first, maxBytes); err != nil {
		if ref := new(refusal); errors.As(err, &ref) {
			return nil, err
		}
		return nil, bodyError(encoding, in, err)
	}
	if int64(len(b.data)) > maxBytes {
		verb := "has"
		if encoding != "" {
			verb = "decompresses to"
		}
		return nil, tooLarge(verb, maxBytes)
	}
	b.wire = in.n
	return b, nil
}

// fill reads src to its end or to a byte beyond maxBytes. The buffer grows with what has arrived, not with
// what was announced.
func (b *body) fill(src io.Reader, first, maxBytes int64) error {
	for size := first; ; size = 2 * int64(cap(b.data)) {
		if err := b.room(min(size, maxBytes+1)); err != nil {
			return err
		}
		for len(b.data) < cap(b.data) {
			n, err := src.Read(b.data[len(b.data):cap(b.data)])
			b.data = b.data[:len(b.data)+n]
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if int64(len(b.data)) > maxBytes {
			return nil
		}
	}
}

// room makes the buffer hold at least size bytes, and has admission account for them.
func (b *body) room(size int64) error {
	have := int64(cap(b.data))
	size = max(size, have)
	if !b.adm.grow(size - b.held) {
		return refuse(http.StatusTooManyRequests, reasonOverload, fieldBody,
			"can't be taken now: the bodies in work fill limits::max_in_flight_bytes (%d)", b.adm.maxBytes)
	}
	b.held = size
	if size > have {
		grown := make([]byte, len(b.data), size)
		copy(grown, b.data)
		b.data = grown
	}
	return nil
}

func tooLarge(verb string, most int64) *refusal {
	return refuse(http.StatusRequestEntityTooLarge, reasonTooLarge, fieldBody,
		"%s more than %d bytes; send smaller batches, or raise limits::max_body_bytes", verb, most)
}

// bodyError says why a body could not be read.
func bodyError(encoding string, in *counting, err error) error {
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit), errors.As(in.err, &limit):
		return refuse(http.StatusRequestEntityTooLarge, reasonTooLarge, fieldBody,
			"has more than %d bytes; send smaller batches, or raise max_request_body_size", limit.Limit)
	case errors.Is(in.err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, reasonBody, fieldBody, "did not arrive in time (read_timeout)")
	case in.err != nil:
		return refuse(http.StatusBadRequest, reasonBody, fieldBody, "ended before its announced length")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return refuse(http.StatusRequestEntityTooLarge, reasonTooLarge, fieldBody, "is zstd with a window of more than %d bytes", zstdWindow)
	case errors.Is(err, errUnsupported):
		return refuse(http.StatusUnsupportedMediaType, reasonMedia, "Content-Encoding", "is not supported; want one of %s", acceptEncoding)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(http.StatusBadRequest, reasonBody, fieldBody, "is truncated %s: it ends before the compressed stream does", encoding)
	default:
		return refuse(http.StatusBadRequest, reasonBody, fieldBody, "is not valid %s", encoding)
	}
}

var errUnsupported = errors.New("unsupported content encoding")

// zstdWindow is the largest window that the encoders of browsers and of the Collector declare.
const zstdWindow = 8 << 20

// decompressor returns a pooled reader for a content encoding, and how to give it back.
func (p *pools) decompressor(encoding string, in io.Reader) (io.Reader, func(), error) {
	switch encoding {
	case "":
		return in, func() {}, nil
	case "gzip", "x-gzip":
		z, ok := p.gzips.Get().(*gzip.Reader)
		var err error
		if ok {
			err = z.Reset(in)
		} else {
			z, err = gzip.NewReader(in)
		}
		if err != nil {
			return nil, nil, err
		}
		return z, func() { p.gzips.Put(z) }, nil
	case "deflate":
		z, ok := p.zlibs.Get().(io.ReadCloser)
		var err error
		if ok {
			err = z.(zlib.Resetter).Reset(in, nil)
		} else {
			z, err = zlib.NewReader(in)
		}
		if err != nil {
			return nil, nil, err
		}
		return z, func() { p.zlibs.Put(z) }, nil
	case "zstd":
		z, ok := p.zstds.Get().(*zstd.Decoder)
		var err error
		if ok {
			err = z.Reset(in)
		} else {
			// One goroutine's worth of decoding: bodies are small and many.
			z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		}
		if err != nil {
			return nil, nil, err
		}
		return z, func() {
			if z.Reset(nil) == nil {
				p.zstds.Put(z)
			}
		}, nil
	default:
		return nil, nil, errUnsupported
	}
}
