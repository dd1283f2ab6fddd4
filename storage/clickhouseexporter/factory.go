package clickhouseexporter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.uber.org/zap"
)

// Type is the exporter's name in configurations.
var Type = component.MustNewType("fermata_clickhouse")

// NewFactory makes the exporter's factory.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(Type,
		func() component.Config { return NewDefaultConfig() },
		exporter.WithLogs(createLogs, component.StabilityLevelBeta))
}

func createLogs(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Logs, error) {
	cfg := c.(*Config)
	e, err := newExporter(set, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Type, err)
	}
	logs, err := xexporterhelper.NewLogsRequest(ctx, set, newRequest, e.push,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{Timeout: cfg.Timeout}),
		exporterhelper.WithRetry(cfg.Retry),
		xexporterhelper.WithQueueBatch(queueFor(set.Logger, cfg.Queue), xexporterhelper.QueueBatchSettings{Encoding: encoding{}}))
	if err != nil {
		return nil, err
	}
	if q := cfg.Queue.Get(); q == nil || q.StorageID == nil {
		return logs, nil
	}
	return &durable{Logs: logs, storage: *cfg.Queue.Get().StorageID, log: set.Logger}, nil
}

// queueFor bounds a queue in memory more tightly than one on disk, unless the user chose a size.
func queueFor(log *zap.Logger, q configoptional.Optional[exporterhelper.QueueBatchConfig],
) configoptional.Optional[exporterhelper.QueueBatchConfig] {
	if !q.HasValue() || q.Get().StorageID != nil {
		return q
	}
	log.Warn("the sending queue is in memory: records it holds are lost if the collector dies; name a storage extension in sending_queue.storage")
	mem := *q.Get()
	if mem.Sizer == exporterhelper.RequestSizerTypeBytes && mem.QueueSize == defaultQueueBytes {
		mem.QueueSize = defaultMemoryBytes
	}
	return configoptional.Some(mem)
}
