package joiner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	lru "github.com/hashicorp/golang-lru/v2"
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

	// Seconds since the Unix epoch on the database's clock: all rows stamped before from are noted, all before saved are
	// joined and known to be.
	started     bool
	from, saved int64
	saveDue     time.Time
	blind       bool                      // other users' inserts can't be seen
	seen        map[arrival]uint64        // sums of the rows that were noted, from from on
	pending     map[name]*pending         // noted, and not joined yet
	written     *lru.Cache[name, written] // rows written last

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
	last, err := lru.New[name, written](cfg.Remember)
	if err != nil {
		return nil, errors.Join(err, ins.Close(), conn.Close())
	}
	return &worker{
		cfg: cfg, cross: crosstier.NewDefaultConfig(), tel: tel, conn: conn, insert: ins,
		store: requests.New(conn, limits), found: findings.NewReader(conn),
		seen: map[arrival]uint64{}, pending: map[name]*pending{}, written: last,
	}, nil
}

func (w *worker) close() error { return errors.Join(w.insert.Close(), w.conn.Close()) }

// saveEvery is how often progress is stored.
const saveEvery = 5 * time.Second

// look finds what is new and stores what follows from it.
func (w *worker) look(ctx context.Context) error {
	began := time.Now()
	m, err := w.moment(ctx)
	if err != nil {
		return err
	}
	if !w.started {
		if w.from, err = w.loadProgress(ctx); err != nil {
			return err
		}
		w.started, w.saved, w.textureFrom = true, w.from, w.from
	}
	from := w.from
	spans, err := w.spans(ctx)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if err := w.changes(ctx, s); err != nil {
			return err
		}
		if err := w.joinDue(ctx); err != nil {
			return err
		}
		if s.shard+1 == s.shards {
			w.from = max(w.from, min(s.until, m.safe))
			w.forget()
		}
		if err := w.save(ctx, m); err != nil {
			return err
		}
	}
	if err := w.events(ctx, from); err != nil {
		return err
	}
	if err := w.textures(ctx, m.us/1_000_000); err != nil {
		return err
	}
	w.tel.looked(time.Since(began))
	return nil
}

// save stores progress now and then, and tells how far behind the joiner is.
func (w *worker) save(ctx context.Context, m moment) error {
	w.tel.behind(max(time.Duration(m.safe-w.from)*time.Second, w.overdue(time.Now())))
	if time.Now().Before(w.saveDue) {
		return nil
	}
	w.saveDue = time.Now().Add(saveEvery)
	return w.saveProgress(ctx)
}

// joinDue joins the requests that are due.
func (w *worker) joinDue(ctx context.Context) error {
	for _, b := range batches(w.due(time.Now()), w.cfg.Batch) {
		m, err := w.moment(ctx)
		if err != nil {
			return err
		}
		if err := w.join(ctx, b, m.us); err != nil {
			return err
		}
		for _, n := range b {
			delete(w.pending, n)
		}
		w.tel.joinedSome(len(b))
	}
	return nil
}
