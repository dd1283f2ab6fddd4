// Package simulatecmd holds `fermata simulate`: labelled traffic for a running Fermata, and the score of what it found in it.
package simulatecmd

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
	"github.com/fermata-io/fermata/internal/simulate"
	"github.com/fermata-io/fermata/internal/wire"
)

// traffic holds the flags that say what is made.
type traffic struct {
	cfg      simulate.Config
	scenario string
	faults   string
	start    string
	speed    float64
}

func (o *traffic) addTraffic(cmd *cobra.Command) {
	o.cfg = simulate.NewDefaultConfig()
	f := cmd.Flags()
	f.Uint64Var(&o.cfg.Seed, "seed", o.cfg.Seed, "seed; the same seed, start and options make the same traffic")
	f.IntVar(&o.cfg.Requests, "requests", o.cfg.Requests, "most requests")
	f.Float64Var(&o.cfg.Rate, "rate", o.cfg.Rate, "requests a second of simulated time, arriving at random")
	f.DurationVar(&o.cfg.Duration, "duration", 0, "end the arrivals after this simulated time (default: after --requests)")
	f.StringVar(&o.start, "start", "", "simulated time of the first arrivals, RFC 3339, or now (default: so that all of it lies in the past; with --speed now)")
	f.StringVar(&o.scenario, "scenario", "mixed", "what goes wrong how often: "+strings.Join(simulate.Scenarios(), ", "))
	f.StringVar(&o.faults, "faults", "", "shares of faults over those of the scenario: stall=0.1,loop=0.05; none as first item removes the scenario's")
	f.StringVar(&o.cfg.Tenant, "tenant", wire.DefaultTenant, "tenant to write to")
	f.BoolVar(&o.cfg.ServerOnly, "server-only", false, "engines only, no gateways and pages")
	f.Float64Var(&o.speed, "speed", 0, "pace: 1 real time, 10 ten times as fast, 0 as fast as possible; paced streams come in segments of a second while they run")
}

// config reads the flags; now stands in for a start that isn't given.
func (o *traffic) config(now time.Time) (simulate.Config, error) {
	c := o.cfg
	var ok bool
	if c.Shares, ok = simulate.ScenarioShares(o.scenario); !ok {
		return c, fmt.Errorf("--scenario is %q; want one of %s", o.scenario, strings.Join(simulate.Scenarios(), ", "))
	}
	if err := c.Shares.Parse(o.faults); err != nil {
		return c, fmt.Errorf("--faults: %w", err)
	}
	if o.speed < 0 {
		return c, fmt.Errorf("--speed is %g; want 0 or more", o.speed)
	}
	if o.speed > 0 {
		c.Segment = time.Duration(o.speed * float64(time.Second))
	}
	switch o.start {
	case "", "now":
		c.Start = now.Truncate(time.Millisecond)
		if o.start == "" && o.speed == 0 {
			c.Start = c.Start.Add(-c.Expected() - tail).Truncate(time.Minute)
		}
	default:
		t, err := time.Parse(time.RFC3339Nano, o.start)
		if err != nil {
			return c, fmt.Errorf("--start is %q; want RFC 3339, for instance 2026-01-02T15:04:05Z, or now", o.start)
		}
		c.Start = t
	}
	return c, c.Validate()
}

// tail is how long after the last arrival the last answer is surely complete.
const tail = 10 * time.Minute

type options struct {
	traffic
	where    client.Where
	ingest   string
	retryFor time.Duration
	dir      string
	score    bool
	check    scoring
}

