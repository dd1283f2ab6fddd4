package ingestbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/clickhouseexporter"
	"github.com/fermata-io/fermata/storage/migrations"
)

// Grouping wraps the exporter as a pipeline would, for instance in the group commit processor; storage must not know
// processors, so the caller brings it.
type Grouping func(ctx context.Context, next consumer.Logs) (consume consumer.Logs, shutdown func(context.Context) error, err error)

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

// pipeline is group commit, queue on disk and exporter, started.
type pipeline struct {
	consumer.Logs
	stop []func(context.Context) error // in the order in which they are called
}

func (p *pipeline) close(ctx context.Context) error {
	var errs []error
	for _, f := range p.stop {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

// newPipeline migrates the database and starts the pipeline.
func newPipeline(ctx context.Context, cfg clickhouse.Config, queueDir string, group Grouping) (_ *pipeline, err error) {
	opts, err := cfg.Options()
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(ctx, opts, nil); err != nil {
		return nil, err
	}
	p := &pipeline{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(ctx))
		}
	}()
	f := filestorage.NewFactory()
	fcfg := f.CreateDefaultConfig().(*filestorage.Config)
	fcfg.Directory, fcfg.FSync = queueDir, true
	store, err := f.Create(ctx, extensiontest.NewNopSettings(f.Type()), fcfg)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	if err := store.Start(ctx, componenttest.NewNopHost()); err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	p.stop = append(p.stop, store.Shutdown)
	id := component.NewID(f.Type())
	ecfg := clickhouseexporter.NewDefaultConfig()
	ecfg.ClickHouse = cfg
	ecfg.Queue.Get().StorageID = &id
	exp, err := clickhouseexporter.NewFactory().CreateLogs(ctx, exportertest.NewNopSettings(clickhouseexporter.Type), ecfg)
	if err != nil {
		return nil, err
	}
	if err := exp.Start(ctx, host{id: store}); err != nil {
		return nil, err
	}
	p.stop = append([]func(context.Context) error{exp.Shutdown}, p.stop...)
	consume, shutdown, err := group(ctx, exp)
	if err != nil {
		return nil, err
	}
	p.Logs = consume
	p.stop = append([]func(context.Context) error{shutdown}, p.stop...)
	return p, nil
}

// send posts the messages and returns when every stream is in ClickHouse.
func (p *pipeline) send(ctx context.Context, conn driver.Conn, messages [][]byte, streams int) error {
	if err := post(ctx, p, messages); err != nil {
		return err
	}
	var n uint64
	for {
		if err := conn.QueryRow(ctx, "SELECT count() FROM streams").Scan(&n); err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if n >= uint64(streams) { //nolint:gosec // a count
			return nil
		}
		time.Sleep(200 * time.Millisecond) // the questions cost CPU too
	}
}

// inProcess is the pipeline from request bytes on, in this process.
func inProcess(w *Workload, messages [][]byte, dir string, group Grouping) Variant {
	return Variant{
		Name: "streams", Table: "streams", Chunks: w.Len() * ChunksPerStream,
		Prepare: func(ctx context.Context, conn driver.Conn, cfg clickhouse.Config) (*Prepared, error) {
			queue, err := os.MkdirTemp(dir, "queue")
			if err != nil {
				return nil, err
			}
			p, err := newPipeline(ctx, cfg, queue, group)
			if err != nil {
				return nil, err
			}
			return &Prepared{
				PID:   os.Getpid(),
				Run:   func() error { return p.send(ctx, conn, messages, w.Len()) },
				Close: func() error { return p.close(ctx) },
			}, nil
		},
	}
}

const callers = 64

func post(ctx context.Context, consume consumer.Logs, messages [][]byte) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for c := range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(messages) {
					return
				}
				req := plogotlp.NewExportRequest()
				if errs[c] = req.UnmarshalProto(messages[i]); errs[c] != nil {
					return
				}
				if errs[c] = consume.ConsumeLogs(ctx, req.Logs()); errs[c] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
