package collector

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/otelcol"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/replaycmd"
	"github.com/fermata-io/fermata/collector/cli/requestcmd"
	"github.com/fermata-io/fermata/collector/cli/simulatecmd"
	"github.com/fermata-io/fermata/storage/engine"
)

// Main runs the command line and returns the process's exit code.
func Main(args []string) int {
	engine.MaybeRunChild()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	root := newRootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "fermata:", cli.Message(err))
	}
	return cli.ExitCode(err)
}

// gcPercent is how much the heap grows between two collections, unless GOGC says otherwise. What is held is little beside what
// passes through, so that Go's 100 collects all the time: a tenth of the CPU under load for some 100 MB.
const gcPercent = 300

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "fermata",
		Short:   "See the pauses that traces can't: observability for streamed LLM answers",
		Version: Version,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage(fmt.Errorf("unknown command %q; see fermata --help", args[0]))
			}
			return cmd.Help()
		},
	}
	cli.Strict(root)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newUpCommand(), newCollectorCommand(), newMigrateCommand(), requestcmd.New(), requestcmd.NewList(), requestcmd.NewFindings(), replaycmd.New(), simulatecmd.New())
	return root
}

func newCollectorCommand() *cobra.Command {
	var uris []string
	cmd := &cobra.Command{
		Use:   "collector",
		Short: "Run the collector alone, with your own configuration",
		Long: `Run the collector alone, with your own configuration: any subset of the receivers, processors, exporters and extensions,
as in collector/configs. The ClickHouse it writes to must have the schema (fermata migrate).`,
		Example: "  fermata collector --config collector.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(uris) == 0 {
				return cli.Usage(fmt.Errorf("--config is missing; examples are in collector/configs"))
			}
			col, err := otelcol.NewCollector(settings(&addresses{}, uris, nil))
			if err != nil {
				return err
			}
			return col.Run(cmd.Context())
		},
	}
	cmd.Flags().StringArrayVar(&uris, "config", nil, "configuration file, or URI such as env:NAME or yaml:…; may be repeated, later ones win")
	return cli.Strict(cmd)
}

func newMigrateCommand() *cobra.Command {
	var dsn string
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Create or update the schema of your own ClickHouse",
		Example: "  fermata migrate --clickhouse 'clickhouse://user:password@db.example:9440/fermata?secure=true'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return migrate(cmd.Context(), dsn, func(format string, args ...any) {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
			})
		},
	}
	cmd.Flags().StringVar(&dsn, "clickhouse", os.Getenv("FERMATA_CLICKHOUSE"), "DSN of the server and database (default $FERMATA_CLICKHOUSE)")
	return cli.Strict(cmd)
}
