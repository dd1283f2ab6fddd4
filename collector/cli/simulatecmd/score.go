package simulatecmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fermata-io/fermata/collector/cli"
	"github.com/fermata-io/fermata/collector/cli/client"
	"github.com/fermata-io/fermata/internal/simulate"
)

// scoring holds the flags of a score.
type scoring struct {
	json                    bool
	minPrecision, minRecall float64
	kinds                   []string
	wait                    time.Duration
	show                    int
}

func (c *scoring) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print the score as JSON, with every disagreement")
	f.Float64Var(&c.minPrecision, "min-precision", 0, "fail when a kind's precision is lower, 0 to 1")
	f.Float64Var(&c.minRecall, "min-recall", 0, "fail when a kind's recall is lower, 0 to 1")
	f.StringSliceVar(&c.kinds, "kinds", nil, "only these kinds of finding, for instance stall,loop (default: all)")
	f.DurationVar(&c.wait, "wait", time.Minute, "how long to wait at most for findings that are still being derived")
	f.IntVar(&c.show, "show", 20, "most disagreements printed; -1: all")
}

func (c *scoring) validate() error {
	if c.minPrecision < 0 || c.minPrecision > 1 || c.minRecall < 0 || c.minRecall > 1 {
		return errors.New("--min-precision and --min-recall: want 0 to 1")
	}
	return nil
}

// newScore returns `fermata simulate score`.
func newScore() *cobra.Command {
	o := &options{}
	file := ""
	cmd := &cobra.Command{
		Use:   "score",
		Short: "Compare the findings of simulated traffic with what really went wrong",
		Long: `Reads the findings of simulated traffic back from a running Fermata and compares them with the truth: that of a truth.ndjson, or
made again from the options the traffic was made with.`,
		Example: `  fermata simulate score --truth DIR/truth.ndjson
  fermata simulate score --seed 7 --start 2026-01-02T15:04:00Z --min-precision 0.99 --min-recall 0.99 --kinds stall`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := o.config(time.Now())
			if err == nil && file == "" && (o.start == "" || o.start == "now") {
				err = errors.New("--start is missing: the instant that 'fermata simulate' printed; or give --truth")
			}
			if err = errors.Join(err, o.check.validate()); err != nil {
				return cli.Usage(err)
			}
			ctx := cmd.Context()
			if ctx == nil {
				ctx = context.Background()
			}
			truths, err := truth(ctx, file, &cfg)
			if err != nil {
				return err
			}
			sub, err := of(truths, &cfg, file)
			if err != nil {
				return err
			}
			return o.check.run(ctx, cmd.OutOrStdout(), o.where, sub, truths)
		},
	}
	o.addTraffic(cmd)
	o.where.AddFlags(cmd)
	cmd.Flags().StringVar(&file, "truth", "", "truth.ndjson of 'fermata simulate --write'")
	o.check.flags(cmd)
	return cli.Strict(cmd)
}

