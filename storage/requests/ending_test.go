package requests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fermata-io/fermata/internal/wire"
	"github.com/fermata-io/fermata/storage/requests"
)

// record is a stream's record with a chunk every 100 ms from from on.
func record(seq uint32, final bool, from int64, kinds ...wire.Kind) wire.Stream {
	s := wire.Stream{RequestID: "r", Tenant: "default", Tier: wire.TierServer, Attempt: 1, Emitter: "e", StartedAt: noon, Seq: seq, Final: final}
	for i, k := range kinds {
		s.Chunks.T = append(s.Chunks.T, from+int64(i)*100*ms)
		s.Chunks.Kind = append(s.Chunks.Kind, k)
	}
	return s
}

func TestStateOfAStreamThatJustStops(t *testing.T) {
	const content, role, ping, done = wire.KindContent, wire.KindRole, wire.KindKeepalive, wire.KindDone
	with := func(s wire.Stream, change func(*wire.Stream)) wire.Stream { change(&s); return s }
	lost := with(record(wire.SeqLost, true, 0), func(s *wire.Stream) {
		s.ObservedUS, s.ErrorType = wire.Some(100*ms), "dead_stream"
	})
	for name, c := range map[string]struct {
		want     requests.State
		segments int
		records  []wire.Stream
	}{
		"role, no done":       {requests.StateFailed, 1, []wire.Stream{record(0, true, 0, role, content, content)}},
		"role and done":       {requests.StateCompleted, 1, []wire.Stream{record(0, true, 0, role, content, done)}},
		"role and a reason":   {requests.StateCompleted, 1, []wire.Stream{with(record(0, true, 0, role, content), func(s *wire.Stream) { s.FinishReason = "stop" })}},
		"the client left":     {requests.StateAborted, 1, []wire.Stream{with(record(0, true, 0, role, content), func(s *wire.Stream) { s.ErrorType = "client_disconnect" })}},
		"closed by it":        {requests.StateAborted, 1, []wire.Stream{with(record(0, true, 0, role, content), func(s *wire.Stream) { s.Status = 499 })}},
		"a role only":         {requests.StateFailed, 1, []wire.Stream{record(0, true, 0, role)}},
		"pings only":          {requests.StateFailed, 1, []wire.Stream{record(0, true, 0, ping, ping)}},
		"pings and done":      {requests.StateCompleted, 1, []wire.Stream{record(0, true, 0, ping, done)}},
		"pings, kinds apart":  {requests.StateCompleted, 1, []wire.Stream{record(0, true, 0, ping, content)}},
		"nothing":             {requests.StateCompleted, 1, []wire.Stream{record(0, true, 0)}},
		"kinds not told":      {requests.StateCompleted, 1, []wire.Stream{record(0, true, 0, content, content)}},
		"watched, no end":     {requests.StateRunning, 1, []wire.Stream{with(record(0, true, 0, content), func(s *wire.Stream) { s.ObservedUS = wire.Some(9 * sec) })}},
		"buried":              {requests.StateFailed, 1, []wire.Stream{record(0, false, 0, content, content), lost}},
		"buried, went on":     {requests.StateRunning, 2, []wire.Stream{record(0, false, 0, content, content), record(1, false, 900*ms, content), lost}},
		"buried, came to end": {requests.StateCompleted, 2, []wire.Stream{record(0, false, 0, content, content), record(1, true, 900*ms, content), lost}},
	} {
		r := requests.Assemble("default", "r", requests.Records{Streams: c.records})
		require.Equal(t, c.want, r.State, name)
		require.Equal(t, c.want, r.Attempts[0].State, name)
		require.Equal(t, c.segments, r.Attempts[0].Server.Segments, name)
		require.Empty(t, r.Conflicts, name)
	}
}

// Segments that came before a record of the whole stream are not counted again.
func TestAWholeRecordBesideItsSegments(t *testing.T) {
	c := wire.KindContent
	r := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{
		record(0, false, 0, c, c, c), record(1, false, 300*ms, c, c), record(0, true, 0, c, c, c, c, c, c),
	}})
	require.Equal(t, 6, r.Attempts[0].Server.NContent)
	require.Equal(t, 100*ms, *r.Attempts[0].Server.P50GapUS)
	require.Empty(t, r.Conflicts)
}

// The gaps of answers that run side by side are their own.
func TestGapsOfChoices(t *testing.T) {
	s := record(0, true, 0)
	for i := range int64(100) {
		if i >= 40 && i < 60 {
			s.Chunks.T, s.Chunks.Choice = append(s.Chunks.T, i*20*ms), append(s.Chunks.Choice, 0)
			continue
		}
		s.Chunks.T, s.Chunks.Choice = append(s.Chunks.T, i*20*ms, i*20*ms), append(s.Chunks.Choice, 0, 1)
	}
	m := requests.Assemble("default", "r", requests.Records{Streams: []wire.Stream{s}}).Attempts[0].Server
	require.Equal(t, 20*ms, *m.P50GapUS)
	require.Equal(t, 20*21*ms, *m.MaxGapUS)
	require.EqualValues(t, 101, *m.MaxGapChunk)
}

// A gateway that tells no end of an attempt tells it with the end of its record.
func TestStateOfAnAttemptThatOnlyTheGatewayKnows(t *testing.T) {
	g := wire.Gateway{
		RequestID: "r", Tenant: "default", Emitter: "gw", ReceivedAt: noon, LastByteAt: noon + 3*sec, Status: 200,
		Attempts: []wire.Attempt{{Attempt: 1, Start: noon}, {Attempt: 2, Start: noon + sec, Served: true}},
	}
	r := requests.Assemble("default", "r", requests.Records{Gateways: []wire.Gateway{g}})
	require.Equal(t, requests.StateCompleted, r.State)
	require.Equal(t, requests.StateAborted, r.Attempts[0].State)
	require.Equal(t, requests.StateCompleted, r.Attempts[1].State)
}
