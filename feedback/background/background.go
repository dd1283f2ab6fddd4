// Package background runs the work of extensions that look at the database again and again: it starts and ends the goroutine, and
// bounds how often the same trouble is told.
package background

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Worker is one goroutine between Start and Stop. The zero value is ready.
type Worker struct {
	mu   sync.Mutex
	stop context.CancelFunc
	done chan struct{}
}

// Start opens what the work needs and runs it until Stop; the work's context outlives ctx. When open fails nothing runs.
func (w *Worker) Start(ctx context.Context, open func() (work func(context.Context), err error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	work, err := open()
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop, w.done = stop, make(chan struct{})
	go func() {
		defer close(w.done)
		work(run)
	}()
	return nil
}

// Stop cancels the work and waits for its end, at most until ctx is done. Without a Start, or after a Stop, it does nothing.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop == nil {
		return nil
	}
	w.stop()
	w.stop = nil
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// complainEvery bounds how often the same trouble is told.
const complainEvery = time.Minute

// Complaint tells of a trouble that lasts, once a minute at most. It is for one goroutine.
type Complaint struct{ told time.Time }

// Tell logs err as a warning unless that was done within the last minute.
func (c *Complaint) Tell(log *zap.Logger, text string, err error) {
	if time.Since(c.told) > complainEvery {
		c.told = time.Now()
		log.Warn(text, zap.Error(err))
	}
}
