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
)

// param is a text flag that is handed to the API as a query parameter.
type param struct{ flag, name, usage string }

// page is a command that asks the API for one page of P and draws it as a table.
type page[P any] struct {
	ask  func(api *client.API, ctx context.Context, q url.Values) ([]byte, error)
	draw func(w io.Writer, p *P, o timeline.Options) error

	where client.Where
	query map[string]*string // parameters of the API, by name
	limit int
	width int
	json  bool
}

// command completes cmd, which has its texts, with flags and the run. things is what the table lists.
func (p *page[P]) command(cmd *cobra.Command, things string, limit int, params []param) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context(), cmd.OutOrStdout()) }
	p.where.AddFlags(cmd)
	p.query = make(map[string]*string, len(params))
	f := cmd.Flags()
	for _, q := range params {
		v := new(string)
		p.query[q.name] = v
		f.StringVar(v, q.flag, "", q.usage)
	}
	f.IntVar(&p.limit, "limit", limit, "most "+things+" to show, 1 to 1000")
	f.IntVar(&p.width, "width", 0, "columns to write, at least 60 (default: the terminal's, else 100)")
	f.BoolVar(&p.json, "json", false, "print exactly the API's answer")
	return cli.Strict(cmd)
}

func (p *page[P]) run(ctx context.Context, out io.Writer) error {
	if ctx == nil {
		ctx = context.Background()
	}
	q := url.Values{"limit": {strconv.Itoa(p.limit)}}
	for name, v := range p.query {
		q.Set(name, *v)
	}
	api, err := p.where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	body, err := p.ask(api, ctx, q)
	if err != nil {
		return err
	}
	if p.json {
		return write(out, body)
	}
	var answer P
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read the API's answer: %w; is it of the same version?", err)
	}
	var b bytes.Buffer
	if err := p.draw(&b, &answer, drawing(out, p.width, os.Getenv)); err != nil {
		return err
	}
	return write(out, b.Bytes())
}
