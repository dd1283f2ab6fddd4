package playground

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// heldAtMost bounds what is held of one answer.
const heldAtMost = 8 << 20

func withHold(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, holdKey{}, d)
}

// held reads its source as fast as it comes and gives it out only at every tick, and at the end.
type held struct {
	src  io.ReadCloser
	tick *time.Ticker
	done chan struct{} // the source is at its end

	mu  sync.Mutex
	in  bytes.Buffer
	err error

	out bytes.Buffer // released, belongs to Read
}

func hold(src io.ReadCloser, every time.Duration) io.ReadCloser {
	h := &held{src: src, tick: time.NewTicker(every), done: make(chan struct{})}
	go h.fill()
	return h
}

func (h *held) fill() {
	defer close(h.done)
	buf := make([]byte, 16<<10)
	for {
		n, err := h.src.Read(buf)
		h.mu.Lock()
		h.in.Write(buf[:n])
		if err == nil && h.in.Len() > heldAtMost {
			err = io.ErrShortBuffer
		}
		h.err = err
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read waits for the next release.
func (h *held) Read(p []byte) (int, error) {
	for h.out.Len() == 0 {
		select {
		case <-h.tick.C:
		case <-h.done:
		}
		h.mu.Lock()
		_, _ = h.in.WriteTo(&h.out)
		err := h.err
		h.mu.Unlock()
		if h.out.Len() == 0 && err != nil {
			return 0, err
		}
	}
	return h.out.Read(p)
}

// Close ends the source and waits for its reader.
func (h *held) Close() error {
	h.tick.Stop()
	err := h.src.Close()
	<-h.done
	return err
}
