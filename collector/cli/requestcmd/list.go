package requestcmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
)

type listOptions struct {
	where                                             client.Where
	tenant, since, until, model, deployment, provider string
	state, cursor                                     string
	limit                                             int
	json                                              bool
}

// NewList returns `fermata requests`.
func NewList() *cobra.Command {
	o := &listOptions{}
	cmd := &cobra.Command{
		Use:   "requests",
		Short: "list requests, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.where.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "tenant (default: default)")
	f.StringVar(&o.since, "since", "", "start of the window: RFC 3339, µs since 1970, or a duration like 15m, 24h, 7d (default 1h)")
	f.StringVar(&o.until, "until", "", "end of the window, same forms (default now)")
	f.StringVar(&o.model, "model", "", "only this model")
	f.StringVar(&o.deployment, "deployment", "", "only this deployment")
	f.StringVar(&o.provider, "provider", "", "only this provider")
	f.StringVar(&o.state, "state", "", "only requests that are running, completed, failed or aborted")
	f.IntVar(&o.limit, "limit", 20, "most requests to show")
	f.StringVar(&o.cursor, "cursor", "", "next_cursor of the answer before")
	f.BoolVar(&o.json, "json", false, "print exactly the API's answer")
	return cli.Strict(cmd)
}

func (o *listOptions) query() url.Values {
	return url.Values{
		"tenant": {o.tenant}, "since": {o.since}, "until": {o.until}, "model": {o.model}, "deployment": {o.deployment},
		"provider": {o.provider}, "state": {o.state}, "cursor": {o.cursor}, "limit": {strconv.Itoa(o.limit)},
	}
}

func (o *listOptions) run(ctx context.Context, out io.Writer) error {
	api, err := o.where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	body, err := api.Requests(ctx, o.query())
	if err != nil {
		return err
	}
	if _, err = out.Write(body); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
