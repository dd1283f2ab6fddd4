package streamprocessor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/fermata-io/fermata/internal/wire"
)

// A stream that had only opened, by a role or a ping, is dead when it fails or just stops; one that said that it was done is not.
func TestDeadBeforeContent(t *testing.T) {
	dead := []wire.FindingKind{wire.FindingDeadStream}
	for name, c := range map[string]struct {
		kinds  []wire.Kind
		change func(*wire.Stream)
		want   []wire.FindingKind
	}{
		"role, stopped":           {kinds: []wire.Kind{wire.KindRole, wire.KindKeepalive}, want: dead},
		"pings, stopped":          {kinds: []wire.Kind{wire.KindKeepalive, wire.KindKeepalive}, want: dead},
		"pings, reset":            {[]wire.Kind{wire.KindKeepalive, wire.KindKeepalive}, func(s *wire.Stream) { s.ErrorType = "upstream_reset" }, dead},
		"pings, done":             {kinds: []wire.Kind{wire.KindKeepalive, wire.KindDone}},
		"pings, a reason":         {[]wire.Kind{wire.KindKeepalive, wire.KindKeepalive}, func(s *wire.Stream) { s.FinishReason = "stop" }, nil},
		"pings, the client left":  {[]wire.Kind{wire.KindKeepalive, wire.KindKeepalive}, func(s *wire.Stream) { s.ErrorType = "client_disconnect" }, nil},
		"pings, content, stopped": {kinds: []wire.Kind{wire.KindKeepalive, wire.KindContent}}, // of a kind of emitter that may tell no end
		"nothing, refused":        {nil, func(s *wire.Stream) { s.ErrorType, s.Status = "overloaded", 503 }, nil},
	} {
		s := stream("r", even(len(c.kinds), 500)...)
		s.Chunks.Kind, s.EndUS = c.kinds, wire.Some(int64(4_000_000))
		if c.change != nil {
			c.change(&s)
		}
		p := newTest(t, consumertest.NewNop(), nil)
		var kinds []wire.FindingKind
		for _, f := range p.take(&s, start) {
			kinds = append(kinds, f.Kind)
		}
		require.Equal(t, c.want, kinds, name)

		if len(c.kinds) == 0 {
			continue
		}
		first := s // the same in segments
		first.Final, first.EndUS, first.ErrorType, first.FinishReason = false, wire.Opt[int64]{}, "", ""
		rest := s
		rest.Seq, rest.Chunks = 1, wire.Chunks{}
		p = newTest(t, consumertest.NewNop(), nil)
		require.Empty(t, p.take(&first, start), name)
		kinds = nil
		for _, f := range p.take(&rest, start) {
			kinds = append(kinds, f.Kind)
		}
		require.Equal(t, c.want, kinds, name)
	}
}