// New returns `fermata simulate`.
func New() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Send labelled traffic with known faults to a running Fermata, and score what it finds",
		Long:  long(),
		Example: `  fermata simulate --requests 2000 --score          as fast as possible, then precision and recall
  fermata simulate --scenario incident --speed 1    in real time, streams come live
  fermata simulate --scenario loops --write DIR     NDJSON files for curl, and truth.ndjson beside them`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addTraffic(cmd)
	f := cmd.Flags()
	f.StringVar(&o.where.Data, "data", "", "data folder of the running 'fermata up' (default: $FERMATA_DATA or ~/.local/share/fermata)")
	f.StringVar(&o.where.API, "api", "", "URL of Fermata's API, for --score (default: the running 'fermata up' of the data folder)")
	f.StringVar(&o.ingest, "ingest", "", "URL of the ingest endpoint (default: as above)")
	f.DurationVar(&o.retryFor, "retry-for", 2*time.Minute, "how long to go on when the endpoint is busy or away")
	f.StringVar(&o.dir, "write", "", "write chunks.ndjson, gateway.ndjson, rum.ndjson and truth.ndjson into this folder instead of sending")
	f.BoolVar(&o.score, "score", false, "when all is sent, score the findings, as 'fermata simulate score' does")
	o.check.flags(cmd)
	cmd.AddCommand(newScore())
	return cli.Strict(cmd)
}

func long() string {
	var b strings.Builder
	b.WriteString("Makes traffic of streamed answers as engines, gateways and pages would report it, knows what really goes wrong in it, and\n" +
		"sends it to a running Fermata. Sending it again with the same seed and start changes nothing.\n\nFaults, with the share of requests that have them:\n")
	for _, f := range simulate.FaultNames() {
		fmt.Fprintf(&b, "  %-14s %s\n", f[0], f[1])
	}
	return b.String()
}

func (o *options) run(ctx context.Context, out, errOut io.Writer) error {
	cfg, err := o.config(time.Now())
	if err == nil && o.dir != "" && (o.score || o.ingest != "" || o.speed > 0) {
		err = errors.New("--write sends nothing; leave --score, --ingest and --speed away")
	}
	if err = errors.Join(err, o.check.validate()); err != nil {
		return cli.Usage(err)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	sim := simulate.New(cfg)
	if o.dir != "" {
		return o.write(ctx, out, sim)
	}
	s := sender.New(0, o.retryFor)
	defer s.Close()
	if err := s.To(o.where, o.ingest, ""); err != nil {
		return err
	}
	summary := out
	if o.score && o.check.json { // what is printed there is JSON alone
		summary = errOut
	}
	if err := o.send(ctx, summary, errOut, sim, s, &cfg); err != nil {
		return err
	}
	if !o.score {
		return nil
	}
	return o.check.run(ctx, out, o.where, subject{cfg.Tenant, cfg.Prefix(), cfg.Start}, sim.Truths())
}

// again is the options that make the same traffic again.
func (o *traffic) again(c *simulate.Config) string {
	a := fmt.Sprintf("--seed %d --start %s --scenario %s --requests %d --rate %g", c.Seed, c.Start.UTC().Format(time.RFC3339Nano), o.scenario, c.Requests, c.Rate)
	if o.faults != "" {
		a += " --faults " + o.faults
	}
	if c.Duration > 0 {
		a += " --duration " + c.Duration.String()
	}
	if c.Tenant != wire.DefaultTenant {
		a += " --tenant " + c.Tenant
	}
	if c.ServerOnly {
		a += " --server-only"
	}
	if o.speed > 0 {
		a += fmt.Sprintf(" --speed %g", o.speed)
	}
	return a
}

// item encodes a record.
func item(rec *simulate.Record) sender.Item {
	switch {
	case rec.Stream != nil:
		return sender.Item{Path: "/v1/chunks", ID: rec.Stream.RequestID, Body: wire.AppendStreamJSON(nil, rec.Stream), N: 1}
	case rec.Gateway != nil:
		return sender.Item{Path: "/v1/gateway", ID: rec.Gateway.RequestID, Body: wire.AppendGatewayJSON(nil, rec.Gateway), N: 1}
	default:
		return sender.Item{Path: "/v1/rum", ID: rec.Client.RequestID, Body: wire.AppendClientJSON(nil, rec.Client), N: 1}
	}
}
