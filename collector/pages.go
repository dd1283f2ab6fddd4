package collector

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/fermata-io/fermata/api/apiextension"
	"github.com/fermata-io/fermata/collector/cli/timeline"
	"github.com/fermata-io/fermata/receivers/chunkreceiver/tap"
	"github.com/fermata-io/fermata/storage/requests"
	"github.com/fermata-io/fermata/ui/playground"
	"github.com/fermata-io/fermata/ui/requestpage"
)

// pages are what the API's listener serves for people. Where the tap and the ingest listener are is known only once they
// run, so it is asked with each request.
func pages(addrs *addresses) *apiextension.Pages {
	return &apiextension.Pages{
		Requests:   requestpage.Path,
		Playground: playground.Path,
		New: func(src apiextension.Source) (map[string]http.Handler, error) {
			opt := requestpage.Options{Request: src.Request, Draw: drawPage, Explain: timeline.Explain, Logger: src.Logger}
			out := map[string]http.Handler{}
			if src.Playground.Enabled {
				opt.Playground = playground.Path
				h, err := playground.New(playground.Options{
					Upstreams: src.Playground.Upstreams,
					Tap:       func() string { return addrs.all()["tap"] },
					Ingest:    func() string { return addrs.all()["ingest"] },
				})
				if err != nil {
					return nil, err
				}
				out[strings.TrimSuffix(playground.Path, "/")] = h
			}
			out[requestpage.Path] = requestpage.New(opt)
			return out, nil
		},
	}
}

// drawPage draws the timeline as the terminal has it, without colours.
func drawPage(w io.Writer, r *requests.Request, columns int) error {
	return timeline.Render(w, r, timeline.Options{Width: columns})
}

// playgroundUpstreams are the names of the upstreams as the playground offers them: the user's own first, the scripted
// model last.
func playgroundUpstreams(upstreams map[string]string) []any {
	names := make([]string, 0, len(upstreams))
	for name := range upstreams {
		names = append(names, name)
	}
	rank := func(name string) int {
		switch name {
		case tap.DefaultUpstream:
			return 0
		case demoName:
			return 2
		}
		return 1
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}