// truth reads a file, or makes the traffic again.
func truth(ctx context.Context, file string, cfg *simulate.Config) ([]simulate.Truth, error) {
	if file == "" {
		sim := simulate.New(*cfg)
		for _, ok := sim.Next(); ok && ctx.Err() == nil; _, ok = sim.Next() {
		}
		return sim.Truths(), ctx.Err()
	}
	f, err := os.Open(file) //nolint:gosec // the user's own file
	if err != nil {
		return nil, fmt.Errorf("--truth: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []simulate.Truth
	d := json.NewDecoder(bufio.NewReader(f))
	for d.More() {
		var t simulate.Truth
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("--truth: %s: value %d: %w", file, len(out)+1, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// subject is the traffic that is scored.
type subject struct {
	tenant, prefix string
	since          time.Time
}

// of finds out of which traffic truths are: a file says so itself.
func of(truths []simulate.Truth, cfg *simulate.Config, file string) (subject, error) {
	sub := subject{cfg.Tenant, cfg.Prefix(), cfg.Start}
	if file == "" {
		return sub, nil
	}
	for _, t := range truths {
		if i := strings.LastIndexByte(t.RequestID, '-'); i > 0 {
			sub.prefix, sub.since = t.RequestID[:i+1], time.UnixMicro(truths[0].At)
			return sub, nil
		}
	}
	return sub, fmt.Errorf("--truth: %s names no request; give the options the traffic was made with instead", file)
}

// run reads the findings until they no longer change, compares and reports.
func (c *scoring) run(ctx context.Context, out io.Writer, where client.Where, sub subject, truths []simulate.Truth) error {
	api, err := where.Open()
	if err != nil {
		return err
	}
	defer api.Close()
	var score *simulate.Score
	until := time.Now().Add(c.wait)
	// Looks, a second apart, without a change: what several tiers show is derived a little later, or much later on a busy machine.
	const calm, calmUnsettled = 5, 30
	same, last := 0, ""
	for {
		found, err := read(ctx, api, sub)
		if err != nil {
			return err
		}
		score = simulate.Compare(truths, found, sub.prefix).Only(c.kinds)
		b, err := json.Marshal(score)
		if err != nil {
			return err
		}
		if string(b) == last {
			same++
		} else {
			same, last = 0, string(b)
		}
		if same >= calm && !score.Unsettled() || same >= calmUnsettled || time.Now().After(until) {
			break
		}
		t := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
	if err := c.print(out, score); err != nil {
		return err
	}
	return c.judge(score)
}

// read pages through all findings of the traffic's time.
func read(ctx context.Context, api *client.API, sub subject) ([]simulate.Found, error) {
	var out []simulate.Found
	cursor := ""
	for {
		b, err := api.Findings(ctx, url.Values{
			"tenant": {sub.tenant}, "limit": {"1000"}, "cursor": {cursor}, "since": {sub.since.Add(-24 * time.Hour).UTC().Format(time.RFC3339)},
		})
		if err != nil {
			return nil, err
		}
		var page struct {
			Findings []simulate.Found `json:"findings"`
			Next     string           `json:"next_cursor"`
		}
		if err := json.Unmarshal(b, &page); err != nil {
			return nil, fmt.Errorf("answer of GET /v1/findings: %w", err)
		}
		out = append(out, page.Findings...)
		if cursor = page.Next; cursor == "" {
			return out, nil
		}
	}
}

func (c *scoring) print(out io.Writer, s *simulate.Score) error {
	if c.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(s)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "kind\ttrue\tfound\tright\tmissed\tfalse\tprecision\trecall\tplace right\tcause right\t")
	for _, k := range s.Kinds {
		cause := "–"
		if k.Judged > 0 {
			cause = fmt.Sprintf("%.3f", float64(k.Attributed)/float64(k.Judged))
		}
		place := "–"
		if k.Right > 0 {
			place = fmt.Sprintf("%.3f", float64(k.Placed)/float64(k.Right))
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.4f\t%.4f\t%s\t%s\t\n", k.Kind, k.Truths, k.Findings, k.Right, k.Missed, k.False, k.Precision, k.Recall, place, cause)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.EngineWide > 0 {
		if _, err := fmt.Fprintf(out, "%d of %d stalls of whole engines say that other streams share them\n", s.EngineTold, s.EngineWide); err != nil {
			return err
		}
	}
	for i, d := range s.Disagreements {
		if c.show >= 0 && i >= c.show {
			_, err := fmt.Fprintf(out, "… and %d more disagreements (--show -1, --json)\n", len(s.Disagreements)-i)
			return err
		}
		cause := d.Cause
		if cause != "" {
			cause = " (" + cause + ")"
		}
		if _, err := fmt.Fprintf(out, "%s: %s %s at chunk %d of %s%s: %s\n", d.What, d.Tier, d.Kind, d.Chunk, d.RequestID, cause, d.Detail); err != nil {
			return err
		}
	}
	return nil
}

// judge fails when a kind is worse than asked for, or was asked for by name and is not there to be found.
func (c *scoring) judge(s *simulate.Score) error {
	var errs []error
	for _, want := range c.kinds {
		there := slices.ContainsFunc(s.Kinds, func(k simulate.Count) bool { return k.Kind == want && k.Truths > 0 })
		if c.minRecall > 0 && !there {
			errs = append(errs, fmt.Errorf("%s: the traffic has none, so that --min-recall %g can't be judged", want, c.minRecall))
		}
	}
	for _, k := range s.Kinds {
		if k.Precision < c.minPrecision {
			errs = append(errs, fmt.Errorf("%s: precision is %.4f, less than --min-precision %g", k.Kind, k.Precision, c.minPrecision))
		}
		if k.Recall < c.minRecall {
			errs = append(errs, fmt.Errorf("%s: recall is %.4f, less than --min-recall %g", k.Kind, k.Recall, c.minRecall))
		}
	}
	return errors.Join(errs...)
}
