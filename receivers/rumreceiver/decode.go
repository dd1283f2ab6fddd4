package rumreceiver

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mileusna/useragent"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

type decoder struct {
	userAgent bool
	unjoined  metric.Int64Counter // nil: not counted
}

// newDecoder makes the decoder with its own counter.
func newDecoder(set component.TelemetrySettings, userAgent bool) (decoder, error) {
	c, err := set.MeterProvider.Meter("github.com/fermata-io/fermata/receivers/rumreceiver").Int64Counter("fermata_rum_unjoined",
		metric.WithUnit("{stream}"), metric.WithDescription("Streams of pages that know no name of their request: kept, and never joined by guess"))
	return decoder{userAgent: userAgent, unjoined: c}, err
}

// decode reads the body of POST /v1/rum.
func (d decoder) decode(r *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	agent := agent{header: r.UserAgent()}
	stats := wire.EachClient(body, opt, func(_ int, c *wire.Client, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		if d.userAgent && c.Browser == "" && c.OS == "" && c.Device == "" {
			agent.fill(c)
		}
		if d.unjoined != nil && c.RequestID == "" && c.ResponseID == "" && c.TraceID == "" && len(c.Aliases) == 0 {
			d.unjoined.Add(r.Context(), 1)
		}
		b.AddClient(c)
		b.Accept()
	})
	b.Ignore(stats.Unknown)
}

// agent reads a User-Agent header at most once.
type agent struct {
	header string
	parsed *useragent.UserAgent
}

// maxAgent bounds the header that is looked at.
const maxAgent = 512

func (a *agent) fill(c *wire.Client) {
	if a.header == "" || len(a.header) > maxAgent {
		return
	}
	if a.parsed == nil {
		ua := useragent.Parse(a.header)
		a.parsed = &ua
	}
	switch {
	case a.parsed.Bot:
		c.Device = "bot"
	case a.parsed.Tablet:
		c.Device = "tablet"
	case a.parsed.Mobile:
		c.Device = "mobile"
	case a.parsed.Desktop:
		c.Device = "desktop"
	}
	if c.Device == "" { // a program: its name may be anything
		return
	}
	c.OS = strings.ToValidUTF8(a.parsed.OS, "")
	if c.Browser = strings.ToValidUTF8(a.parsed.Name, ""); a.parsed.VersionNo.Major > 0 {
		c.Browser += " " + strconv.Itoa(a.parsed.VersionNo.Major)
	}
}
