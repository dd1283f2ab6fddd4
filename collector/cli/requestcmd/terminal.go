package requestcmd

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fermata-io/fermata/collector/cli/timeline"
)

// defaultWidth is used where there is no terminal.
const defaultWidth = 100

// drawing chooses how to draw on out: its width, whether it shows more than ASCII, and colour on a terminal unless NO_COLOR
// (https://no-color.org) or TERM=dumb says otherwise. width wins when it is not 0.
func drawing(out io.Writer, width int, env func(string) string) timeline.Options {
	o := timeline.Options{Width: width, ASCII: !utf8Locale(env)}
	f, ok := out.(*os.File)
	tty := ok && term.IsTerminal(int(f.Fd()))
	if tty {
		o.Color = env("NO_COLOR") == "" && env("TERM") != "dumb"
	}
	if o.Width > 0 {
		return o
	}
	o.Width = defaultWidth
	if tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			o.Width = w
		}
	}
	return o
}

// utf8Locale reports whether the locale's character set is UTF-8. Without any locale it is taken to be: containers rarely
// set one and terminals rarely lack it.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v := strings.ToUpper(env(name))
		if v == "" {
			continue
		}
		return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
	}
	return true
}
