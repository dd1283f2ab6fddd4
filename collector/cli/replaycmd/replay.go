// Package replaycmd holds `fermata replay FILE…`.
package replaycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/collector/cli/sender"
	"github.com/fermata-io/fermata/internal/replay"
	"github.com/fermata-io/fermata/internal/wire"
)

type options struct {
	where    client.Where
	ingest   string
	otlp     string
	start    string
	rate     float64
	retryFor time.Duration
	print    bool
	read     replay.Options
	// in milliseconds, as the flags have them
	ttftBase, ttftPer1K, itl float64
}

// New returns `fermata replay FILE…`.
func New() *cobra.Command {
	o := &options{read: replay.NewDefaultOptions()}
	p := replay.NewDefaultPacing()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Send recordings of other tools to a running Fermata; doing it again changes nothing",
		Long:  long(),
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.where.Data, "data", "", "data folder of the running 'fermata up' (default: $FERMATA_DATA or ~/.local/share/fermata)")
	f.StringVar(&o.ingest, "ingest", "", "URL of the ingest endpoint (default: the running 'fermata up' of the data folder)")
	f.StringVar(&o.otlp, "otlp", "", "URL of the OTLP/HTTP endpoint, for OTLP files (default: as above)")
	f.StringVar(&o.read.Format, "format", replay.FormatAuto, "format of the files")
	f.StringVar(&o.read.Tenant, "tenant", wire.DefaultTenant, "tenant to write to")
	f.StringVar(&o.read.Provider, "provider", "", "provider of records whose file names none")
	f.StringVar(&o.read.Deployment, "deployment", "", "deployment of records whose file names none")
	f.StringVar(&o.read.Model, "model", "", "model of records whose file names none")
	f.StringVar(&o.read.App, "app", "", "app of records whose file names none")
	f.StringVar(&o.start, "start", "", "move each file so that its first record starts at this RFC 3339 time, or now")
	f.Float64Var(&o.rate, "rate", 0, "most records a second; 0: as fast as they are accepted")
	f.DurationVar(&o.retryFor, "retry-for", 2*time.Minute, "how long to go on when the endpoint is busy or away")
	f.BoolVar(&o.print, "print", false, "print the records as NDJSON instead of sending them")
	f.Float64Var(&o.ttftBase, "ttft-base-ms", ms(p.TTFTBase), "files without chunk times: TTFT of an empty prompt")
	f.Float64Var(&o.ttftPer1K, "ttft-per-1k-prompt-ms", ms(p.TTFTPer1K), "files without chunk times: TTFT added for each 1000 prompt tokens")
	f.Float64Var(&o.itl, "itl-ms", ms(p.ITL), "files without chunk times: time between two tokens")
	f.Float64Var(&o.read.Pacing.Jitter, "jitter", p.Jitter, "files without chunk times: σ of the lognormal factor on each span")
	f.Uint64Var(&o.read.Pacing.Seed, "seed", p.Seed, "files without chunk times: seed of the factors")
	return cli.Strict(cmd)
}

func long() string {
	var b strings.Builder
	b.WriteString("Reads recordings and result files of other tools and sends them to a running Fermata. Request ids come from\n" +
		"the file or from a hash of its content, so that a second replay changes nothing.\n\nFormats (auto tells them apart):\n")
	for _, f := range replay.Formats() {
		fmt.Fprintf(&b, "  %-12s %s\n", f[0], f[1])
	}
	return b.String()
}

func (o *options) prepare() error {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	p := &o.read.Pacing
	p.TTFTBase, p.TTFTPer1K, p.ITL = ms(o.ttftBase), ms(o.ttftPer1K), ms(o.itl)
	if err := p.Validate(); err != nil {
		return err
	}
	switch o.start {
	case "":
	case "now":
		o.read.Start = time.Now()
	default:
		t, err := time.Parse(time.RFC3339Nano, o.start)
		if err != nil {
			return fmt.Errorf("--start is %q; want RFC 3339, for instance 2026-01-02T15:04:05Z, or now", o.start)
		}
		o.read.Start = t
	}
	if !wire.ValidID(o.read.Tenant) {
		return fmt.Errorf("--tenant is %q; want 1 to 128 letters, digits and . _ : -", o.read.Tenant)
	}
	if o.rate < 0 {
		return fmt.Errorf("--rate is %g; want 0 or more records a second", o.rate)
	}
	if o.print && (o.ingest != "" || o.otlp != "") {
		return errors.New("--print sends nothing; leave --ingest and --otlp away")
	}
	return nil
}

