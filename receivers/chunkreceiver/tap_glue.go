package chunkreceiver

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
)

// tapPart runs a tap and hands what it records to the pipeline.
type tapPart struct {
	tap    *tap.Tap
	next   consumer.Logs
	obs    *receiverhelper.ObsReport
	log    *zap.Logger
	limits wire.Limits
	text   bool
}

func (c *Config) tapPart(set receiver.Settings, next consumer.Logs) (*tapPart, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, Transport: "tap", ReceiverCreateSettings: set})
	if err != nil {
		return nil, fmt.Errorf("tap: %w", err)
	}
	p := &tapPart{next: next, obs: obs, log: set.Logger, limits: wire.NewDefaultLimits(), text: c.ForwardText}
	cfg := *c.Tap.Get()
	cfg.ForwardText = c.ForwardText
	p.tap, err = tap.New(cfg, tap.Settings{Logger: set.Logger, MeterProvider: set.MeterProvider}, p.consume)
	return p, err
}

// Start starts the tap.
func (p *tapPart) Start(ctx context.Context, _ component.Host) error { return p.tap.Start(ctx) }

// Shutdown ends the tap when what it recorded is in the pipeline.
func (p *tapPart) Shutdown(ctx context.Context) error { return p.tap.Shutdown(ctx) }

// Addrs tells where the tap listens.
func (p *tapPart) Addrs() map[string]string { return map[string]string{"tap": p.tap.Addr().String()} }

// consume hands segments to the pipeline. An error means that none was taken.
func (p *tapPart) consume(ctx context.Context, segments []wire.Stream) error {
	now := time.Now()
	b := ingest.NewBatch(now, p.text)
	n := 0
	for i := range segments {
		if err := segments[i].Validate(now, p.limits); err != nil {
			p.log.Warn("A recorded stream is not valid and was left out", zap.Error(err))
			continue
		}
		b.AddStream(&segments[i])
		n++
	}
	if n == 0 {
		return nil
	}
	ctx = p.obs.StartLogsOp(ctx)
	err := p.next.ConsumeLogs(ctx, b.Logs())
	p.obs.EndLogsOp(ctx, "wire", n, err)
	return err
}
