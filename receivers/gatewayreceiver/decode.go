package gatewayreceiver

import (
	"net/http"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

// decodeGateway reads the body of POST /v1/gateway.
func decodeGateway(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	native(body, opt, 0, b)
}

// native reads items in Fermata's own form, the first of which is item number index of the body.
func native(body []byte, opt wire.DecodeOptions, index int, b *ingest.Batch) {
	stats := wire.EachGateway(body, opt, func(i int, g *wire.Gateway, s *wire.Stream, err *wire.ItemError) {
		if err != nil {
			err.Index = index + i
			b.Reject(err)
			return
		}
		b.AddGateway(g)
		if s != nil {
			b.AddStream(s)
		}
		b.Accept()
	})
	b.Ignore(stats.Unknown)
}
