package joiner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// Extension joins requests in the background.
type Extension struct {
	cfg *Config
	log *zap.Logger
	tel *telemetry

	mu   sync.Mutex
	stop context.CancelFunc
	done chan struct{}
}

func newExtension(set component.TelemetrySettings, cfg *Config) (*Extension, error) {
	tel, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	return &Extension{cfg: cfg, log: set.Logger, tel: tel}, nil
}

// Start opens the database's pools and begins to look for new records. ClickHouse may still be away.
func (e *Extension) Start(ctx context.Context, _ component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, err := open(e.cfg, e.tel)
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop, e.done = stop, make(chan struct{})
	go func() {
		defer close(e.done)
		e.run(run, w)
		if err := w.close(); err != nil {
			e.log.Warn("connections could not be closed", zap.Error(err))
		}
	}()
	return nil
}

// Shutdown ends the work; what is not joined yet is found again at the next start.
func (e *Extension) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop == nil {
		return nil
	}
	e.stop()
	e.stop = nil
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// complainEvery bounds how often the same trouble is told.
const complainEvery = time.Minute

func (e *Extension) run(ctx context.Context, w *worker) {
	tick := time.NewTicker(e.cfg.Interval)
	defer tick.Stop()
	var told time.Time
	for {
		err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			e.tel.failed()
			if time.Since(told) > complainEvery {
				told = time.Now()
				e.log.Warn("requests could not be joined; they are tried again", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// worker is one joiner with its connections and what it remembers. It is used by one goroutine.
type worker struct {
	cfg    *Config
	cross  crosstier.Config
	tel    *telemetry
	conn   driver.Conn
	insert *clickhouse.Inserter
	store  *requests.Store
	found  *findings.Reader

	from int64 // seconds since the epoch on the database's clock: rows inserted earlier were looked at
	seen map[name]*arrivals

	textureFrom int64 // as from, for the comparison of versions
	textureDue  time.Time
}

func open(cfg *Config, tel *telemetry) (*worker, error) {
	conn, err := clickhouse.Open(cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	ins, err := clickhouse.OpenInserter(cfg.ClickHouse)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	limits := requests.NewDefaultReadLimits()
	limits.Rows = 100_000
	return &worker{
		cfg: cfg, cross: crosstier.NewDefaultConfig(), tel: tel, conn: conn, insert: ins,
		store: requests.New(conn, limits), found: findings.NewReader(conn), seen: map[name]*arrivals{},
	}, nil
}

func (w *worker) close() error { return errors.Join(w.insert.Close(), w.conn.Close()) }

// look finds what is new and stores what follows from it.
func (w *worker) look(ctx context.Context) error {
	began := time.Now()
	now, err := w.databaseTime(ctx)
	if err != nil {
		return err
	}
	if w.from == 0 {
		w.from = now - int64(w.cfg.CatchUp.Seconds())
		w.textureFrom = w.from
	}
	changed, all, err := w.changes(ctx)
	if err != nil {
		return err
	}
	for _, c := range batches(changed, w.cfg.Batch) {
		if err := w.join(ctx, c); err != nil {
			return err
		}
	}
	if err := w.events(ctx); err != nil {
		return err
	}
	if err := w.textures(ctx, now); err != nil {
		return err
	}
	if all {
		w.from = max(w.from, now-int64(w.cfg.Overlap.Seconds()))
		w.forget()
	}
	w.tel.looked(len(changed), time.Since(began))
	return nil
}
