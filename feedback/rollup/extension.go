package rollup

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/feedback/background"
	"github.com/fermata-io/fermata/storage/arrivals"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/rollups"
)

// Extension computes rollups in the background.
type Extension struct {
	cfg      *Config
	log      *zap.Logger
	minutes  metric.Int64Counter
	failures metric.Int64Counter
	took     metric.Float64Histogram

	work background.Worker
}

func newExtension(set component.TelemetrySettings, cfg *Config) (*Extension, error) {
	m := set.MeterProvider.Meter("github.com/fermata-io/fermata/feedback/rollup")
	e := &Extension{cfg: cfg, log: set.Logger}
	var errs [3]error
	e.minutes, errs[0] = m.Int64Counter("fermata_rollups_minutes", metric.WithUnit("{minute}"), metric.WithDescription("Minutes that were computed anew"))
	e.failures, errs[1] = m.Int64Counter("fermata_rollups_failures", metric.WithUnit("{look}"), metric.WithDescription("Looks for new records that failed and were tried again"))
	e.took, errs[2] = m.Float64Histogram("fermata_rollups_look_duration", metric.WithUnit("s"), metric.WithDescription("Time of one look for new records, computing included"))
	return e, errors.Join(errs[:]...)
}

// Start begins to look for minutes to compute. ClickHouse may still be away.
func (e *Extension) Start(ctx context.Context, _ component.Host) error {
	return e.work.Start(ctx, func() (func(context.Context), error) {
		opts, err := e.cfg.ClickHouse.Options()
		if err != nil {
			return nil, err
		}
		conn, err := clickhouse.Open(e.cfg.ClickHouse)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) {
			e.run(ctx, rollups.New(conn), rollups.Clock(conn, len(opts.Addr), e.cfg.Lag, func(text string) { e.log.Warn(text) }))
			if err := conn.Close(); err != nil {
				e.log.Warn("connections could not be closed", zap.Error(err))
			}
		}, nil
	})
}

// Shutdown ends the work; what is not computed yet is found again at the next start.
func (e *Extension) Shutdown(ctx context.Context) error { return e.work.Stop(ctx) }

// share bounds computing to one part of so many of the time.
const share = 20

func (e *Extension) run(ctx context.Context, store *rollups.Store, clock *arrivals.Clock) {
	from := int64(0) // everything stamped before this second is in the rollups; 0: not known
	var trouble background.Complaint
	for {
		began := time.Now()
		err := e.look(ctx, store, clock, &from)
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		e.took.Record(ctx, took.Seconds())
		if err != nil {
			e.failures.Add(ctx, 1)
			trouble.Tell(e.log, "rollups could not be computed; they are tried again", err)
		}
		pause := time.NewTimer(max(e.cfg.Interval, (share-1)*took))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// look computes the minutes that got records since the last look.
func (e *Extension) look(ctx context.Context, store *rollups.Store, clock *arrivals.Clock, from *int64) error {
	m, err := clock.Now(ctx)
	if err != nil {
		return err
	}
	if *from == 0 {
		*from = m.Safe - int64(e.cfg.CatchUp.Seconds())
	}
	*from = clock.Resume(*from)
	n, err := store.Refresh(ctx, *from, m)
	e.minutes.Add(ctx, int64(n))
	if err == nil {
		*from = m.Safe
	}
	return err
}
