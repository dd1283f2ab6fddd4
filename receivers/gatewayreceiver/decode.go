package gatewayreceiver

import (
	"errors"
	"net/http"

	"github.com/fermata-io/fermata/internal/ingest"
	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/litellm"
)

// decodeGateway reads the body of POST /v1/gateway. Items that are LiteLLM's are translated.
func decodeGateway(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	if !litellm.Recognize(body) {
		native(body, opt, 0, b)
		return
	}
	wire.EachItem(body, opt, func(index int, raw []byte, err *wire.ItemError) {
		switch {
		case err != nil:
			b.Reject(err)
		case litellm.Recognize(raw):
			translate(raw, opt, index, b)
		default:
			native(raw, opt, index, b)
		}
	})
}

// decodeLiteLLM reads the body of POST /v1/gateway/litellm.
func decodeLiteLLM(_ *http.Request, body []byte, opt wire.DecodeOptions, b *ingest.Batch) {
	wire.EachItem(body, opt, func(index int, raw []byte, err *wire.ItemError) {
		if err != nil {
			b.Reject(err)
			return
		}
		translate(raw, opt, index, b)
	})
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

// translate reads one item in LiteLLM's form. It is taken as a whole or not at all; records of calls that
// answer with no text (embeddings, images) are left out, since the callback sends every call.
func translate(raw []byte, opt wire.DecodeOptions, index int, b *ingest.Batch) {
	g, s, err := litellm.One(raw)
	if errors.Is(err, litellm.ErrOtherCall) {
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
