package clickhouseexporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/migrations"
)

type clickhouseExporter struct {
	cfg  *Config
	log  *zap.Logger
	tel  *telemetry
	dead *deadLetters
	ins  *clickhouse.Inserter
	free chan *rows // used again: one for each writer

	quiet *rate.Limiter // of log lines about dead records

	mu    sync.Mutex
	ready bool // the schema fits and retention is set
}

func newExporter(set exporter.Settings, cfg *Config) (*clickhouseExporter, error) {
	tel, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	e := &clickhouseExporter{
		cfg: cfg, log: set.Logger, tel: tel, dead: &deadLetters{cfg: cfg.DeadLetter},
		quiet: rate.NewLimiter(rate.Every(10*time.Second), 3),
	}
	writers := 1
	if q := cfg.Queue.Get(); q != nil {
		writers = q.NumConsumers
	}
	e.free = make(chan *rows, writers)
	return e, nil
}

const startCheckTimeout = 5 * time.Second

// start refuses a database whose schema does not fit. A database that does not answer is no reason to refuse: records
// gather in the queue until it does.
func (e *clickhouseExporter) start(ctx context.Context, _ component.Host) error {
	var err error
	if e.ins, err = clickhouse.OpenInserter(e.cfg.ClickHouse); err != nil {
		return err
	}
	checkCtx, cancel := context.WithTimeout(ctx, startCheckTimeout)
	defer cancel()
	switch err := e.prepare(checkCtx); {
	case errors.Is(err, migrations.ErrTooOld), errors.Is(err, migrations.ErrTooNew):
		return errors.Join(err, e.ins.Close())
	case err != nil:
		e.log.Warn("ClickHouse does not answer yet; records wait in the queue",
			zap.String("clickhouse", clickhouse.RedactDSN(string(e.cfg.ClickHouse.DSN))), zap.Error(err))
	}
	return nil
}

// prepare checks the schema and sets retention, once.
func (e *clickhouseExporter) prepare(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready {
		return nil
	}
	opts, err := e.cfg.ClickHouse.Options()
	if err != nil {
		return err
	}
	if err := migrations.Check(ctx, opts); err != nil {
		return err
	}
	conn, err := clickhouse.Open(e.cfg.ClickHouse)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is in flight
	if err := clickhouse.ApplyRetention(ctx, conn, e.cfg.Retention); err != nil {
		return err
	}
	e.ready = true
	return nil
}

func (e *clickhouseExporter) shutdown(context.Context) error {
	var err error
	if e.ins != nil {
		err = e.ins.Close()
	}
	return errors.Join(err, e.dead.close())
}

// push writes a batch. It returns nil when all of it is in ClickHouse or among the dead letters, and else an error that is
// never permanent: the helper comes again with the same batch.
func (e *clickhouseExporter) push(ctx context.Context, r xexporterhelper.Request) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	return e.write(ctx, r.(*request).records)
}

// write inserts the records. When ClickHouse refuses them for good it halves them until the ones at fault are alone, so
// that one bad record costs no other.
func (e *clickhouseExporter) write(ctx context.Context, records [][]byte) error {
	err := e.insert(ctx, records)
	if err == nil {
		return nil
	}
	switch clickhouse.Classify(err) {
	case clickhouse.Overloaded:
		return exporterhelper.NewThrottleRetry(err, overloadPause)
	case clickhouse.Retryable:
		return err
	}
	if len(records) == 1 {
		e.bury(ctx, deadRecord{records[0], reasonRefused, err})
		return nil
	}
	half := len(records) / 2
	return errors.Join(e.write(ctx, records[:half]), e.write(ctx, records[half:]))
}

// overloadPause is how long a server that says it has too much to do is left alone.
const overloadPause = 2 * time.Second

// deadRecord is a record that can never be written.
type deadRecord struct {
	record []byte
	reason string
	why    error
}

func (e *clickhouseExporter) insert(ctx context.Context, records [][]byte) error {
	r := e.get()
	defer e.put(r)
	var dead []deadRecord
	for _, b := range records {
		if reason, err := r.add(b, e.cfg.MaxChunks); err != nil {
			dead = append(dead, deadRecord{b, reason, err})
		}
	}
	for _, t := range r.tables() {
		if t.Len() == 0 {
			continue
		}
		begin := time.Now()
		err := e.ins.Insert(ctx, clickhouse.Block{SQL: t.InsertSQL(), Input: t.Input()})
		e.tel.inserted(ctx, t.Table(), t.Len(), time.Since(begin), err)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Table(), err)
		}
	}
	// Only now, so that a repeated attempt doesn't bury them again.
	for _, d := range dead {
		e.bury(ctx, d)
	}
	return nil
}

func (e *clickhouseExporter) get() *rows {
	select {
	case r := <-e.free:
		return r
	default:
		return newRows()
	}
}

// mostKept is the number of rows, of all tables, whose memory is kept for the next batch.
const mostKept = 40_000

func (e *clickhouseExporter) put(r *rows) {
	if r.len() > mostKept {
		return // a rare large batch must not hold its memory for ever
	}
	r.reset()
	select {
	case e.free <- r:
	default:
	}
}

// bury counts a record that can never be written and puts it among the dead letters. Its reason is logged now and then, the
// record itself never is.
func (e *clickhouseExporter) bury(ctx context.Context, d deadRecord) {
	e.tel.dead.Add(ctx, 1, reasons[d.reason])
	err := e.dead.put(d.record)
	if e.quiet.Allow() {
		e.log.Error("records can't be written and are put aside", zap.String("reason", d.reason),
			zap.NamedError("example", d.why), zap.NamedError("dead_letter", err))
	}
}
