// Package requestcmd holds `fermata request ID` and `fermata requests`.
package requestcmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
)

type requestOptions struct {
	where  client.Where
	tenant string
	json   bool
	watch  bool
	width  int
}

// New returns `fermata request ID`.
func New() *cobra.Command {
	o := &requestOptions{}
	cmd := &cobra.Command{
		Use:   "request ID",
		Short: "show one request on one timeline, from server send to paint",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	o.where.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "tenant of the request (default: default)")
	f.BoolVar(&o.json, "json", false, "print exactly the API's answer")
	f.BoolVar(&o.watch, "watch", false, "refresh while the stream runs")
	f.IntVar(&o.width, "width", 0, "columns to draw (default: the terminal's, else 100)")
	return cli.Strict(cmd)
}

func (o *requestOptions) run(ctx context.Context, out io.Writer, id string) error {
	if o.json && o.watch {
		return cli.Usage(errors.New("--json and --watch can't be used together"))
	}
	api, err := o.where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	body, err := api.Request(ctx, o.tenant, id)
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
