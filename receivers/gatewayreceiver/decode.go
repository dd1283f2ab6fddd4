package gatewayreceiver

import (
	"errors"
	"net/http"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
)

// decodeGateway reads the body of POST /v1/gateway: records of Fermata's own form, and those of other gateways that
// are recognized by their fields.
func decodeGateway(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	if formatOf(body) == nil {
		native(body, opt, 0, b)
		return
	}
	wire.EachItem(body, opt, func(index int, raw []byte, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		if f := formatOf(raw); f != nil {
			translate(f, raw, opt, index, b)
			return
		}
		native(raw, opt, index, b)
	})
}

// decodeFormat reads the body of POST /v1/gateway/NAME, all of whose records are of one format.
func decodeFormat(f *format) ingest.DecodeFunc {
	return func(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
		wire.EachItem(body, opt, func(index int, raw []byte, err *wire.ItemError) {
			if err != nil {
				b.Reject(err)
				return
			}
			translate(f, raw, opt, index, b)
		})
	}
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

// translate reads one item of another gateway's form. It is taken as a whole or not at all.
func translate(f *format, raw []byte, opt wire.DecodeOptions, index int, b *ingest.Batch) {
	g, s, err := f.one(raw)
	if errors.Is(err, errOtherCall) {
		b.Skip()
		return
	}
	if err == nil {
		err = g.Validate(opt.Now, opt.Limits)
	}
	if err == nil && s != nil {
		err = s.Validate(opt.Now, opt.Limits)
	}
	if err != nil {
		id := g.RequestID
		if !wire.ValidID(id) {
			id = ""
		}
		b.Reject(&wire.ItemError{Index: index, RequestID: id, Err: err})
		return
	}
	b.AddGateway(&g)
	if s != nil {
		b.AddStream(s)
	}
	b.Accept()
}
