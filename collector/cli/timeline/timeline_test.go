package timeline_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/storage/requests"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update once")
	require.Equal(t, string(want), got)
}

func render(t *testing.T, r *requests.Request, o timeline.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, timeline.Render(&b, r, o))
	return b.String()
}

func TestRender(t *testing.T) {
	for name, r := range map[string]*requests.Request{
		"stalled": stalled(), "running": running(), "retried": retried(), "reported": reportedOnly(), "client": clientOnly(), "late": lateLog(),
	} {
		for _, width := range []int{60, 80, 120} {
			for _, ascii := range []bool{false, true} {
				file := fmt.Sprintf("%s_%d.txt", name, width)
				if ascii {
					file = fmt.Sprintf("%s_%d_ascii.txt", name, width)
				}
				t.Run(file, func(t *testing.T) {
					got := render(t, r, timeline.Options{Width: width, ASCII: ascii})
					golden(t, file, got)
					for line := range strings.Lines(got) {
						require.LessOrEqual(t, uniseg.StringWidth(strings.TrimSuffix(line, "\n")), width, "too wide: %q", line)
					}
				})
			}
		}
	}
}

func TestRenderColour(t *testing.T) {
	got := render(t, stalled(), timeline.Options{Width: 100, Color: true})
	golden(t, "stalled_100_colour.txt", got)
	require.NotContains(t, render(t, stalled(), timeline.Options{Width: 100}), "\x1b", "no escapes without colour")
}

func TestRenderASCIIHoldsOnlyASCII(t *testing.T) {
	for _, r := range []*requests.Request{stalled(), running(), reportedOnly(), clientOnly()} {
		for _, c := range render(t, r, timeline.Options{Width: 80, ASCII: true}) {
			require.Less(t, c, rune(128), "%q", c)
		}
	}
}

func TestRenderNeverPassesControlCharacters(t *testing.T) {
	r := retried()
	r.Aliases = []string{"a\x1b]0;title\x07b", "line\nbreak"}
	r.Target.Model = ptr("m\u202egpj")
	r.App = ptr("\u009b31m")
	got := render(t, r, timeline.Options{Width: 80})
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u009b"} {
		require.NotContains(t, got, bad)
	}
	require.NotContains(t, got, "line\nbreak")
}

func TestRenderAnyRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		c := &requests.Chunks{}
		at := int64(0)
		for range n {
			at += rapid.Int64Range(0, 4_000_000_000).Draw(t, "dt")
			c.TUS = append(c.TUS, at)
			c.Bytes = append(c.Bytes, rapid.Uint32().Draw(t, "bytes"))
			c.Kind = append(c.Kind, rapid.SampledFrom([]string{"content", "reasoning", "role", "done", "nonsense"}).Draw(t, "kind"))
		}
		opt := func(name string) *int64 {
			if rapid.Bool().Draw(t, name) {
				return nil
			}
			return ptr(rapid.Int64Range(-1_000_000, 100_000_000_000).Draw(t, name+" value"))
		}
		s := &requests.Stream{
			Tier: "server", StartedAt: rapid.Int64Range(0, 1<<55).Draw(t, "start"), TTFTUS: opt("ttft"), LastUS: opt("last"), EndUS: opt("end"),
			Tokens: opt("tokens"), Chunks: c, Phases: requests.Phases{QueueUS: opt("queue"), PrefillUS: opt("prefill")},
		}
		r := &requests.Request{
			RequestID: rapid.String().Draw(t, "id"), Tenant: "t", State: requests.State(rapid.String().Draw(t, "state")),
			Attempts: []requests.Attempt{{Attempt: 1, Served: true, Server: s}},
			Client:   &requests.Client{StartedAt: opt("client"), Chunks: c, EndUS: opt("cend"), RequestSentUS: opt("sent")},
			Clock:    &requests.Clock{OffsetUS: rapid.Int64Range(-1<<50, 1<<50).Draw(t, "offset")},
		}
		width := rapid.IntRange(0, 200).Draw(t, "width")
		var b bytes.Buffer
		if err := timeline.Render(&b, r, timeline.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if w := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); w > max(width, 60) {
				t.Fatalf("%d columns of %d: %q", w, max(width, 60), line)
			}
		}
	})
}
