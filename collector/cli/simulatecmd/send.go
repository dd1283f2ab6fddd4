package simulatecmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fermata-io/fermata/collector/cli/sender"
	"github.com/fermata-io/fermata/internal/simulate"
)

// flushEvery is how long records of a paced run may wait for others.
const flushEvery = 50 * time.Millisecond

// progressEvery is how often a run tells how far it is.
const progressEvery = 5 * time.Second

// send hands all traffic to s, at its pace.
func (o *options) send(ctx context.Context, out, errOut io.Writer, sim *simulate.Simulator, s *sender.Sender, cfg *simulate.Config) error {
	began := time.Now()
	told := began
	origin := began // of simulated time, where it is paced
	if cfg.Start.After(began) {
		origin = cfg.Start
	}
	var failed error
	for rec, ok := sim.Next(); ok; rec, ok = sim.Next() {
		if o.speed > 0 {
			due := origin.Add(time.Duration(float64(rec.At-cfg.Start.UnixMicro()) / o.speed * float64(time.Microsecond)))
			if failed = wait(ctx, s, due); failed != nil {
				break
			}
		}
		if failed = s.Add(ctx, item(&rec)); failed != nil {
			break
		}
		if time.Since(told) >= progressEvery {
			told = time.Now()
			_, _ = fmt.Fprintf(errOut, "%d of %d requests complete, %d records sent, simulated time %s\n",
				sim.Done, cfg.Requests, s.Accepted+s.Rejected, time.Duration(rec.At-cfg.Start.UnixMicro())*time.Microsecond)
		}
	}
	failed = errors.Join(failed, ctx.Err())
	if failed == nil {
		failed = s.Flush(ctx)
	}
	w := bufio.NewWriter(out)
	_, _ = fmt.Fprintf(w, "%d requests, %d records, %d chunks of engines, %d things went wrong; %d accepted, %d rejected, in %s\n",
		sim.Done, sim.Records, sim.Chunks, len(sim.Truths()), s.Accepted, s.Rejected, time.Since(began).Round(time.Millisecond))
	for _, r := range s.Reasons {
		_, _ = fmt.Fprintf(w, "  rejected: %s\n", r)
	}
	if s.More > 0 {
		_, _ = fmt.Fprintf(w, "  rejected: … and %d more\n", s.More)
	}
	_, _ = fmt.Fprintf(w, "look one up: fermata request %s0\nthe same again: fermata simulate %s\n", cfg.Prefix(), o.again(cfg))
	if s.Rejected > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d records were rejected", s.Rejected, s.Accepted+s.Rejected))
	}
	return errors.Join(failed, w.Flush())
}

// wait returns when an instant has come; what is waiting meanwhile is sent.
func wait(ctx context.Context, s *sender.Sender, due time.Time) error {
	d := time.Until(due)
	if d <= flushEvery {
		return ctx.Err()
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// write puts all traffic into files, one for each endpoint, and the truth beside them.
func (o *options) write(ctx context.Context, out io.Writer, sim *simulate.Simulator) (err error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil { //nolint:gosec // made traffic, no secret
		return fmt.Errorf("--write: %w", err)
	}
	files := map[string]*ndjson{}
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.close())
		}
	}()
	for path, name := range map[string]string{"/v1/chunks": "chunks", "/v1/gateway": "gateway", "/v1/rum": "rum", "": "truth"} {
		f, err := os.Create(filepath.Join(o.dir, name+".ndjson")) //nolint:gosec // the user's own folder
		if err != nil {
			return fmt.Errorf("--write: %w", err)
		}
		files[path] = &ndjson{f, bufio.NewWriterSize(f, 1<<20)}
	}
	for rec, ok := sim.Next(); ok; rec, ok = sim.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		it := item(&rec)
		if err := files[it.Path].line(it.Body); err != nil {
			return err
		}
	}
	for _, t := range sim.Truths() {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if err := files[""].line(b); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "%d requests, %d records, %d chunks of engines, %d things went wrong, in %s\nscore them once they are sent: fermata simulate score --truth %s\n",
		sim.Done, sim.Records, sim.Chunks, len(sim.Truths()), o.dir, filepath.Join(o.dir, "truth.ndjson"))
	return err
}

// ndjson is a file of one JSON value a line.
type ndjson struct {
	f *os.File
	w *bufio.Writer
}

func (n *ndjson) line(b []byte) error {
	_, err := n.w.Write(append(b, '\n'))
	return err
}

func (n *ndjson) close() error { return errors.Join(n.w.Flush(), n.f.Close()) }
