package streamprocessor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/streamlog"
	"github.com/fermata-io/fermata/internal/wire"
)

type streamProcessor struct {
	cfg    *Config
	det    detectors
	next   consumer.Logs
	log    *zap.Logger
	tel    *telemetry
	id     component.ID
	shards [shardCount]shard
	limits wire.Limits

	records sync.Pool // of *wire.Stream, for the room of their arrays

	store  *snapshots
	stop   context.CancelFunc
	done   sync.WaitGroup
	unsent []wire.Finding // from the timer; the next stage did not take them yet
	buried []wire.Stream  // records that end streams which fell silent for good; likewise
}

func newProcessor(set processor.Settings, cfg *Config, next consumer.Logs) (*streamProcessor, error) {
	tel, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	p := &streamProcessor{
		cfg: cfg, det: newDetectors(cfg), next: next, log: set.Logger, tel: tel,
		id: set.ID, limits: wire.NewDefaultLimits(),
		records: sync.Pool{New: func() any { return new(wire.Stream) }},
	}
	for i := range p.shards {
		p.shards[i].init(max(1, cfg.MaxStreams/shardCount))
	}
	return p, nil
}

// Capabilities says that text is taken out of records and findings are added.
func (*streamProcessor) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// Start restores the open streams of an earlier run and starts the timer.
func (p *streamProcessor) Start(ctx context.Context, host component.Host) error {
	if p.cfg.Storage != nil {
		store, err := openSnapshots(ctx, host, *p.cfg.Storage, p.id)
		if err != nil {
			return err
		}
		p.store = store
		if err := p.restore(ctx); err != nil {
			// A snapshot that can't be read costs the state of streams that were open, nothing stored.
			p.log.Warn("state of open streams could not be restored", zap.Error(err))
		}
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		p.run(run)
	}()
	return nil
}

func (p *streamProcessor) run(ctx context.Context) {
	tick := time.NewTicker(p.cfg.TickInterval)
	defer tick.Stop()
	saved := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p.tick(now, func(found []wire.Finding) { p.send(ctx, found) })
			if p.store != nil && now.Sub(saved) >= p.cfg.SnapshotInterval {
				saved = now
				if err := p.save(ctx); err != nil && ctx.Err() == nil {
					p.log.Warn("state of open streams could not be saved", zap.Error(err))
				}
			}
		}
	}
}

const (
	// maxUnsent bounds the findings, and the records that end streams, which wait for the next stage.
	maxUnsent = 10_000
	// maxBatch bounds those of one call of it.
	maxBatch = 1000
)

// send hands on what the timer found; what isn't taken goes with the next tick.
func (p *streamProcessor) send(ctx context.Context, found []wire.Finding) {
	p.unsent = append(p.unsent, found...)
	for len(p.unsent)+len(p.buried) > 0 {
		some, ends := p.unsent[:min(len(p.unsent), maxBatch)], p.buried[:min(len(p.buried), maxBatch)]
		ld := plog.NewLogs()
		appendFindings(ld, some)
		appendStreams(ld, ends)
		if err := p.next.ConsumeLogs(ctx, ld); err != nil {
			if over := len(p.unsent) - maxUnsent; over > 0 {
				p.unsent = slices.Delete(p.unsent, 0, over)
				p.tel.dropped("finding", over)
			}
			if over := len(p.buried) - maxUnsent; over > 0 {
				p.buried = p.buried[:maxUnsent]
				p.tel.dropped("ending", over)
			}
			return
		}
		p.tel.found(some)
		p.unsent, p.buried = p.unsent[len(some):], p.buried[len(ends):]
	}
	p.unsent, p.buried = nil, nil
}

// Shutdown stops the timer, sends what still waits, which the state holds for told, and saves the state of open streams.
// Where it can't be saved, nobody will know them any more: their findings are closed.
func (p *streamProcessor) Shutdown(ctx context.Context) error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	p.done.Wait()
	p.stop = nil
	tell := func(found []wire.Finding) { p.send(ctx, found) }
	if p.store == nil {
		p.abandon(tell)
		return nil
	}
	p.tellOrphans(tell)
	err := p.save(ctx)
	if err != nil {
		p.abandon(tell)
	}
	return errors.Join(err, p.store.close(ctx))
}

// ConsumeLogs reads the streams among the records, takes their text out and adds what was found.
func (p *streamProcessor) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	now := time.Now()
	var found []wire.Finding
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, lr := range sl.LogRecords().All() {
				if lr.EventName() == streamlog.EventStream {
					found = append(found, p.read(lr, now)...)
				}
			}
		}
	}
	if len(found) > 0 {
		appendFindings(ld, found)
	}
	if err := p.next.ConsumeLogs(ctx, ld); err != nil {
		p.refused(found)
		return err
	}
	p.tel.found(found)
	return nil
}

func (p *streamProcessor) read(lr plog.LogRecord, now time.Time) []wire.Finding {
	s := p.records.Get().(*wire.Stream)
	defer p.records.Put(s)
	err := streamlog.ReadStream(lr, s, p.limits.MaxChunks)
	lr.Attributes().Remove(streamlog.KeyHashes)
	if !slices.Contains(p.cfg.CaptureText, s.Tenant) {
		lr.Attributes().Remove(streamlog.KeyText)
	}
	switch {
	case err != nil, !s.Chunks.Even():
		p.tel.unreadable()
		return nil
	case s.Synthetic:
		return nil // times that a model made tell nothing of the stream
	default:
		return p.take(s, now)
	}
}

func appendFindings(ld plog.Logs, found []wire.Finding) {
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	lrs.EnsureCapacity(len(found))
	for i := range found {
		streamlog.PutFinding(lrs.AppendEmpty(), &found[i])
	}
}

func appendStreams(ld plog.Logs, all []wire.Stream) {
	if len(all) == 0 {
		return
	}
	lrs := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	lrs.EnsureCapacity(len(all))
	for i := range all {
		streamlog.PutStream(lrs.AppendEmpty(), &all[i])
	}
}

var errNoStorage = errors.New("is not a storage extension")

func storageError(id component.ID, err error) error {
	return fmt.Errorf("storage: %s %w", id, err)
}
