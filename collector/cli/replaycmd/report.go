package replaycmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/fermata-io/fermata/collector/cli/sender"
)

// progress shows how far a replay is: a bar on a terminal, a line now and then elsewhere.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	total int
	done  int
	last  time.Time
}

// plainEvery is how often a line is printed where there is no terminal.
const plainEvery = 5 * time.Second

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, last: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("records"), progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

func (p *progress) file(name string) {
	if p.bar != nil {
		p.bar.Describe(name)
	}
}

func (p *progress) add(n int) {
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n)
		return
	}
	if time.Since(p.last) >= plainEvery {
		p.last = time.Now()
		_, _ = fmt.Fprintf(p.out, "%d of %d records sent\n", p.done, p.total)
	}
}

func (p *progress) stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// summary tells what was read, what became of it, and how to look at it.
func summary(out io.Writer, s *sender.Sender, plans []*plan, chunks int, took time.Duration) error {
	w := &errWriter{w: out}
	told := map[string]bool{} // a note that holds for many files is told once
	for _, p := range plans {
		w.printf("%s: %s, %s", p.src.Name(), p.rep.Format, plural(p.rep.Records, "record"))
		if p.rep.Chunks > 0 {
			w.printf(", %s", plural(p.rep.Chunks, "chunk"))
		}
		if p.rep.Skipped > 0 {
			w.printf(", %d skipped", p.rep.Skipped)
		}
		w.printf("\n")
		for _, n := range p.rep.Notes {
			if !told[n] {
				told[n] = true
				w.printf("  note: %s\n", n)
			}
		}
		for _, r := range p.rep.Reasons {
			w.printf("  skipped: %s\n", r)
		}
		if p.rep.Skipped > len(p.rep.Reasons) {
			w.printf("  skipped: … and %d more\n", p.rep.Skipped-len(p.rep.Reasons))
		}
	}
	w.printf("%d accepted, %d rejected, %s, in %s\n", s.Accepted, s.Rejected, plural(chunks, "chunk"), took.Round(time.Millisecond))
	for _, r := range s.Reasons {
		w.printf("  rejected: %s\n", r)
	}
	if s.More > 0 {
		w.printf("  rejected: … and %d more\n", s.More)
	}
	if id := example(plans); id != "" && s.Accepted > 0 {
		w.printf("look one up: fermata request %s\n", id)
	}
	return w.err
}

func example(plans []*plan) string {
	for _, p := range plans {
		if p.rep.First != "" {
			return p.rep.First
		}
	}
	return ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) printf(format string, args ...any) {
	if e.err == nil {
		_, err := fmt.Fprintf(e.w, format, args...)
		e.err = errors.Join(e.err, err)
	}
}
