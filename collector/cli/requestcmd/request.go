// Package requestcmd holds `fermata request ID` and `fermata requests`.
package requestcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

const (
	watchEvery = 500 * time.Millisecond
	// watchWait is how long --watch waits for a request that is not known yet.
	watchWait = 30 * time.Second
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
		Short: "Show one request on one timeline, from server send to paint",
		Long: `Show one request on one timeline: every tier as a line whose height is the text that came in that slice of time, so that
a stall is a hole and delay the distance between two lines. Works while the stream still runs.

ID is a request id or one of its aliases: response id, trace id, a gateway's call id.`,
		Example: `  fermata request hello-1
  fermata request hello-1 --watch
  fermata request chatcmpl-9xQ2 --json | jq .attempts[0].server.ttft_us`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	o.where.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tenant, "tenant", "", "tenant of the request (default: default)")
	f.BoolVar(&o.json, "json", false, "print exactly the API's answer")
	f.BoolVar(&o.watch, "watch", false, "draw again while the stream runs")
	f.IntVar(&o.width, "width", 0, "columns to draw, at least 60 (default: the terminal's, else 100)")
	return cli.Strict(cmd)
}

func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one ID, got %d arguments; for instance: fermata request hello-1", len(args))
	}
	return nil
}

func (o *requestOptions) run(ctx context.Context, out, errOut io.Writer, id string) error {
	switch {
	case o.json && o.watch:
		return cli.Usage(errors.New("--json and --watch can't be used together"))
	case id == "" || len(id) > 256:
		return cli.Usage(fmt.Errorf("ID has %d bytes; want 1 to 256", len(id)))
	case o.tenant != "" && !wire.ValidID(o.tenant):
		return cli.Usage(errors.New("--tenant may hold only letters, digits and . _ : -"))
	case o.width < 0:
		return cli.Usage(errors.New("--width is negative"))
	}
	if ctx == nil {
		ctx = context.Background()
	}
	api, err := o.where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	if o.watch {
		return o.follow(ctx, out, errOut, api, id)
	}
	body, err := api.Request(ctx, o.tenant, id)
	if err != nil {
		return err
	}
	if o.json {
		return write(out, body)
	}
	_, err = o.show(out, body)
	return err
}

// show draws the request and returns its state.
func (o *requestOptions) show(out io.Writer, body []byte) (requests.State, error) {
	var r requests.Request
	if err := json.Unmarshal(body, &r); err != nil {
		return "", fmt.Errorf("read the API's answer: %w; is it of the same version?", err)
	}
	var b bytes.Buffer
	if err := timeline.Render(&b, &r, drawing(out, o.width, os.Getenv)); err != nil {
		return "", err
	}
	return r.State, write(out, b.Bytes())
}

// follow draws the request again and again until it has ended. On a terminal each drawing replaces the one before.
func (o *requestOptions) follow(ctx context.Context, out, errOut io.Writer, api *client.API, id string) error {
	f, ok := out.(*os.File)
	tty := ok && term.IsTerminal(int(f.Fd()))
	var last []byte
	began, seen, told := time.Now(), false, false
	for {
		body, err := api.Request(ctx, o.tenant, id)
		switch {
		case err == nil:
			seen = true
		case seen || cli.ExitCode(err) != cli.CodeNotFound || time.Since(began) > watchWait:
			return err
		case !told:
			told = true
			_, _ = fmt.Fprintf(errOut, "waiting up to %s for %s to appear …\n", watchWait, id)
		}
		if err == nil && !bytes.Equal(body, last) {
			last = body
			var b bytes.Buffer
			if tty {
				b.WriteString("\x1b[H\x1b[2J")
			}
			if err := write(out, b.Bytes()); err != nil {
				return err
			}
			state, err := o.show(out, body)
			if err != nil || state != requests.StateRunning {
				return err
			}
			if !tty {
				if err := write(out, []byte("\n")); err != nil {
					return err
				}
			}
		}
		t := time.NewTimer(watchEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil // Ctrl-C ends watching, which is no failure
		case <-t.C:
		}
	}
}

func write(out io.Writer, b []byte) error {
	if _, err := out.Write(b); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
