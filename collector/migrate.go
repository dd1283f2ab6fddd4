package collector

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/storage/clickhouse"
	"github.com/fermata-io/fermata/storage/migrations"
)

// migrate brings the database to the schema of this build and says what it did.
func migrate(ctx context.Context, dsn string, say func(string, ...any)) error {
	if dsn == "" {
		return cli.Usage(errors.New("--clickhouse is missing: which server and database?"))
	}
	cfg := clickhouse.NewDefaultConfig()
	cfg.DSN = configopaque.String(dsn)
	if err := cfg.Validate(); err != nil {
		return cli.Usage(fmt.Errorf("--clickhouse: %w", err))
	}
	opts, err := cfg.Options()
	if err != nil {
		return cli.Usage(fmt.Errorf("--clickhouse: %w", err))
	}
	steps := 0
	version, err := migrations.Up(ctx, opts, func(s migrations.Step) {
		steps++
		say("schema: %d of %d, %s", s.Done, s.Total, s.File)
	})
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if steps == 0 {
		say("schema: version %d, up to date", version)
	}
	return nil
}
