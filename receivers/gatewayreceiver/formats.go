package gatewayreceiver

import (
	"errors"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/receivers/adapters/apisix"
	"github.com/fermata-io/fermata/receivers/adapters/higress"
	"github.com/fermata-io/fermata/receivers/adapters/kong"
	"github.com/fermata-io/fermata/receivers/adapters/litellm"
)

// errOtherCall says that a record is not of a call that answers with text: it is left out, since loggers send
// every call.
var errOtherCall = errors.New("not a call that answers with text")

// A format is another gateway's log record.
type format struct {
	name      string // its path is the receiver's with /name behind it
	recognize func(item []byte) bool
	one       func(item []byte) (wire.Gateway, *wire.Stream, error)
}

var formats = [...]format{
	{"litellm", litellm.Recognize, func(b []byte) (wire.Gateway, *wire.Stream, error) {
		g, s, err := litellm.One(b)
		return g, s, other(err, litellm.ErrOtherCall)
	}},
	{"kong", kong.Recognize, gatewayOnly(kong.One, kong.ErrOtherCall)},
	{"higress", higress.Recognize, gatewayOnly(higress.One, higress.ErrOtherCall)},
	{"apisix", apisix.Recognize, gatewayOnly(apisix.One, apisix.ErrOtherCall)},
}

func gatewayOnly(one func([]byte) (wire.Gateway, error), otherCall error) func([]byte) (wire.Gateway, *wire.Stream, error) {
	return func(b []byte) (wire.Gateway, *wire.Stream, error) {
		g, err := one(b)
		return g, nil, other(err, otherCall)
	}
}

func other(err, otherCall error) error {
	if errors.Is(err, otherCall) {
		return errOtherCall
	}
	return err
}

// formatOf returns the format that a body or item is recognized as; nil: none, so it is Fermata's own.
func formatOf(b []byte) *format {
	for i := range formats {
		if formats[i].recognize(b) {
			return &formats[i]
		}
	}
	return nil
}
