package clickhouseexporter

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/fermata-io/fermata/storage/clickhouse"
)

// Config of the exporter.
type Config struct {
	// ClickHouse is the database to write to; its schema must have been migrated.
	ClickHouse clickhouse.Config `mapstructure:"clickhouse"`
	// Timeout bounds one attempt to write a batch. Default 60 s.
	Timeout time.Duration `mapstructure:"timeout"`
	// Queue is where accepted records wait. Name a storage extension in it, with fsync, to keep them over crashes. Default:
	// 2 GiB (256 MiB without storage), batches of 10 000 to 20 000 records or what came within 400 ms, two writers.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
	// Retry is the pause between attempts: 200 ms growing to 10 s. Attempts never end, or accepted records would be lost.
	Retry configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// Retention of the tables; see clickhouse.Retention.
	Retention clickhouse.Retention `mapstructure:"retention"`
	// MaxChunks is the number of chunks of one record above which it is not written. Default 1 000 000.
	MaxChunks int `mapstructure:"max_chunks"`
	// DeadLetter is where records go that can't be read or that ClickHouse refuses for good.
	DeadLetter DeadLetterConfig `mapstructure:"dead_letter"`
}

// DeadLetterConfig says what becomes of records that can never be written. They are always counted.
type DeadLetterConfig struct {
	// File is appended one OTLP JSON line for each such record, with mode 0600. Empty: they are counted only.
	File string `mapstructure:"file"`
	// MaxBytes is the size of the file above which further records are counted only. Default 64 MiB.
	MaxBytes int64 `mapstructure:"max_bytes"`
}

var _ component.Config = (*Config)(nil)

const (
	defaultQueueBytes  = 2 << 30
	defaultMemoryBytes = 256 << 20 // of a queue without storage
)

// NewDefaultConfig returns the defaults; only the database's DSN is missing.
func NewDefaultConfig() *Config {
	batch := exporterhelper.NewDefaultBatchConfig()
	batch.Sizer = exporterhelper.RequestSizerTypeItems
	batch.MinSize, batch.MaxSize = 10_000, 20_000
	batch.FlushTimeout = 400 * time.Millisecond
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.Sizer = exporterhelper.RequestSizerTypeBytes
	queue.QueueSize = defaultQueueBytes
	queue.NumConsumers = 2
	queue.Batch = configoptional.Some(batch)

	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval, retry.MaxInterval, retry.MaxElapsedTime = 200*time.Millisecond, 10*time.Second, 0
	return &Config{
		ClickHouse: clickhouse.NewDefaultConfig(),
		Timeout:    60 * time.Second,
		Queue:      configoptional.Some(queue),
		Retry:      retry,
		Retention:  clickhouse.NewDefaultRetention(),
		MaxChunks:  1_000_000,
		DeadLetter: DeadLetterConfig{MaxBytes: 64 << 20},
	}
}

// Validate reports every problem of this level, each with its key; the Collector validates the nested ones by itself.
func (c *Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout: %s is not positive", c.Timeout))
	}
	if !c.Retry.Enabled {
		errs = append(errs, errors.New("retry_on_failure.enabled: must be true, or accepted records are lost while ClickHouse is away"))
	}
	if c.Retry.MaxElapsedTime != 0 {
		errs = append(errs, fmt.Errorf("retry_on_failure.max_elapsed_time: %s must be 0 (for ever), or accepted records are lost while ClickHouse is away", c.Retry.MaxElapsedTime))
	}
	if c.MaxChunks < 1 {
		errs = append(errs, fmt.Errorf("max_chunks: %d is not positive", c.MaxChunks))
	}
	if c.DeadLetter.File != "" && c.DeadLetter.MaxBytes < 1 {
		errs = append(errs, fmt.Errorf("dead_letter.max_bytes: %d is not positive", c.DeadLetter.MaxBytes))
	}
	return errors.Join(errs...)
}
