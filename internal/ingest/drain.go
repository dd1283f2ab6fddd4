package ingest

import (
	"io"
	"net/http"
	"time"
)

// What is read and thrown away of a body after its answer, and for how long at most.
const (
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
)

// drain reads what next left of a large body, when that is within reason. Clients that send everything before they read
// (Python's urllib, browsers) would get a reset connection instead of the answer: net/http reads no more than 256 KiB.
func drain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		small := r.ContentLength >= 0 && r.ContentLength <= 256<<10
		if small || r.ContentLength > drainBytes || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" {
			next.ServeHTTP(w, r)
			return
		}
		body := &watched{ReadCloser: r.Body} // what is put around it on the way ends at a limit
		r.Body = body
		next.ServeHTTP(w, r)
		if body.ended {
			return
		}
		c := http.NewResponseController(w)
		if c.Flush() != nil || c.SetReadDeadline(time.Now().Add(drainTime)) != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, body, drainBytes)
	})
}

// watched is a body that knows whether there may be more of it.
type watched struct {
	io.ReadCloser
	ended bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}
