package groupcommitprocessor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
)

// ErrTooMuchWaiting is returned to callers while too many records wait for the next consumer. It is not permanent.
var ErrTooMuchWaiting = errors.New("too many records are waiting for the exporter's queue (max_waiting_records); try again later")

// ErrStopped is returned to callers after Shutdown began. It is not permanent.
var ErrStopped = errors.New("the collector is stopping; try again later")

type groupCommit struct {
	cfg  Config
	next consumer.Logs
	tel  telemetry

	slots   chan struct{}  // one for each group in flight
	running sync.WaitGroup // goroutines of groups
	stop    chan struct{}  // closed by Shutdown: groups wait for nobody any more
	once    sync.Once

	mu      sync.Mutex
	open    *group        // takes batches; nil: the next caller starts one
	callers int           // in ConsumeLogs
	waiting int           // records of open and in-flight groups
	took    time.Duration // moving average of the next consumer's time for a group
	stopped bool
}

// group is a set of batches that share one call of the next consumer.
type group struct {
	logs    plog.Logs
	callers int
	records int
	full    chan struct{} // closed when no more batches are taken
	done    chan struct{} // closed when err is set
	err     error
}

func newProcessor(set processor.Settings, cfg *Config, next consumer.Logs) (*groupCommit, error) {
	tel, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &groupCommit{
		cfg: *cfg, next: next, tel: tel,
		slots: make(chan struct{}, cfg.MaxInFlight),
		stop:  make(chan struct{}),
	}, nil
}

// Start does nothing: groups begin with their first caller.
func (*groupCommit) Start(context.Context, component.Host) error { return nil }

// Capabilities says that batches are emptied into the group's.
func (*groupCommit) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeLogs adds the batch to the open group and returns what the next consumer says to that group. When ctx ends
// first it returns ctx's error, and whether the batch was taken is unknown to the caller, as with any lost answer; the
// rest of the group is not touched by that.
func (p *groupCommit) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := logs.LogRecordCount()
	if n == 0 {
		return nil
	}
	g, err := p.join(ctx, logs, n)
	if err != nil {
		return err
	}
	defer p.leave()
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *groupCommit) join(ctx context.Context, logs plog.Logs, n int) (*group, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return nil, ErrStopped
	case p.waiting > 0 && p.waiting+n > p.cfg.MaxWaitingRecords:
		p.tel.refused.Add(ctx, 1)
		return nil, ErrTooMuchWaiting
	}
	if g := p.open; g != nil && g.records+n > p.cfg.MaxRecords {
		p.close(g)
	}
	g := p.open
	if g == nil {
		g = &group{logs: logs, full: make(chan struct{}), done: make(chan struct{})}
		p.open = g
		p.running.Add(1)
		go p.run(g, p.callers > 0) //nolint:gosec // serves many callers: no one's context fits
	} else {
		logs.ResourceLogs().MoveAndAppendTo(g.logs.ResourceLogs())
	}
	g.callers++
	g.records += n
	p.callers++
	p.waiting += n
	if g.records >= p.cfg.MaxRecords {
		p.close(g)
	}
	return g, nil
}

func (p *groupCommit) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callers--
}

// close ends the taking of batches; p.mu is held and g is open.
func (p *groupCommit) close(g *group) {
	p.open = nil
	close(g.full)
}

// run waits as long as waiting helps, passes the group on and answers its callers. company says that other callers were
// around when the group began.
func (p *groupCommit) run(g *group, company bool) {
	defer p.running.Done()
	if delay := p.delay(); company && delay > 0 {
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-g.full:
		case <-p.stop:
		}
		t.Stop()
	}
	p.slots <- struct{}{} // the group goes on taking batches meanwhile
	p.mu.Lock()
	if p.open == g {
		p.close(g)
	}
	p.mu.Unlock()

	// No caller's context: one that gives up must not take the others' records along, and its metadata is its own.
	ctx := context.Background()
	begin := time.Now()
	g.err = p.next.ConsumeLogs(ctx, g.logs)
	took := time.Since(begin)
	<-p.slots
	p.tel.passed(ctx, g.callers, g.records)

	p.mu.Lock()
	p.waiting -= g.records
	p.took += (took - p.took) / 8
	p.mu.Unlock()
	g.logs = plog.Logs{}
	close(g.done)
}

// delay is how long a group waits for company: as long as the next consumer takes for a group, since to wait longer than
// what is saved helps nobody, and at most MaxDelay.
func (p *groupCommit) delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.took, p.cfg.MaxDelay)
}

// Shutdown refuses new batches, passes on what has been taken and waits for the answers, or for ctx.
func (p *groupCommit) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.once.Do(func() { close(p.stop) })

	idle := make(chan struct{})
	go func() {
		p.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("groups still in flight: %w", ctx.Err())
	}
}
