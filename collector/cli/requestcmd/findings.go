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
	"github.com/fermata-io/fermata/storage/findings"
)

type findingsOptions struct {
	where client.Where
	query map[string]*string // parameters of the API, by name
	limit int
	width int
	json  bool
}

// NewFindings returns `fermata findings`.
func NewFindings() *cobra.Command {
	o := &findingsOptions{query: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "findings",
		Short: "List what went wrong, latest first",
		Example: `  fermata findings --since 15m
  fermata findings --kind loop --since 24h
  fermata findings --request req-1 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.where.AddFlags(cmd)
	f := cmd.Flags()
	for _, p := range [][3]string{
		{"tenant", "tenant", "tenant (default: default)"},
		{"request", "request_id", "only findings of this request"},
		{"kind", "kind", "only this kind: stall, loop, buffering, …; a wrong one is answered with an error"},
		{"since", "since", "only what began then or later: RFC 3339, µs since 1970, or a duration like 15m, 24h, 7d"},
		{"until", "until", "only what began before, same forms"},
		{"cursor", "cursor", "next_cursor of the answer before"},
	} {
		v := new(string)
		o.query[p[1]] = v
		f.StringVar(v, p[0], "", p[2])
	}
	f.IntVar(&o.limit, "limit", 50, "most findings to show, 1 to 1000")
	f.IntVar(&o.width, "width", 0, "columns to write, at least 60 (default: the terminal's, else 100)")
	f.BoolVar(&o.json, "json", false, "print exactly the API's answer")
	return cli.Strict(cmd)
}

func (o *findingsOptions) run(ctx context.Context, out io.Writer) error {
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
	body, err := api.Findings(ctx, q)
	if err != nil {
		return err
	}
	if o.json {
		return write(out, body)
	}
	var page findings.Page
	if err := json.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("read the API's answer: %w; is it of the same version?", err)
	}
	var b bytes.Buffer
	if err := timeline.RenderFindings(&b, &page, drawing(out, o.width, os.Getenv)); err != nil {
		return err
	}
	return write(out, b.Bytes())
}