func (o *options) run(ctx context.Context, out, errOut io.Writer, files []string) error {
	if err := o.prepare(); err != nil {
		return cli.Usage(err)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	plans, err := o.plan(ctx, files)
	if err != nil {
		return err
	}
	if o.print {
		return o.printAll(ctx, out, plans)
	}
	s, err := o.sender()
	if err != nil {
		return err
	}
	defer s.Close()
	return o.sendAll(ctx, out, errOut, plans, s)
}

// plan reads every file once before anything is sent, so that a broken one sends nothing and progress has an end.
func (o *options) plan(ctx context.Context, files []string) ([]*plan, error) {
	var plans []*plan
	var errs []error
	for _, name := range files {
		src, err := replay.Open(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p := &plan{src: src}
		if p.rep, err = replay.Read(ctx, src, o.read, func(replay.Record) error { return nil }); err != nil {
			if errors.Is(err, replay.ErrFormat) && o.read.Format != replay.FormatAuto {
				return nil, cli.Usage(err)
			}
			errs = append(errs, err)
			continue
		}
		plans = append(plans, p)
	}
	return plans, errors.Join(errs...)
}

// plan is one file that will be sent.
type plan struct {
	src *replay.Source
	rep replay.Report
}

func (o *options) printAll(ctx context.Context, out io.Writer, plans []*plan) error {
	var line []byte
	for _, p := range plans {
		if _, err := replay.Read(ctx, p.src, o.read, func(rec replay.Record) error {
			for _, it := range items(rec) {
				line = append(append(line[:0], it.Body...), '\n')
				if _, err := out.Write(line); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) sender() (*sender.Sender, error) {
	s := sender.New(o.rate, o.retryFor)
	return s, s.To(o.where, o.ingest, o.otlp)
}

func (o *options) sendAll(ctx context.Context, out, errOut io.Writer, plans []*plan, s *sender.Sender) error {
	total, chunks := 0, 0
	for _, p := range plans {
		total += p.rep.Records
		chunks += p.rep.Chunks
	}
	began := time.Now()
	bar := newProgress(errOut, total)
	s.Progress = bar.add
	for _, p := range plans {
		bar.file(p.src.Name())
		if _, err := replay.Read(ctx, p.src, o.read, func(rec replay.Record) error {
			for _, it := range items(rec) {
				if err := s.Add(ctx, it); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			bar.stop()
			return errors.Join(err, summary(out, s, plans, chunks, time.Since(began)))
		}
	}
	err := s.Flush(ctx)
	bar.stop()
	if err = errors.Join(err, summary(out, s, plans, chunks, time.Since(began))); err != nil {
		return err
	}
	switch {
	case s.Rejected > 0:
		return fmt.Errorf("%d of %d records were rejected", s.Rejected, s.Accepted+s.Rejected)
	case total == 0:
		return errors.New("no file held a record that can be replayed")
	}
	return nil
}

// items encodes a record; a stream with too many chunks becomes several segments.
func items(rec replay.Record) []sender.Item {
	switch {
	case rec.Stream != nil:
		var out []sender.Item
		for _, s := range replay.Segments(rec.Stream, wire.NewDefaultLimits().MaxChunks) {
			out = append(out, sender.Item{Path: "/v1/chunks", ID: s.RequestID, Body: wire.AppendStreamJSON(nil, s), N: 1})
		}
		return out
	case rec.Gateway != nil:
		return []sender.Item{{Path: "/v1/gateway", ID: rec.Gateway.RequestID, Body: wire.AppendGatewayJSON(nil, rec.Gateway), N: 1}}
	case rec.Client != nil:
		return []sender.Item{{Path: "/v1/rum", ID: rec.Client.RequestID, Body: wire.AppendClientJSON(nil, rec.Client), N: 1}}
	case rec.Raw != nil:
		return []sender.Item{{Path: rec.Raw.Path, OTLP: rec.Raw.OTLP, Body: rec.Raw.Body, N: rec.Raw.Items}}
	}
	return nil
}
