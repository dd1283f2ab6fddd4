// Package replaycmd holds `fermata replay FILE…`.
package replaycmd

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
)

type options struct {
	where  client.Where
	ingest string
	otlp   string
	format string
	tenant string
}

// New returns `fermata replay FILE…`.
func New() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "send recordings of other tools to a running Fermata; doing it again changes nothing",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.where.Data, "data", "", "data folder of the running `fermata up` (default: $FERMATA_DATA or ~/.local/share/fermata)")
	f.StringVar(&o.ingest, "ingest", "", "URL of the ingest endpoint (default: the running `fermata up` of the data folder)")
	f.StringVar(&o.otlp, "otlp", "", "URL of the OTLP/HTTP endpoint, for OTLP files")
	f.StringVar(&o.format, "format", "auto", "format of the files")
	f.StringVar(&o.tenant, "tenant", "", "tenant to write to (default: default)")
	return cli.Strict(cmd)
}

func (o *options) run(_ context.Context, _ io.Writer, _ []string) error {
	return errors.New("not implemented")
}
