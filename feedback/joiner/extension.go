package joiner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/feedback/background"
	"github.com/fermata-io/fermata/processors/crosstier"
	"github.com/fermata-io/fermata/storage/arrivals"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/findings"
	"github.com/fermata-io/fermata/storage/requests"
)

// Extension joins requests in the background.
type Extension struct {
	cfg *Config
	log *zap.Logger
	tel *telemetry

	work background.Worker
}

func newExtension(set component.TelemetrySettings, cfg *Config) (*Extension, error) {
	tel, err := newTelemetry(set)
	if err != nil {
		return nil, err
	}
	return &Extension{cfg: cfg, log: set.Logger, tel: tel}, nil
}

// Start opens the database's pools and begins to look for new records. ClickHouse may still be away.
func (e *Extension) Start(ctx context.Context, host component.Host) error {
	return e.work.Start(ctx, func() (func(context.Context), error) {
		w, err := open(e.cfg, e.tel)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) {
			e.run(ctx, w, host)
			if err := w.close(); err != nil {
				e.log.Warn("connections could not be closed", zap.Error(err))
			}
		}, nil
	})
}

// Shutdown ends the work; what is not joined yet is found again at the next start.
func (e *Extension) Shutdown(ctx context.Context) error { return e.work.Stop(ctx) }

// farBehind is from which lag on the component is not well.
const farBehind = 30 * time.Second

func (e *Extension) run(ctx context.Context, w *worker, host component.Host) {
	tick := time.NewTicker(e.cfg.Interval)
	defer tick.Stop()
	var trouble background.Complaint
	good := time.Now() // when the last look ended well
	unwell := false
	w.warn = func(text string) { e.log.Warn(text) }
	w.tell = func(lag time.Duration) {
		e.tel.behind(lag)
		if lag > farBehind != unwell {
			unwell = !unwell
			e.report(host, lag, unwell)
		}
	}
	for {
		err := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			good = time.Now()
		} else {
			e.tel.failed()
			w.tell(w.lag + time.Since(good))
			trouble.Tell(e.log, "requests could not be joined; they are tried again", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// report tells the host and the log that the rows are far behind the records, or no longer.
func (e *Extension) report(host component.Host, lag time.Duration, unwell bool) {
	if !unwell {
		componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
		e.log.Info("joined requests have caught up with the records")
		return
	}
	componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(
		fmt.Errorf("joined requests are %s behind the records: lists and windows miss the latest, look-ups by id don't", lag.Round(time.Second))))
	e.log.Warn("joined requests are far behind the records; nothing is skipped", zap.Duration("lag", lag))
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
	clock  *arrivals.Clock

	// Seconds since the Unix epoch on the database's clock.
	began   int64     // when this joiner did; 0: not yet
	now     int64     // at the start of the look
	nowUS   int64     // the same in µs
	from    int64     // all rows stamped before are noted
	saved   int64     // all rows stamped before are joined, and that is stored
	asked   time.Time // when nowUS was asked for, on this process's clock
	saveDue time.Time
	lag     time.Duration // of what is written behind what arrived, but for what is held on purpose
	tell    func(lag time.Duration)
	warn    func(text string)

	eventsFrom int64 // stalls stamped before have been looked at for events
	silences   bool  // findings of streams arrived since

	memory *memory
	filter *filter
	out    output // of the join that runs
	failed error  // why requests of a tenant could not be joined in this look; nil: all could

	sourceRows, stallRows int // bounds of one answer

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
	opts, err := cfg.ClickHouse.Options()
	if err != nil {
		return nil, errors.Join(err, ins.Close(), conn.Close())
	}
	limits := requests.NewDefaultReadLimits()
	limits.Rows = 100_000
	w := &worker{
		cfg: cfg, cross: crosstier.NewDefaultConfig(), tel: tel, conn: conn, insert: ins,
		store: requests.New(conn, limits), found: findings.NewReader(conn), memory: newMemory(cfg.MemoryBytes), filter: newFilter(0), tell: func(time.Duration) {},
		warn: func(string) {}, sourceRows: sourceRows, stallRows: stallRows,
	}
	w.clock = newClock(w, len(opts.Addr))
	return w, nil
}

func (w *worker) close() error { return errors.Join(w.insert.Close(), w.conn.Close()) }

// saveEvery is how often progress is stored.
const saveEvery = 5 * time.Second

// look finds what is new and stores what follows from it.
func (w *worker) look(ctx context.Context) error {
	start := time.Now()
	w.failed = nil
	m, err := w.clock.Now(ctx)
	if err != nil {
		return err
	}
	w.now, w.nowUS, w.asked = m.Second(), m.US, start
	if w.began == 0 {
		if w.from, err = w.loadProgress(ctx); err != nil {
			return err
		}
		w.began, w.saved, w.textureFrom, w.eventsFrom = w.now, w.from, w.from, w.from
		w.follow()
		w.filter.since, w.filter.begun = w.from, w.from
	} else {
		w.follow()
	}
	if w.from < m.Safe {
		spans, err := w.spans(ctx, m.Safe)
		if err != nil {
			return err
		}
		for _, s := range spans {
			if len(w.memory.pending) > w.cfg.MaxRequests { // left over, since they could not be written: no more until they are
				if err := w.joinDue(ctx, m, start); err != nil {
					return err
				}
				if w.failed != nil && len(w.memory.pending) > w.cfg.MaxRequests {
					return w.failed
				}
			}
			if err := w.take(ctx, s); err != nil {
				return err
			}
			whole := s.shard+1 == s.shards
			if whole {
				w.from = s.until
			}
			if err := w.joinDue(ctx, m, start); err != nil {
				return err
			}
			if !whole {
				continue
			}
			if w.silences {
				if err := w.events(ctx, w.eventsFrom); err != nil {
					return err
				}
			}
			w.eventsFrom, w.silences = w.from, false
		}
		if err := w.textures(ctx); err != nil {
			return err
		}
	} else if err := w.joinDue(ctx, m, start); err != nil {
		return err
	}
	w.tel.looked(time.Since(start))
	return w.failed
}

// joinDue joins the requests that are due, tells how far behind the joiner is, and stores its progress now and then. What was
// joined only now counts for as long as it had to wait. start is when the moment was asked for.
func (w *worker) joinDue(ctx context.Context, m arrivals.Moment, start time.Time) error {
	oldest := w.oldest(time.Now())
	if err := w.joinAll(ctx, m.US); err != nil {
		return err
	}
	now := time.Now()
	w.lag = max(time.Duration(m.Due-w.from)*time.Second+now.Sub(start), now.Sub(oldest))
	w.tell(w.lag)
	if time.Now().Before(w.saveDue) {
		return nil
	}
	w.saveDue = time.Now().Add(saveEvery)
	return w.saveProgress(ctx)
}
