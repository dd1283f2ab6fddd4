package requestcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

type listOptions struct {
	where client.Where
	query map[string]*string // parameters of the API, by name
	limit int
	width int
	json  bool
}

// NewList returns `fermata requests`.
func NewList() *cobra.Command {
	o := &listOptions{query: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "requests",
		Short: "List requests, newest first",
		Example: `  fermata requests --since 15m
  fermata requests --since 24h --state failed --model gpt-4o`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.where.AddFlags(cmd)
	f := cmd.Flags()
	for _, p := range [][3]string{
		{"tenant", "tenant", "tenant (default: default)"},
		{"since", "since", "start of the window: RFC 3339, µs since 1970, or a duration like 15m, 24h, 7d (default 1h)"},
		{"until", "until", "end of the window, same forms (default now)"},
		{"model", "model", "only this model"},
		{"deployment", "deployment", "only this deployment"},
		{"provider", "provider", "only this provider"},
		{"app", "app", "only this app"},
		{"query-type", "query_type", "only this type: short_qa, long_form, code_completion, translate_summarize or other"},
		{"state", "state", "only requests that are running, completed, failed or aborted"},
		{"cursor", "cursor", "next_cursor of the answer before"},
	} {
		v := new(string)
		o.query[p[1]] = v
		f.StringVar(v, p[0], "", p[2])
	}
	f.IntVar(&o.limit, "limit", 20, "most requests to show, 1 to 1000")
	f.IntVar(&o.width, "width", 0, "columns to write, at least 60 (default: the terminal's, else 100)")
	f.BoolVar(&o.json, "json", false, "print exactly the API's answer")
	return cli.Strict(cmd)
}

func (o *listOptions) run(ctx context.Context, out io.Writer) error {
	if ctx == nil {
		ctx = context.Background()
	}
	q := url.Values{"limit": {strconv.Itoa(o.limit)}}
	for name, v := range o.query {
		q.Set(name, *v)
	}
	api, err := o.where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	body, err := api.Requests(ctx, q)
	if err != nil {
		return err
	}
	if o.json {
		return write(out, body)
	}
	var page requests.Page
	if err := json.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("read the API's answer: %w; is it of the same version?", err)
	}
	var b bytes.Buffer
	if err := timeline.RenderList(&b, &page, drawing(out, o.width, os.Getenv)); err != nil {
		return err
	}
	return write(out, b.Bytes())
}
